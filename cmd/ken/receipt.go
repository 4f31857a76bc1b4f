package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/middleware"
)

// shownCuts is how many cut records are listed unless all are asked for.
const shownCuts = 10

// showReceipt prints a receipt that the layer made: as JSON, or the block and
// under it how it came about.
func (a *app) showReceipt(ctx context.Context, l *middleware.Layer, r ken.Receipt, all bool) error {
	if a.json {
		return a.printJSON(r)
	}
	name := func(string) string { return "" }
	if s, release, err := l.Store(ctx, r.Owner); err == nil { // without it, only names are missing
		defer release()
		name = func(id string) string {
			c, err := s.Get(ctx, id)
			if err != nil {
				return ""
			}
			return cmp.Or(c.Heading, c.Text)
		}
	}
	a.printReceipt(r, name, all)
	return nil
}

// printReceipt shows a receipt to a person. name says what a record is called.
func (a *app) printReceipt(r ken.Receipt, name func(id string) string, all bool) {
	cause := ""
	if r.Cause != "" {
		cause = " (" + r.Cause + ")"
	}
	switch {
	case r.Block != "":
		fmt.Fprintln(a.out, printable(r.Block))
	case r.Mode == ken.ModeNone && cause != "":
		fmt.Fprintf(a.out, "No block: %s.\n", r.Cause)
		cause = ""
	default:
		fmt.Fprintln(a.out, "No block: nothing that is known bears on this.")
	}
	fmt.Fprintf(a.out, "\nmode %s%s · %d characters", r.Mode, cause, r.Chars)
	if r.Tokens > 0 {
		fmt.Fprintf(a.out, " · %d tokens", r.Tokens)
	}
	fmt.Fprintf(a.out, " · %.1f ms\n", r.MS["total"])
	for _, d := range r.Degraded {
		if d != r.Cause {
			fmt.Fprintf(a.out, "degraded: %s\n", d)
		}
	}
	a.printItems(r.Items)
	a.printCuts(r.Cut, name, all)
}

func (a *app) printItems(items []ken.Item) {
	if len(items) == 0 {
		return
	}
	rows := make([][]string, len(items))
	for i, it := range items {
		rows[i] = []string{short(it.ID), it.Tier.String(), legs(it.Legs), fmt.Sprintf("%.3f", it.Fused), strconv.Itoa(it.Chars),
			cmp.Or(it.Source, it.Heading, it.Text)}
	}
	fmt.Fprintln(a.out)
	a.printColumns([]string{"ID", "TIER", "FOUND BY", "SCORE", "CHARS", "SOURCE"}, rows)
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
	for _, reason := range sortedKeys(count) {
		parts = append(parts, fmt.Sprintf("%d %s", count[reason], reason))
	}
	fmt.Fprintf(a.out, "\ncut: %s\n", strings.Join(parts, ", "))
	shown := cuts
	if !all && len(shown) > shownCuts {
		shown = shown[:shownCuts]
	}
	rows := make([][]string, len(shown))
	for i, c := range shown {
		rows[i] = []string{short(c.ID), why(c), name(c.ID)}
	}
	a.printColumns([]string{"ID", "WHY", "WHAT"}, rows)
	if len(shown) < len(cuts) {
		fmt.Fprintf(a.out, "… and %d more: ken ask --all lists them\n", len(cuts)-len(shown))
	}
}

// why is the reason of a cut with its detail.
func why(c ken.Cut) string {
	switch {
	case c.Detail == "":
		return string(c.Reason)
	case c.Reason == ken.CutDuplicate:
		return "duplicate of " + short(c.Detail)
	}
	return string(c.Reason) + ": " + c.Detail
}

// printColumns writes a table that is read in place, under the block that it
// explains: always with heads and aligned, unlike printTable.
func (a *app) printColumns(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	for _, line := range align(head, rows, a.edge()) {
		fmt.Fprintln(a.out, line)
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

// short is an id in a table: its tail, or what a symbol of the code is called.
func short(id string) string {
	if _, name, ok := codegraph.Split(id); ok {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return tail(id)
}

// tail is the short form of an id: its end, because its front is the time. A
// block shows a few letters less of it.
func tail(id string) string { return id[max(0, len(id)-8):] }

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
