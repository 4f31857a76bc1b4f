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
		Short: "Write a configuration with every key and its default",
		Long: "Write .ken/config.yaml into the project, with every key, what it means, and its default. Nothing needs the file: " +
			"without one, the defaults hold. A configuration that is there already, also as ken.yaml or where KEN_CONFIG says, " +
			"is left alone.",
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			root, err := a.project()
			if err != nil {
				return err
			}
			path, ok := config.Find(root)
			if !ok {
				path = filepath.Join(root, ".ken", "config.yaml")
			}
			created, err := create(path, config.Default().YAML())
			switch {
			case err != nil:
				return fmt.Errorf("write configuration: %w", err)
			case a.json:
				return a.printJSON(map[string]any{"path": path, "created": created})
			case created:
				fmt.Fprintf(a.out, "wrote %s\n", path)
			default:
				fmt.Fprintf(a.out, "%s is there already; it was not changed\n", path)
			}
			return nil
		},
	}
}

// create writes a file that doesn't exist yet, and reports false for one that
// does.
func create(path, text string) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path)) // half a file would be in force
	}
	return true, nil
}
