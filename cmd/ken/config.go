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
			"print its value. A file that can't be used is reported with its line and the nearest valid key.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return config.Keys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, path, err := a.configuration()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.printKey(c, args[0])
			}
			return a.printConfig(c, path)
		},
	}
}

func (a *app) printKey(c config.Config, key string) error {
	v, err := c.Get(key)
	switch {
	case err != nil:
		return usage{err}
	case a.json:
		return a.printJSON(map[string]string{"key": key, "value": v})
	}
	fmt.Fprintln(a.out, v)
	return nil
}

func (a *app) printConfig(c config.Config, path string) error {
	if !a.json {
		fmt.Fprint(a.out, c.YAML())
		return nil
	}
	values := map[string]string{}
	for _, k := range config.Keys() {
		v, err := c.Get(k)
		if err != nil {
			return err
		}
		values[k] = v
	}
	return a.printJSON(map[string]any{"path": path, "values": values})
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
