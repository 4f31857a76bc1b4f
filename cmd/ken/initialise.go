package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
)

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write configuration, lifecycle policy and the project's layers",
		Long: "Write .ken/config.yaml into the project, with every key, what it means, and its default, and .ken/knowledge/lifecycle.yaml, " +
			"which says how long things are kept. Nothing needs the files: without one, its defaults hold. Also write .ken/architecture.yaml, " +
			"which has the project's layers as they are, for ken drift, and .ken/.kenignore, in which state can be marked for ken knowledge gc to delete. A file that is there already is " +
			"left alone, the configuration also as ken.yaml or where KEN_CONFIG says.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.project()
			if err != nil {
				return err
			}
			for _, name := range []string{".ken", middleware.KnowledgeDir, drift.DefaultManifest} {
				if real := trust.Real(filepath.Join(root, filepath.FromSlash(name))); !trust.Inside(trust.Real(root), real) {
					return &ken.Error{Code: ken.CodeRefused, Field: name, Msg: "leads out of the project, to " + real, Try: "Take the link out of the way."}
				}
			}
			path, ok := config.Find(root)
			if !ok {
				path = filepath.Join(root, ".ken", "config.yaml")
			}
			created, err := create(path, config.Default().YAML())
			if err != nil {
				return fmt.Errorf("write configuration: %w", err)
			}
			kept, err := writePolicy(lifecycleFile(root))
			if err != nil {
				return err
			}
			marks := written{Path: filepath.Join(root, ".ken", lifecycle.IgnoreName)}
			if marks.Created, err = create(marks.Path, lifecycle.IgnoreExample()); err != nil {
				return fmt.Errorf("write %s: %w", lifecycle.IgnoreName, err)
			}
			layers := written{Path: filepath.Join(root, filepath.FromSlash(drift.DefaultManifest))}
			if !trust.IsHome(root) { // its layers would be those of all projects in it
				if layers, err = a.writeArchitecture(cmd.Context(), root); err != nil {
					return err
				}
			}
			if a.json {
				return a.printJSON(struct {
					written
					Lifecycle    written `json:"lifecycle"`
					Architecture written `json:"architecture"`
					Ephemeral    written `json:"ephemeral"`
				}{written{path, created}, kept, layers, marks})
			}
			for _, w := range []written{{path, created}, kept, layers, marks} {
				if _, err := os.Lstat(w.Path); err != nil {
					continue // a home folder gets no layers
				}
				if w.Created {
					fmt.Fprintf(a.out, "wrote %s\n", w.Path)
				} else {
					fmt.Fprintf(a.out, "%s is there already; it was not changed\n", w.Path)
				}
			}
			return nil
		},
	}
}

// written says whether a file was.
type written struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
}

// writePolicy writes lifecycle.yaml, unless there is one.
func writePolicy(path string) (written, error) {
	err := lifecycle.Write(path)
	if errors.Is(err, ken.ErrExists) {
		return written{path, false}, nil
	}
	return written{path, err == nil}, err
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
