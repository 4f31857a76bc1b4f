package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

// ExplainUsage makes every usage error of root's commands say what to do next: the name that
// was probably meant, else how the command is used.
func ExplainUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return explained(cmd, UsageError(err), nearestFlag(cmd, err))
	})
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if check := c.Args; check != nil {
			c.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return explained(cmd, UsageError(err), nearestCommand(cmd, args))
				}
				return nil
			}
		}
		if run := c.RunE; run != nil {
			c.RunE = func(cmd *cobra.Command, args []string) error { return explained(cmd, run(cmd, args), "") }
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// explained adds a hint to a usage error that has none.
func explained(cmd *cobra.Command, err error, meant string) error {
	if u := (usage{}); !errors.As(err, &u) || ken.Hint(err) != "" {
		return err
	}
	try := meant
	if try == "" {
		try = "Use it as " + strings.TrimSuffix(cmd.UseLine(), " [flags]") + ". " + cmd.CommandPath() + " --help says more."
		if cmd.HasAvailableSubCommands() && !cmd.HasParent() {
			try = cmd.CommandPath() + " help lists the commands."
		}
	}
	return UsageError(&hinted{err, try})
}

// hinted is an error with the text of another one and a hint of its own.
type hinted struct {
	error
	try string
}

// Unwrap implements the interface of errors.As, for ken.Hint and the code.
func (h *hinted) Unwrap() error { return &ken.Error{Code: ken.CodeInvalid, Try: h.try, Err: h.error} }

// nearestCommand returns a hint at the subcommand that was probably meant.
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
			names = append(append(names, sub.Name()), sub.Aliases...)
		}
	}
	if near := Nearest(args[0], names); near != "" {
		return "Did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return ""
}

// nearestFlag returns a hint at the flag that was probably meant.
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
	if near := Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("Did you mean --%s?", near)
	}
	return ""
}

// Nearest returns the name that a misspelled one probably stands for, "" for none: at most one
// letter in three differs, or it is the beginning of one name alone.
func Nearest(given string, names []string) (best string) {
	const longest = 64
	if len(given) > longest {
		return ""
	}
	least := max(1, len(given)/3) + 1
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := spelling.Distance(given, n); d < least {
			best, least = n, d
		}
	}
	if best != "" {
		return best
	}
	var begun []string
	for _, n := range names {
		if given != "" && strings.HasPrefix(n, strings.ToLower(given)) {
			begun = append(begun, n)
		}
	}
	if len(begun) == 1 {
		return begun[0]
	}
	return ""
}
