package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/config"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a configuration with every key and its default into .ken",
		Long:  "Create .ken/config.yaml in the project. Nothing needs it: without a file, the defaults hold. An existing file is left alone.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			root, err := a.project()
			if err != nil {
				return err
			}
			path := filepath.Join(root, ".ken", "config.yaml")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			created := err == nil
			switch {
			case errors.Is(err, os.ErrExist):
			case err != nil:
				return err
			default:
				_, err := f.WriteString(config.Default().YAML())
				if err := errors.Join(err, f.Close()); err != nil {
					return fmt.Errorf("write configuration: %w", err)
				}
			}
			if a.json {
				return a.printJSON(map[string]any{"path": path, "created": created})
			}
			if created {
				fmt.Fprintf(a.out, "wrote %s\n", path)
			} else {
				fmt.Fprintf(a.out, "%s is there already; it was not changed\n", path)
			}
			return nil
		},
	}
}
