package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/tools"
)

// OnlySubcommands checks the arguments of a command that only has subcommands: any argument
// is a misspelled subcommand.
func OnlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("unknown command %q for %s", args[0], cmd.Name())
	}
	return nil
}

// MaxArgs allows the named arguments; all are optional.
func MaxArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return nil
	}
}

// ExactArgs requires exactly the named arguments.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s: %s is missing", cmd.Name(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return nil
	}
}

// StandingFilter returns a filter for claims that are valid now, in these scopes or in none.
func StandingFilter(scopes []string) (*ken.Filter, error) {
	f := &ken.Filter{Unscoped: true, Now: time.Now().UTC()}
	return f, FilterFlags(f, nil, nil, scopes)
}

// ScopeAndExpiry parses the values of --scope and --expires, either of which may be empty.
func ScopeAndExpiry(scope, expires string, now time.Time) (in ken.Scope, until time.Time, err error) {
	if scope != "" {
		if in, err = ken.ParseScope(scope); err != nil {
			return in, until, UsageError(err)
		}
	}
	if expires != "" {
		until, err = ParseExpiry(expires, now)
	}
	return in, until, err
}

// ParseExpiry parses a duration from now, in Go's units, days or weeks, or a point in time.
// A date means its midnight in UTC, as in an import.
func ParseExpiry(s string, now time.Time) (time.Time, error) {
	at, ok := time.Time{}, false
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			at, ok = t.UTC(), true
		}
	}
	if !ok {
		if d, err := parseLength(s); err == nil {
			at, ok = now.Add(d), true
		}
	}
	if ok && at.After(now) {
		return at, nil
	}
	e := &ken.Error{Code: ken.CodeInvalid, Field: "--expires", Msg: strconv.Quote(s) + " is not a time",
		Try: "Give a length of time such as 12h, 30d or 2w, or a date such as 2031-05-01."}
	if ok {
		e.Msg = s + " is over already"
	}
	return at, UsageError(e)
}

// parseLength parses a duration as time.ParseDuration does, or a number of days or weeks.
func parseLength(s string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			days, err := strconv.ParseUint(n, 10, 12)
			return time.Duration(days) * unit, err
		}
	}
	return time.ParseDuration(s)
}

// FilterFlags parses the values of --status, --kind and --scope into f.
func FilterFlags(f *ken.Filter, statuses, kinds, scopes []string) error {
	for _, s := range statuses {
		if !ken.Status(s).Valid() {
			return UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "--status", Msg: fmt.Sprintf("unknown status %q", s),
				Try: "Use some of " + statusNames(ken.Statuses()) + "."})
		}
		f.Statuses = append(f.Statuses, ken.Status(s))
	}
	for _, k := range kinds {
		f.Kinds = append(f.Kinds, ken.Kind(k))
	}
	for _, s := range scopes {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return UsageError(err)
		}
		f.Scopes = append(f.Scopes, scope)
	}
	return nil
}

func statusNames(list []ken.Status) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// PictureFlags holds the flags of commands that draw a graph.
type PictureFlags struct {
	Format, Out string
	Depth       int
	Scopes      []string
}

// DrawFunc draws a graph in some format.
type DrawFunc = func(io.Writer, entity.Graph, ...func(*draw.Words)) error

// drawFuncs maps the formats to the functions that draw them.
var drawFuncs = map[string]DrawFunc{"svg": draw.SVG, "mermaid": draw.Mermaid, "dot": draw.DOT}

// formatsByExtension maps the endings of file names to formats.
var formatsByExtension = map[string]string{".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot"}

// Picture returns the function for the format that --format or the file's name gives.
func (o *PictureFlags) Picture() (DrawFunc, error) {
	format := strings.ToLower(o.Format)
	if format == "" {
		format = formatsByExtension[strings.ToLower(filepath.Ext(o.Out))]
	}
	if format == "" {
		format = "svg"
	}
	draw := drawFuncs[format]
	if draw == nil {
		return nil, UsageError(&ken.Error{Code: ken.CodeInvalid, Field: "--format", Msg: fmt.Sprintf("unknown format %q", o.Format), Try: "Use svg, mermaid or dot."})
	}
	return draw, nil
}

// ToolNames returns the tools to offer to a model: those of --tools, or else those of the
// configuration.
func ToolNames(flag string, cfg config.Config) ([]string, error) {
	if flag == "" {
		return tools.Select("tools.profile", cfg.Tools.Profile)
	}
	list, err := tools.Select("--tools", flag)
	if err != nil {
		err = UsageError(err)
	}
	return list, err
}

// ProfileNames lists the profiles of tools, for help texts.
func ProfileNames() string {
	var out []string
	for _, p := range tools.Profiles() {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}
