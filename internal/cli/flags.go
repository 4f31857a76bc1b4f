package cli

import (
	"bufio"
	"cmp"
	"errors"
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

// WithSubcommands makes cmd a command that only has subcommands, and shows its help.
func WithSubcommands(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = OnlySubcommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// OnlySubcommands checks the arguments of a command with subcommands: any argument is a
// misspelled subcommand.
func OnlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("unknown command %q for %s", args[0], cmd.Name())
	}
	return nil
}

// MaxArgs allows the named arguments. All are optional, and none may be empty.
func MaxArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return notEmpty(cmd, args, names)
	}
}

func notEmpty(cmd *cobra.Command, args, names []string) error {
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return fmt.Errorf("%s: %s is empty", cmd.Name(), names[i])
		}
	}
	return nil
}

// ExactArgs requires exactly the named arguments. None may be empty.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s: %s is missing", cmd.Name(), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s: %q is one argument too many", cmd.Name(), args[len(names)])
		}
		return notEmpty(cmd, args, names)
	}
}

// AtLeastOne requires an argument. Otherwise the error is message.
func AtLeastOne(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(message)
		}
		return nil
	}
}

// Between returns an error unless the value of a flag is from least to most.
func Between(flag string, n, least, most int) error {
	if n < least || n > most {
		return Usagef("%s: %d is outside %d..%d", flag, n, least, most)
	}
	return nil
}

// Invalid returns a usage error for the value of a flag or an argument.
func Invalid(field, message, try string) error {
	return UsageError(&ken.Error{Code: ken.CodeInvalid, Field: field, Msg: message, Try: try})
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
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		at, err = time.Parse(time.RFC3339, s)
	}
	if err != nil {
		var d time.Duration
		d, err = parseLength(s)
		at = now.Add(d)
	}
	message := s + " is over already"
	switch {
	case err != nil:
		message = strconv.Quote(s) + " is not a time"
	case at.After(now):
		return at.UTC(), nil
	}
	return at, Invalid("--expires", message, "Give a length of time such as 12h, 30d or 2w, or a date such as 2031-05-01.")
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
			return Invalid("--status", fmt.Sprintf("unknown status %q", s), "Use some of "+strings.Join(Words(ken.Statuses()), ", ")+".")
		}
		f.Statuses = append(f.Statuses, ken.Status(s))
	}
	for _, k := range kinds {
		f.Kinds = append(f.Kinds, ken.Kind(k))
	}
	var err error
	f.Scopes, err = ParseScopes(scopes)
	return err
}

// ParseScopes parses the values of --scope.
func ParseScopes(list []string) (out []ken.Scope, err error) {
	for _, s := range list {
		scope, err := ken.ParseScope(s)
		if err != nil {
			return nil, UsageError(err)
		}
		out = append(out, scope)
	}
	return out, nil
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
	format := cmp.Or(strings.ToLower(o.Format), formatsByExtension[strings.ToLower(filepath.Ext(o.Out))], "svg")
	draw := drawFuncs[format]
	if draw == nil {
		return nil, Invalid("--format", fmt.Sprintf("unknown format %q", o.Format), "Use svg, mermaid or dot.")
	}
	return draw, nil
}

// DrawPicture draws a graph of n nodes to a file or to standard output. With --json it prints v
// instead to standard output. left is how many nodes did not fit.
func (a *App) DrawPicture(out string, draw func(io.Writer) error, v any, drawn string, left int) error {
	toFile := out != "" && out != "-"
	if toFile {
		if err := ReplaceFile(out, draw); err != nil {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(v)
	}
	if toFile {
		fmt.Fprintf(a.Err, "%s drawn in %s\n", drawn, out)
	} else {
		w := bufio.NewWriter(a.Out)
		if err := errors.Join(draw(w), w.Flush()); err != nil {
			return err
		}
	}
	if left > 0 {
		fmt.Fprintf(a.Err, "ken: %d more did not fit\n", left)
	}
	return nil
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
	return strings.Join(Map(tools.Profiles(), func(p *tools.Profile) string { return p.Name }), ", ")
}
