package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// claimView is a claim as it is printed: with what is computed from it.
type claimView = middleware.ClaimView

// headline is a claim in one line.
func headline(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + ": " + c.Text
}

// shortID is an id as tables show it: short for people, whole for programs.
func (a *app) shortID(id string) string {
	if isTerminal(a.out) {
		return tail(id)
	}
	return id
}

// printTable writes rows for people when the output is a terminal: aligned under
// their heads, the last column cut at the edge. Otherwise it writes them for
// programs: cells whole, separated by tabs, without heads.
func (a *app) printTable(head []string, rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = cell(row[i])
		}
	}
	if !isTerminal(a.out) {
		for _, row := range rows {
			fmt.Fprintln(a.out, strings.Join(row, "\t"))
		}
		return
	}
	for _, line := range align(head, rows, a.edge()) {
		fmt.Fprintln(a.out, line)
	}
}

// edge is how many columns the output has: the terminal's, or those of a wide
// page.
func (a *app) edge() int {
	if f, ok := a.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 120
}

// align lays a table out in columns, in lines of at most edge columns as long as
// the last column has room for some letters.
func align(head []string, rows [][]string, edge int) []string {
	const gap, least = 2, 20
	last := len(head) - 1
	rows = append([][]string{head}, rows...)
	widths := make([]int, last)
	left := edge
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
		left -= widths[i] + gap
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, w := range widths {
			b.WriteString(row[i] + strings.Repeat(" ", w-columns(row[i])+gap))
		}
		b.WriteString(fit(row[last], max(left, least)))
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// cell makes a text fit for a table: one line, nothing that a terminal obeys.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// columns is how many columns of a terminal a text takes: two for the wide
// letters of East Asia and emoji, none for marks on the letter before.
func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts a text to at most n columns.
func fit(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	n-- // for the ellipsis
	for i, r := range s {
		if n -= columnsOf(r); n < 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
