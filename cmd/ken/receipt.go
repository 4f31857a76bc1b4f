package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kenlayer/ken"
)

// shownCuts is how many cut records are listed unless all are asked for.
const shownCuts = 10

// printReceipt shows a block and how it came about. name says what a record is
// called, and may be nil.
func (a *app) printReceipt(r ken.Receipt, name func(id string) string, all bool) {
	if r.Block == "" {
		fmt.Fprintf(a.out, "No block: %s.\n", cmp.Or(r.Cause, "nothing that is known bears on this"))
	} else {
		fmt.Fprintln(a.out, r.Block)
	}
	fmt.Fprintf(a.out, "\nmode %s", r.Mode)
	if r.Cause != "" {
		fmt.Fprintf(a.out, " (%s)", r.Cause)
	}
	fmt.Fprintf(a.out, " · %d characters", r.Chars)
	if r.Tokens > 0 {
		fmt.Fprintf(a.out, " · %d tokens", r.Tokens)
	}
	fmt.Fprintf(a.out, " · %.1f ms\n", r.MS["total"])
	for _, d := range r.Degraded {
		fmt.Fprintf(a.out, "degraded: %s\n", d)
	}
	a.printItems(r.Items)
	a.printCuts(r.Cut, name, all)
}

func (a *app) printItems(items []ken.Item) {
	if len(items) == 0 {
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nID\tTIER\tFOUND BY\tSCORE\tCHARS\tSOURCE")
	for _, it := range items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.3f\t%d\t%s\n", tail(it.ID), it.Tier, legs(it.Legs), it.Fused, it.Chars,
			clip(cmp.Or(it.Source, it.Heading, it.Text), 60))
	}
	w.Flush()
}

func (a *app) printCuts(cuts []ken.Cut, name func(string) string, all bool) {
	if len(cuts) == 0 {
		return
	}
	count := map[ken.CutReason]int{}
	for _, c := range cuts {
		count[c.Reason]++
	}
	var parts []string
	for _, why := range sortedKeys(count) {
		parts = append(parts, fmt.Sprintf("%d %s", count[why], why))
	}
	fmt.Fprintf(a.out, "\ncut: %s\n", strings.Join(parts, ", "))
	shown := cuts
	if !all && len(shown) > shownCuts {
		shown = shown[:shownCuts]
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, c := range shown {
		what := c.Detail
		if name != nil {
			what = cmp.Or(name(c.ID), what)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", tail(c.ID), c.Reason, clip(what, 70))
	}
	w.Flush()
	if len(shown) < len(cuts) {
		fmt.Fprintf(a.out, "… and %d more: --all lists them\n", len(cuts)-len(shown))
	}
}

// legs writes "keyword #1, vector #7".
func legs(m map[string]ken.LegScore) string {
	var parts []string
	for _, name := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%s #%d", name, m[name].Rank))
	}
	return strings.Join(parts, ", ")
}

// tail is the short form of an id, as in blocks: time is at its front.
func tail(id string) string { return id[max(0, len(id)-8):] }

// clip cuts a text to one line of at most n code points.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
