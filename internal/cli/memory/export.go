package memory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type exportOptions struct {
	out                     string
	statuses, kinds, scopes []string
}

func (a *commands) exportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write claims as JSON lines",
		Long: "Write every claim with its history, one JSON object a line, whatever its status and whether it has expired. " +
			"ken import reads it back, into this store or another one, and nothing is lost. Pieces of the repository are left out: " +
			"ken index makes them anew.",
		Example: `  ken export --out claims.jsonl
  ken export --status verified --kind playbook`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.export(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write this `FILE`, whole or not at all; default standard output")
	f.StringArrayVar(&o.statuses, "status", nil, "only claims of this `STATUS` (repeatable)")
	f.StringArrayVar(&o.kinds, "kind", nil, "only claims of this `KIND` (repeatable)")
	f.StringArrayVar(&o.scopes, "scope", nil, "only claims of this scope, as `TYPE:ID` (repeatable)")
	completeFilter(cmd)
	return cmd
}

// claimKinds lists the kinds of claims that people write or ask for.
var claimKinds = cli.Words([]ken.Kind{ken.KindFact, ken.KindHot, ken.KindPlaybook, ken.KindDecision, ken.KindFinding, ken.KindPattern, ken.KindEpisode, ken.KindObjective})

// completeFilter completes the flags with which recall and export filter claims.
func completeFilter(cmd *cobra.Command) {
	cli.CompleteWords(cmd, "status", cli.Words(ken.Statuses())...)
	cli.CompleteWords(cmd, "kind", claimKinds...)
}

func (a *commands) export(ctx context.Context, o *exportOptions) error {
	f := ken.Filter{}
	if err := cli.FilterFlags(&f, o.statuses, o.kinds, o.scopes); err != nil {
		return err
	}
	return a.ReadStore(ctx, func(_ *middleware.Layer, s store.Engine) error {
		p := a.Progress()
		defer p.Done()
		n := 0
		write := func(w io.Writer) (err error) {
			n, err = jsonl.Export(ctx, s, f, w, func(n int) { p.Update("export", n, 0) })
			return err
		}
		if o.out == "" || o.out == "-" {
			w := bufio.NewWriter(a.Out)
			if err := errors.Join(write(w), w.Flush()); err != nil {
				return err
			}
			p.Done()
			if n == 0 {
				a.Note("no claim was exported: there is none of this kind, status and scope")
			}
			return nil
		}
		if err := cli.ReplaceFile(o.out, write); err != nil {
			return err
		}
		p.Done()
		return a.Show(map[string]any{"claims": n, "file": o.out}, func() { fmt.Fprintf(a.Err, "%s written to %s\n", cli.Count(n, "claim"), o.out) })
	})
}
