package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
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

func (a *app) indexCommand() *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Bring the repository's content up to date, and embed what has no vector",
		Long: "Read what changed in the project's files and git history since the last time, and embed what has no vector. " +
			"ken ask and ken chat do this by themselves.",
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.mayRead(); err != nil {
				return err
			}
			p := a.progress()
			defer p.done()
			l, err := a.layer(cmd.Context(), p)
			if err != nil {
				return err
			}
			report, err := a.index(cmd.Context(), l, rebuild)
			p.done()
			if err == nil {
				err = a.printIndexed(report)
			}
			return errors.Join(err, l.Close())
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "first fold the claims and the keyword index from the log again")
	return cmd
}

// indexed is what an index run did, and what there is now.
type indexed struct {
	repository.Report
	Records  int `json:"records"`
	Embedded int `json:"embedded"`
}

func (a *app) index(ctx context.Context, l *middleware.Layer, rebuild bool) (indexed, error) {
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return indexed{}, err
	}
	defer release()
	if rebuild {
		if err := s.Rebuild(ctx); err != nil {
			return indexed{}, err
		}
	}
	report, err := l.Refresh(ctx, a.owner)
	if err != nil {
		return indexed{}, err
	}
	if _, err := l.Calibrate(ctx, a.owner); err != nil {
		return indexed{}, err
	}
	embedded, total := s.Coverage()
	return indexed{report, total, embedded}, nil
}

func (a *app) printIndexed(r indexed) error {
	if a.json {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.out, "%d files: %d changed, %d unchanged, %d removed; %d commits, %d new; %s\n",
		r.Files, r.Changed, r.Unchanged, r.Removed, r.Commits, r.CommitsNew, r.Duration.Round(time.Millisecond))
	if r.History != "" {
		fmt.Fprintf(a.out, "no git history: %s\n", r.History)
	}
	for _, why := range sortedKeys(r.Skipped) {
		fmt.Fprintf(a.out, "skipped %d: %s\n", r.Skipped[why], why)
	}
	for _, w := range r.Withheld {
		fmt.Fprintf(a.out, "withheld %s:%d: looks like a secret (%s)\n", cell(w.Path), w.Line, w.What)
	}
	fmt.Fprintf(a.out, "%d records, %d with a vector\n", r.Records, r.Embedded)
	return nil
}

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
