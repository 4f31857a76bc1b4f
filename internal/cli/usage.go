package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

// ExplainUsage adds a hint to every usage error of root's commands: the name that was probably
// meant, or else the usage of the command.
func ExplainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return addHint(cmd, UsageError(explainNumber(err)), nearestFlag(cmd, err))
	})
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if check := c.Args; check != nil {
			c.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return addHint(cmd, UsageError(err), nearestCommand(cmd, args))
				}
				return nil
			}
		}
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error { return addHint(cmd, run(cmd, args), "") }
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// addHint adds a hint to a usage error that has none.
func addHint(cmd *cobra.Command, err error, meant string) error {
	if u := (usage{}); !errors.As(err, &u) || ken.Hint(err) != "" {
		return err
	}
	try := meant
	if try == "" {
		try = "Use it as " + strings.TrimSuffix(cmd.UseLine(), " [flags]") + ". " + cmd.CommandPath() + " --help shows more."
		if cmd.HasAvailableSubCommands() && !cmd.HasParent() {
			try = cmd.CommandPath() + " help lists the commands."
		}
	}
	return UsageError(&hintError{err, try})
}

// hintError is an error with the text of another error and its own hint.
type hintError struct {
	error
	try string
}

// Unwrap lets errors.As find the hint and the code.
func (h *hintError) Unwrap() error {
	return &ken.Error{Code: ken.CodeInvalid, Try: h.try, Err: h.error}
}

// explainNumber returns an error that says in words why the value of a flag is no number. It
// returns other errors unchanged.
func explainNumber(err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &invalid) || !errors.As(err, &number) {
		return err
	}
	why := "is not a number"
	switch kind := invalid.GetFlag().Value.Type(); {
	case errors.Is(number, strconv.ErrRange):
		why = "is too large or too small"
	case kind == "bool":
		why = "is not true or false"
	case strings.HasPrefix(kind, "int"):
		why = "is not a whole number"
	case strings.HasPrefix(kind, "uint"):
		why = "is not a whole number of 0 or more"
	}
	return fmt.Errorf("--%s: %q %s", invalid.GetFlag().Name, invalid.GetValue(), why)
}

// nearestCommand returns a hint that names the subcommand that was probably meant.
func nearestCommand(cmd *cobra.Command, args []string) string {
	if cmd.Name() == "help" {
		cmd = cmd.Root()
	}
	if len(args) == 0 || !cmd.HasAvailableSubCommands() {
		return ""
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			if slices.Contains(sub.SuggestFor, args[0]) {
				return "Did you mean " + sub.CommandPath() + "?"
			}
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	if near := nearest(args[0], names); near != "" {
		return "Did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return ""
}

// nearestFlag returns a hint that names the flag that was probably meant.
func nearestFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("Did you mean --%s?", near)
	}
	return ""
}

// nearest returns the name that a misspelled one probably means, or "". The name differs in at
// most one letter in three, or is the only one with this beginning.
func nearest(given string, names []string) (best string) {
	if best = spelling.Nearest(given, names); best != "" {
		return best
	}
	begun := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return given == "" || !strings.HasPrefix(n, strings.ToLower(given)) })
	if len(begun) == 1 {
		return begun[0]
	}
	return ""
}
