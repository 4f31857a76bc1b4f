package cases

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteText tells a person what came of the cases: a line for each, what is wrong
// with the red ones, and a count. color is for terminals.
func WriteText(w io.Writer, results []Result, color bool) error {
	b := bufio.NewWriter(w)
	red, green, end := "", "", ""
	if color {
		red, green, end = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	}
	failed := 0
	for i := range results {
		r := &results[i]
		if r.OK() {
			fmt.Fprintf(b, "%sok%s    %s\n", green, end, printable(r.Case.Name))
		} else {
			failed++
			fmt.Fprintf(b, "%sFAIL%s  %s  (%s:%d)\n", red, end, printable(r.Case.Name), r.Case.File, r.Case.Line)
			fmt.Fprint(b, r.Explain("      "))
		}
		for _, n := range r.Notes {
			fmt.Fprintf(b, "      note: %s\n", printable(n))
		}
	}
	fmt.Fprintf(b, "%d %s: %d green, %d red\n", len(results), plural("case", len(results)), len(results)-failed, failed)
	return b.Flush()
}

// Explain says what is wrong, each line led by indent; "" for a green case.
func (r *Result) Explain(indent string) string {
	var b strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "%s%s\n%s  want  %s\n", indent, f.Check, indent, printable(f.Want))
		for i, h := range f.Have {
			label := "have"
			if i > 0 {
				label = "    "
			}
			fmt.Fprintf(&b, "%s  %s  %s\n", indent, label, printable(h))
		}
		if f.Try != "" {
			fmt.Fprintf(&b, "%s  Try:  %s\n", indent, printable(f.Try))
		}
	}
	return b.String()
}

// printable is text in one line, without what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF: // the last two are no characters, in XML either
			return -1
		}
		return r
	}, s)
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
