package drift

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText writes a report for people: the new violations, grouped by pairs of layers, and a summary. Errors are w's.
func WriteText(w io.Writer, r *Report) error {
	var b strings.Builder
	groups := map[string][]*Violation{}
	for i := range r.Violations {
		v := &r.Violations[i]
		g := v.Layer + " → " + v.ImportLayer
		if v.Rule == RuleUnassigned {
			g = "no layer"
		}
		groups[g] = append(groups[g], v)
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&b, "%s: %s\n", oneLine(g), count(len(groups[g]), "violation"))
		for _, v := range groups[g] {
			fmt.Fprintf(&b, "%s:%d: %s\n", oneLine(v.File), v.Line, oneLine(v.Message()))
		}
		b.WriteByte('\n')
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", oneLine(warning))
	}
	for _, e := range r.Fixed {
		fmt.Fprintf(&b, "fixed: %s\n", oneLine(e.describeFixed()))
	}
	for _, e := range r.Permitted {
		fmt.Fprintf(&b, "permitted now: %s\n", oneLine(e.target()))
	}
	for _, e := range r.Unchecked {
		fmt.Fprintf(&b, "no longer looked at: %s\n", oneLine(e.target()))
	}
	fmt.Fprintln(&b, r.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary describes the result in one line.
func (r *Report) Summary() string {
	parts := []string{count(len(r.Violations), "new violation")}
	if len(r.Violations) == 0 {
		parts[0] = "no new violations"
	}
	if n := len(r.Known); n > 0 {
		parts = append(parts, fmt.Sprintf("%d in the baseline", n))
	}
	if n := len(r.Fixed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d fixed", n))
	}
	if n := len(r.Permitted); n > 0 {
		parts = append(parts, fmt.Sprintf("%d permitted now", n))
	}
	if n := len(r.Unchecked); n > 0 {
		parts = append(parts, fmt.Sprintf("%d no longer looked at", n))
	}
	s := fmt.Sprintf("%s; %s between %s in %s looked at", strings.Join(parts, ", "), count(r.Imports, "import"), count(r.Files, "file"), count(len(r.Layers), "layer"))
	var rest []string
	if r.Unassigned > 0 {
		rest = append(rest, count(r.Unassigned, "file")+" in no layer")
	}
	if r.Tests > 0 {
		rest = append(rest, count(r.Tests, "file")+" with tests left out")
	}
	if len(rest) > 0 {
		s += "; " + strings.Join(rest, ", ")
	}
	return s
}

// oneLine replaces control characters, which could move the cursor.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, s)
}

// count returns "1 file" or "2 files".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
