package doctor

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
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
)

func (a *commands) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config [KEY]",
		Short: "Show the configuration in force, or one key of it",
		Example: `  ken config
  ken config budget.chars
  ken config --json`,
		Long: "Print the configuration in force as YAML, with a description of each key. With a dotted key such as knowledge.top_k, " +
			"print its value. --json also shows the file of each value, and the project's settings that are ignored until ken trust. An invalid file is reported with its line and the nearest valid key.",
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return config.Keys(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := a.Configuration()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.printKey(r, args[0])
			}
			return a.printConfig(r)
		},
	}
}

func (a *commands) printKey(r *config.Resolved, key string) error {
	v, err := r.Config.Get(key)
	if err != nil {
		return cli.UsageError(err)
	}
	return a.Show(map[string]string{"key": key, "value": v, "from": r.From(key)}, func() { fmt.Fprintln(a.Out, v) })
}

func (a *commands) printConfig(r *config.Resolved) error {
	if !a.JSON {
		fmt.Fprint(a.Out, r.Config.YAML())
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
	return a.PrintJSON(map[string]any{"path": r.File, "user": r.User, "values": values, "from": from,
		"withheld": append([]config.Withheld{}, r.Withheld...), "foreign_state": r.Foreign})
}

func (a *commands) indexCommand() *cobra.Command {
	var rebuild bool
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Update the index of the repository, and compute missing vectors",
		Example: `  ken index
  ken index --rebuild`,
		Long: "Read the changes of the project's files and git history since the last run, and compute missing vectors. " +
			"ken ask and ken chat do this automatically.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.ConfirmReading(cmd.Context()); err != nil {
				return err
			}
			return a.WithLayer(cmd.Context(), func(l *middleware.Layer, p *cli.Progress) error {
				report, err := a.index(cmd.Context(), l, rebuild)
				p.Done()
				if err != nil {
					return err
				}
				return a.printIndexed(report)
			})
		},
	}
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "first rebuild the claims and the keyword index from the log")
	return cmd
}

// indexed is the result of ken index: what it did, and the totals.
type indexed struct {
	repository.Report
	Records  int `json:"records"`
	Embedded int `json:"embedded"`
}

func (a *commands) index(ctx context.Context, l *middleware.Layer, rebuild bool) (indexed, error) {
	s, release, err := l.Store(ctx, a.Owner)
	if err != nil {
		return indexed{}, err
	}
	defer release()
	if rebuild {
		if err := s.Rebuild(ctx); err != nil {
			return indexed{}, err
		}
	}
	report, err := l.Refresh(ctx, a.Owner)
	if err != nil {
		return indexed{}, err
	}
	if _, err := l.Operator().Calibrate(ctx, a.Owner); err != nil {
		return indexed{}, err
	}
	embedded, total := s.Coverage()
	return indexed{report, total, embedded}, nil
}

func (a *commands) printIndexed(r indexed) error {
	return a.Show(r, func() {
		fmt.Fprintf(a.Out, "%s: %d changed, %d unchanged, %d removed; %s, %d new; %s\n",
			cli.Count(r.Files, "file"), r.Changed, r.Unchanged, r.Removed, cli.Count(r.Commits, "commit"), r.CommitsNew, r.Duration.Round(time.Millisecond))
		if r.History != "" {
			fmt.Fprintf(a.Out, "no git history: %s\n", r.History)
		}
		for _, why := range cli.SortedKeys(r.Skipped) {
			fmt.Fprintf(a.Out, "skipped %d: %s\n", r.Skipped[why], why)
		}
		for _, w := range r.Withheld {
			fmt.Fprintf(a.Out, "withheld %s:%d: looks like a secret (%s)\n", cli.Cell(w.Path), w.Line, w.What)
		}
		fmt.Fprintf(a.Out, "%s, %d with a vector\n", cli.Count(r.Records, "record"), r.Embedded)
	})
}

func (a *commands) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write configuration, lifecycle policy and the project's layers",
		Example: `  ken init
  ken init -C ~/work/shop`,
		Long: "Write .ken/config.yaml into the project, with every key, its description and its default as comments, so that it sets nothing, and " +
			".ken/knowledge/lifecycle.yaml, which says how long data is kept. The files are optional: without one, the defaults apply. Also write .ken/architecture.yaml, " +
			"which lists the project's current layers, for ken drift, and .ken/.kenignore, which marks state that ken knowledge gc may delete. Existing files are " +
			"not changed; that includes a configuration named ken.yaml or given by KEN_CONFIG.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.Project()
			if err != nil {
				return err
			}
			for _, name := range []string{".ken", memoryfile.Dir, drift.DefaultManifest} {
				if real := trust.Real(filepath.Join(root, filepath.FromSlash(name))); !trust.Inside(trust.Real(root), real) {
					return &ken.Error{Code: ken.CodeRefused, Field: name, Msg: "leads out of the project, to " + real, Try: "Remove the link."}
				}
			}
			path, ok := config.Find(root)
			if !ok {
				path = filepath.Join(root, ".ken", "config.yaml")
			}
			settings, err := createFile(path, template())
			if err != nil {
				return fmt.Errorf("write configuration: %w", err)
			}
			kept, err := writePolicy(cli.LifecycleFile(root))
			if err != nil {
				return err
			}
			marks, err := createFile(filepath.Join(root, ".ken", lifecycle.IgnoreName), lifecycle.IgnoreExample())
			if err != nil {
				return fmt.Errorf("write %s: %w", lifecycle.IgnoreName, err)
			}
			layers := cli.WrittenFile{Path: filepath.Join(root, filepath.FromSlash(drift.DefaultManifest))}
			if !trust.IsHome(root) { // its layers would be those of all projects in it
				if layers, err = a.WriteArchitecture(cmd.Context(), root); err != nil {
					return err
				}
			}
			if a.JSON {
				return a.PrintJSON(struct {
					cli.WrittenFile
					Lifecycle    cli.WrittenFile `json:"lifecycle"`
					Architecture cli.WrittenFile `json:"architecture"`
					Ephemeral    cli.WrittenFile `json:"ephemeral"`
				}{settings, kept, layers, marks})
			}
			for _, w := range []cli.WrittenFile{settings, kept, layers, marks} {
				if _, err := os.Lstat(w.Path); err != nil {
					continue // a home folder gets no layers file
				}
				if w.Created {
					fmt.Fprintf(a.Out, "wrote %s\n", w.Path)
				} else {
					fmt.Fprintf(a.Out, "%s exists already; it was not changed\n", w.Path)
				}
			}
			return nil
		},
	}
}

func createFile(path, text string) (cli.WrittenFile, error) {
	created, err := cli.CreateFile(path, text)
	return cli.WrittenFile{Path: path, Created: created}, err
}

// writePolicy writes lifecycle.yaml, unless it exists.
func writePolicy(path string) (cli.WrittenFile, error) {
	err := lifecycle.Write(path)
	if errors.Is(err, ken.ErrExists) {
		return cli.WrittenFile{Path: path}, nil
	}
	return cli.WrittenFile{Path: path, Created: err == nil}, err
}

// template returns a configuration file that sets nothing: every key with its default, as a comment.
// Such a file in a project does not override the user's own configuration.
func template() string {
	return "# Each key is a comment that shows its default: remove the # before it to set it.\n" + setting.ReplaceAllString(config.Default().YAML(), "$1#$2")
}

// setting matches a line of YAML that sets something: neither a comment nor the name of a section.
var setting = lazyregexp.New(`(?m)^( *)([a-z0-9_]+: .*|- .*)$`)
