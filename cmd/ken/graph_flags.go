package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// pageFlags say which part of a list is shown.
func pageFlags(cmd *cobra.Command, p *codegraph.Page) {
	cmd.Flags().IntVarP(&p.Limit, "limit", "n", codegraph.DefaultLimit, "the `most` to list, 1 to 1000")
	cmd.Flags().IntVar(&p.Offset, "offset", 0, "how `many` to leave out at the beginning")
}

// checkPage refuses what no page can be.
func checkPage(p codegraph.Page) error {
	if p.Limit < 1 || p.Limit > codegraph.MaxLimit {
		return usagef("--limit: %d is outside 1..%d", p.Limit, codegraph.MaxLimit)
	}
	if p.Offset < 0 || p.Offset > codegraph.MaxOffset {
		return usagef("--offset: %d is outside 0..%d", p.Offset, codegraph.MaxOffset)
	}
	return nil
}

// kindFlag is a flag for some of the kinds that there are.
func kindFlag(cmd *cobra.Command, kinds *[]string, what string, all []string) {
	cmd.Flags().StringSliceVar(kinds, "kind", nil, "only "+what+" of this `kind`: "+strings.Join(all, ", ")+" (repeatable)")
	completeWith(cmd, "kind", all)
}

// completeWith completes a flag with words that are always the same, store or none.
func completeWith(cmd *cobra.Command, flag string, words []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the command has no such flag
	}
}

// checkKinds makes kinds of what a flag said.
func checkKinds[K ~string](said, all []string) (out []K, err error) {
	for _, s := range said {
		if !slices.Contains(all, s) {
			return nil, usage{&ken.Error{Code: ken.CodeInvalid, Field: "--kind", Msg: fmt.Sprintf("there is no kind %q", s), Try: "Use " + strings.Join(all, ", ") + "."}}
		}
		out = append(out, K(s))
	}
	return out, nil
}

// more tells how to see what did not fit on a page.
func (a *app) more(shown int, p codegraph.Page, total int) {
	switch next := p.Offset + shown; {
	case total == 0:
		fmt.Fprintln(a.err, "ken: nothing found")
	case shown == 0:
		fmt.Fprintf(a.err, "ken: there are only %d\n", total)
	case next < total:
		fmt.Fprintf(a.err, "ken: %d of %d: --offset %d shows the next\n", next, total, next)
	}
}
