package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
)

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config [KEY]",
		Short: "Show the configuration in force, or one key of it",
		Long: "Print the configuration in force as YAML, every key with what it means. With a dotted key such as knowledge.top_k, " +
			"print its value. --json also says which file each value is from, and what of the project's file does not count before ken trust. A file that can't be used is reported with its line and the nearest valid key.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return config.Keys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.resolve()
			if err != nil {
				return err
			}
			a.notice(r)
			if len(args) == 1 {
				return a.printKey(r, args[0])
			}
			return a.printConfig(r)
		},
	}
}

func (a *app) printKey(r *config.Resolved, key string) error {
	v, err := r.Config.Get(key)
	switch {
	case err != nil:
		return usage{err}
	case a.json:
		return a.printJSON(map[string]string{"key": key, "value": v, "from": r.From(key)})
	}
	fmt.Fprintln(a.out, v)
	return nil
}

func (a *app) printConfig(r *config.Resolved) error {
	if !a.json {
		fmt.Fprint(a.out, r.Config.YAML())
		return nil
	}
	values, from := map[string]string{}, map[string]string{}
	for _, k := range config.Keys() {
		v, err := r.Config.Get(k)
		if err != nil {
			return err
		}
		values[k] = v
		if f := r.From(k); f != config.FromDefault {
			from[k] = f
		}
	}
	return a.printJSON(map[string]any{"path": r.File, "user": r.User, "values": values, "from": from, "withheld": withheld(r), "foreign_state": r.Foreign})
}

// withheld is what does not count, never null in JSON.
func withheld(r *config.Resolved) []config.Withheld {
	return append([]config.Withheld{}, r.Withheld...)
}

// configuration is what is in force in the project, and the file that it is
// from; "" for the defaults. It says once what of the project does not count.
func (a *app) configuration() (config.Config, string, error) { return a.configurationOr("") }

// configurationOr is configuration with another file than the project's, which the user
// named; "" for the project's.
func (a *app) configurationOr(file string) (config.Config, string, error) {
	r, err := a.resolveOr(file)
	if err != nil {
		return config.Config{}, "", err
	}
	a.notice(r)
	return r.Config, r.File, nil
}

// resolve is configuration without a word.
func (a *app) resolve() (*config.Resolved, error) { return a.resolveOr("") }

func (a *app) resolveOr(file string) (*config.Resolved, error) {
	root, err := a.project()
	if err != nil {
		return nil, err
	}
	return config.Resolve(root, file)
}

// notice says once, in one line, what of the project does not count.
func (a *app) notice(r *config.Resolved) {
	if said := r.Notice(); said != "" && !a.noticed {
		a.noticed = true
		fmt.Fprintf(a.err, "ken: %s\n", cell(said))
	}
}
