package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *app) provenanceCommand() *cobra.Command {
	var q provenance.Query
	cmd := &cobra.Command{
		Use:   "provenance TARGET",
		Short: "Show what stands behind a file, a symbol, a test or a claim",
		Long: "Show the claims that are about a thing or rest on it: a path, a symbol or another entity, the name of a test, a command, an " +
			"artifact, an address, a commit, or a claim by its id or key. Of each, the tier that it has by now and why, its status, when it " +
			"ends, and every piece of evidence: what it points at, when it was collected, and whether the file is still what it was.\n\n" +
			"Expired and superseded claims are counted, and shown where they are asked for.",
		Example: `  ken provenance pay/retry.go
  ken provenance TestRetry --json
  ken provenance 3f9a2c71 --superseded`,
		Args:              takes("TARGET"),
		ValidArgsFunction: a.completes(entityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return a.provenance(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Expired, "expired", false, "also claims that have expired")
	f.BoolVar(&q.Superseded, "superseded", false, "also claims that were superseded")
	f.IntVar(&q.Limit, "limit", provenance.DefaultLimit, "at most so `many` claims, up to 1000")
	f.IntVar(&q.Offset, "offset", 0, "pass over so `many` claims")
	return cmd
}

func (a *app) provenance(ctx context.Context, q provenance.Query) error {
	if q.Limit < 1 || q.Limit > provenance.MaxLimit {
		return usagef("--limit: %d is outside 1..%d", q.Limit, provenance.MaxLimit)
	}
	if q.Offset < 0 {
		return usagef("--offset: %d is negative", q.Offset)
	}
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if p, ok := fromRoot(l.Root(), a.dir, q.Target); ok {
			q.Names = append(q.Names, p)
		}
		v, err := provenance.Of(ctx, s, q, provenance.Options{DecayDays: l.Config().Knowledge.DecayDays, Root: l.Root()})
		if err != nil {
			return badUsage(err)
		}
		if a.json {
			return a.printJSON(v)
		}
		a.printProvenance(&v)
		return nil
	})
}

// fromRoot spells the name of a file or folder that is there as claims do: from the
// project's root, with slashes. It is false for any other name.
func fromRoot(root, dir, name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	if _, err := os.Lstat(abs); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, abs)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}

func (a *app) printProvenance(v *provenance.View) {
	for i := range v.Claims {
		c := &v.Claims[i]
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		text := c.Text
		if c.Heading != "" {
			text = c.Heading + ": " + text
		}
		fmt.Fprintf(a.out, "%s  %s, %s  %s\n", a.shortID(c.ID), c.Tier, c.Status, cell(text))
		fmt.Fprintf(a.out, "  why: %s\n", cell(c.Why))
		if !c.ExpiresAt.IsZero() {
			word := "expires"
			if c.Expired {
				word = "expired"
			}
			fmt.Fprintf(a.out, "  %s: %s\n", word, c.ExpiresAt.UTC().Format(minute))
		}
		if c.SupersededBy != "" {
			fmt.Fprintf(a.out, "  superseded by: %s\n", a.shortID(c.SupersededBy))
		}
		for j := range c.Evidence {
			fmt.Fprintf(a.out, "  - %s\n", pieceLine(&c.Evidence[j]))
		}
	}
	a.tellProvenance(v)
}

// pieceLine is a piece of evidence on one line.
func pieceLine(p *provenance.Piece) string {
	line := string(p.Kind) + " " + cell(p.Reference)
	if p.ExitCode != nil {
		line += fmt.Sprintf(" = %d", *p.ExitCode)
	}
	if !p.At.IsZero() {
		line += ", " + p.At.UTC().Format(minute)
	}
	switch p.State {
	case provenance.Changed:
		line += ": the file has changed"
	case provenance.Gone:
		line += ": the file is gone"
	case provenance.Unread:
		line += ": the file can't be compared"
	case provenance.Stands:
		if p.Hash != "" {
			line += ": unchanged"
		}
	}
	if p.Detail != "" {
		line += " (" + cell(p.Detail) + ")"
	}
	return line
}

// tellProvenance says what is not shown.
func (a *app) tellProvenance(v *provenance.View) {
	var rest []string
	if n := v.Total - v.Offset - len(v.Claims); n > 0 {
		rest = append(rest, fmt.Sprintf("%d more (--offset %d)", n, v.Offset+len(v.Claims)))
	}
	if n := v.LeftOut.Expired; n > 0 {
		rest = append(rest, fmt.Sprintf("%d expired (--expired)", n))
	}
	if n := v.LeftOut.Superseded; n > 0 {
		rest = append(rest, fmt.Sprintf("%d superseded (--superseded)", n))
	}
	switch {
	case len(rest) > 0:
		fmt.Fprintf(a.err, "ken: not shown: %s\n", strings.Join(rest, ", "))
	case v.Total == 0:
		fmt.Fprintf(a.err, "ken: nothing is known that stands behind %s\n", cell(v.Target))
	}
}
