package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/cli"
)

// interrupted is an input in which the user presses Ctrl-C instead of writing.
type interrupted struct{ stop context.CancelCauseFunc }

func (i interrupted) Read([]byte) (int, error) {
	i.stop(errors.New("interrupt signal received"))
	select {}
}

func TestCtrlCEndsReadingStandardInput(t *testing.T) {
	dir := t.TempDir()
	for _, line := range []string{
		"learn -",
		"learn",
		"ask -",
		"recall -",
		"recall --batch -",
		"import -",
		"decision create -",
		"decision create --title Cache --context -",
		"decision import -",
		"objective create Release --description -",
		"tasks add -",
		"constraint add -",
		"entity describe store -",
		"skill add -",
		"graph search -",
		"graph import -",
	} {
		t.Run(line, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			var said bytes.Buffer
			status := run(ctx, append(strings.Fields(line), "-C", dir), cli.Streams{In: interrupted{stop}, Out: io.Discard, Err: &said})
			if status != cli.ExitInterrupted || !strings.Contains(said.String(), "ken: stopped\n") {
				t.Errorf("exit status %d, %q", status, &said)
			}
			said.Reset()
			ctx, stop = context.WithCancelCause(t.Context())
			run(ctx, append(strings.Fields(line), "--json", "-C", dir), cli.Streams{In: interrupted{stop}, Out: io.Discard, Err: &said})
			if !strings.Contains(said.String(), `"detail":"stopped"`) || strings.Contains(said.String(), "doctor") {
				t.Errorf("JSON: %s", &said)
			}
		})
	}
}
