package graph

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/code/drift"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type driftOptions struct {
	manifest, baseline      string
	format                  string
	update, propose, record bool

	flags interface{ Changed(name string) bool }
}

func (a *commands) driftCommand() *cobra.Command {
	var o driftOptions
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "Compare what files import with the layers that they are in",
		Long: "Compare what the project's source files import with .ken/architecture.yaml, which says which layers there are, where they lie, and " +
			"which others each may depend on. What a layer imports and must not is a violation. ken init writes the manifest from what it finds.\n\n" +
			"The exit status is 1 when there are violations that are not in the baseline, and 2 when the manifest or the baseline can't be used, or " +
			"no source file is in a layer. " +
			"Nothing but the files is needed: no store, no index, no toolchain.",
		Example: `  ken drift
  ken drift --update-baseline
  ken drift --format sarif > drift.sarif
  ken drift --propose > .ken/architecture.yaml`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.flags = cmd.Flags()
			if err := a.driftFlags(&o); err != nil {
				return err
			}
			return a.drift(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.manifest, "manifest", drift.DefaultManifest, "the `FILE` that says what the layers are, from the project's root")
	f.StringVar(&o.baseline, "baseline", drift.DefaultBaseline, "the `FILE` of violations that are known, from the project's root")
	f.StringVar(&o.format, "format", "text", "print in this `FORMAT`: text, json or sarif")
	f.BoolVar(&o.update, "update-baseline", false, "write the violations that there are now into the baseline")
	f.BoolVar(&o.propose, "propose", false, "print a manifest of the project as it is, and do nothing else")
	f.BoolVar(&o.record, "record", false, "also keep the violations as claims, and end the claims of those that are fixed or no longer forbidden")
	cli.CompleteWords(cmd, "format", "text", "json", "sarif")
	return cmd
}

// driftFlags checks the flags and makes file paths relative to the project's root.
func (a *commands) driftFlags(o *driftOptions) error {
	switch {
	case a.JSON && o.flags.Changed("format") && o.format != "json":
		return cli.Usagef("--json and --format %s do not go together", o.format)
	case a.JSON:
		o.format = "json"
	case o.format != "text" && o.format != "json" && o.format != "sarif":
		return cli.Invalid("--format", fmt.Sprintf("%q is none", o.format), "Use text, json or sarif.")
	}
	if o.propose && (o.update || o.record || a.JSON || o.flags.Changed("format")) {
		return cli.Usagef("--propose prints a manifest, and does nothing else")
	}
	root, err := a.Project()
	if err != nil {
		return err
	}
	for flag, file := range map[string]*string{"--manifest": &o.manifest, "--baseline": &o.baseline} {
		rel := filepath.Clean(*file)
		if filepath.IsAbs(rel) {
			if rel, err = filepath.Rel(root, rel); err != nil {
				rel = ".."
			}
		}
		if !filepath.IsLocal(rel) {
			return cli.Invalid(flag, *file+" is not in the project", "Name a file by its path from "+root+".")
		}
		*file = filepath.ToSlash(rel)
	}
	return nil
}

func (a *commands) drift(ctx context.Context, o *driftOptions) error {
	root, err := a.Project()
	if err != nil {
		return err
	}
	if o.propose {
		g, _, err := a.ImportGraph(ctx)
		if err == nil {
			_, err = a.Out.Write(drift.Propose(g))
		}
		return err
	}
	m, err := drift.Read(root, o.manifest)
	if err != nil {
		return manifestError(err)
	}
	base, err := drift.ReadBaseline(root, o.baseline)
	if errors.Is(err, ken.ErrNotFound) && (o.update || !o.flags.Changed("baseline")) {
		base, err = nil, nil
	}
	if err != nil {
		return manifestError(err)
	}
	g, read, err := a.ImportGraph(ctx)
	if err != nil {
		return err
	}
	r := drift.Check(g, m, drift.Options{Baseline: base})
	if n := read.Skipped[repository.ReasonUnreadable]; n > 0 {
		r.Warnings = append(r.Warnings, cli.Count(n, "file or folder")+" could not be read")
	}
	if err := r.Compared(); err != nil {
		return manifestError(err)
	}
	if o.record {
		err := a.WithStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
			done, err := drift.Record(ctx, s, &r, time.Now().UTC())
			if err == nil && !a.Quiet {
				lifted := ""
				if n := len(done.Lifted); n > 0 {
					lifted = fmt.Sprintf(", %d no longer forbidden", n)
				}
				fmt.Fprintf(a.Err, "recorded: %d new, %d seen again, %d fixed%s\n", len(done.Written), len(done.Again), len(done.Fixed), lifted)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if o.update {
		return a.updateBaseline(root, o, &r)
	}
	if err := a.printDrift(o, &r); err != nil {
		return err
	}
	if len(r.Violations) == 0 {
		return nil
	}
	if o.format == "text" && !a.Quiet {
		fmt.Fprintf(a.Err, "Try: change the imports, permit them in %s, or run ken drift --update-baseline, so that only new ones fail.\n", o.manifest)
	}
	return cli.ErrReported
}

// manifestError gives an error of a manifest or a baseline exit status 2, so that
// a build can distinguish it from a violation.
func manifestError(err error) error {
	if errors.Is(err, ken.ErrInvalid) || errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrRefused) {
		return cli.UsageError(err)
	}
	return err
}

func (a *commands) printDrift(o *driftOptions, r *drift.Report) error {
	switch o.format {
	case "json":
		return a.PrintJSON(r)
	case "sarif":
		return drift.WriteSARIF(a.Out, r, cli.Version())
	}
	return drift.WriteText(a.Out, r)
}

type baselineView struct {
	Path    string        `json:"path"`
	Changed bool          `json:"changed"`
	Added   int           `json:"added"`
	Kept    int           `json:"kept"`
	Fixed   []drift.Entry `json:"fixed"`
	Lifted  []drift.Entry `json:"lifted"` // they exist and are no longer forbidden
}

func (a *commands) updateBaseline(root string, o *driftOptions, r *drift.Report) error {
	changed, err := drift.WriteBaseline(root, o.baseline, drift.NewBaseline(r))
	if err != nil {
		return manifestError(err)
	}
	if o.format == "json" {
		return a.PrintJSON(baselineView{o.baseline, changed, len(r.Violations), len(r.Known), r.Fixed, slices.Concat([]drift.Entry{}, r.Permitted, r.Unchecked)})
	}
	lifted := ""
	if n := len(r.Permitted) + len(r.Unchecked); n > 0 {
		lifted = fmt.Sprintf(", %d no longer forbidden", n)
	}
	fmt.Fprintf(a.Out, "%s: %s; %d added, %d fixed%s\n", o.baseline, cli.Count(len(r.Violations)+len(r.Known), "violation"), len(r.Violations), len(r.Fixed), lifted)
	return nil
}
