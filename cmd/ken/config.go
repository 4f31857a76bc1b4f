package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config [KEY]",
		Short: "Show the configuration in force, or one key of it",
		Long: "Print the configuration in force as YAML, every key with what it means. With a dotted key such as knowledge.top_k, " +
			"print its value. A file that can't be used is reported with its line and the nearest valid key.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return config.Keys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, path, err := a.configuration()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				v, err := c.Get(args[0])
				if err != nil {
					return usage{err}
				}
				if a.json {
					return a.printJSON(map[string]string{"key": args[0], "value": v})
				}
				fmt.Fprintln(a.out, v)
				return nil
			}
			if a.json {
				all := map[string]string{}
				for _, k := range config.Keys() {
					if all[k], err = c.Get(k); err != nil {
						return err
					}
				}
				return a.printJSON(map[string]any{"path": path, "values": all})
			}
			fmt.Fprint(a.out, c.YAML())
			return nil
		},
	}
	return cmd
}

// configuration is what is in force in the project, and the file that it is
// from; "" for the defaults.
func (a *app) configuration() (config.Config, string, error) {
	root, err := a.project()
	if err != nil {
		return config.Config{}, "", err
	}
	path, ok := config.Find(root)
	if !ok {
		return config.Default(), "", nil
	}
	c, err := config.Load(path)
	return c, path, err
}
