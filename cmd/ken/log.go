package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// logLines prints what the layer has to say, and nobody else is there to be
// told, as the command prints its own errors. The layer uses the attributes
// cause and try, no others, and no groups.
type logLines struct{ w io.Writer }

// Enabled leaves out what is not a warning at least.
func (logLines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints a record.
func (h logLines) Handle(_ context.Context, r slog.Record) error {
	line, try := "ken: "+r.Message, ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "try":
			try = a.Value.String()
		case "cause":
			line += ": " + a.Value.String()
		}
		return true
	})
	if try != "" {
		line += "\nTry: " + try
	}
	_, err := fmt.Fprintln(h.w, line)
	return err
}

// WithAttrs implements slog.Handler.
func (h logLines) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h logLines) WithGroup(string) slog.Handler { return h }
