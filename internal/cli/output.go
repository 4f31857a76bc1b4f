package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/draw"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/middleware/inspect"
)

// Printable removes control characters except line breaks and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// SourceScores formats the ranks of a hit in each retriever: "keyword #1, vector #7".
func SourceScores(m map[string]ken.LegScore) string {
	return strings.Join(Map(SortedKeys(m), func(name *string) string { return fmt.Sprintf("%s #%d", *name, m[*name].Rank) }), ", ")
}

// Tail returns the short form of an ID. It is the end, because IDs begin with the time.
func Tail(id string) string { return id[max(0, len(id)-8):] }

// ShortIDLength is how many characters of an ID tables show where its beginning is unique.
const ShortIDLength = 8

// UniquePrefixes shortens each ID to a prefix that no other ID has.
func UniquePrefixes(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		n := min(ShortIDLength, len(id))
		for j, other := range ids {
			for i != j && n < len(id) && strings.HasPrefix(other, id[:n]) {
				n++
			}
		}
		out[i] = id[:n]
	}
	return out
}

// SortedKeys returns the keys of a map in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// PrintHeading prints the title of a section of n entries, and nothing if n is 0.
func (a *App) PrintHeading(title string, n int) {
	if n > 0 {
		fmt.Fprintf(a.Out, "\n%s\n", title)
	}
}

// Count formats a number with its noun: "1 record", "2 records".
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Counts formats numbers with their names, by name: "2 budget, 1 floor".
func Counts[K ~string, N int | uint64](n map[K]N) string {
	return strings.Join(Map(SortedKeys(n), func(name *K) string { return fmt.Sprintf("%d %s", n[*name], *name) }), ", ")
}

// PrintClaim prints a claim in one row, or as JSON.
func (a *App) PrintClaim(v inspect.Claim) error {
	return a.ShowTable(v, "", []string{"ID", "STATUS", "TIER", "TEXT"}, [][]string{{a.ShortID(v.ID), string(v.Status), v.Tier.String(), Headline(&v.Claim)}})
}

// Show prints v as JSON with --json, and otherwise calls print.
func (a *App) Show(v any, print func()) error {
	if a.JSON {
		return a.PrintJSON(v)
	}
	print()
	return nil
}

// ShowTable is Show for a table. Instead of a table without rows, it prints none on standard
// error.
func (a *App) ShowTable(v any, none string, head []string, rows [][]string) error {
	return a.Show(v, func() {
		if len(rows) == 0 {
			fmt.Fprintln(a.Err, "ken: "+none)
			return
		}
		a.PrintTable(head, rows)
	})
}

// Map returns the result of f for each item of a list, such as the rows of a table.
func Map[T, R any](list []T, f func(*T) R) []R {
	out := make([]R, len(list))
	for i := range list {
		out[i] = f(&list[i])
	}
	return out
}

// Words returns the values of a type such as ken.Status as strings.
func Words[T ~string](list []T) []string {
	return Map(list, func(w *T) string { return string(*w) })
}

// PrintFields prints pairs of a name and a text, the names in a column of a width. It leaves out
// pairs without a text.
func (a *App) PrintFields(width int, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := Cell(pairs[i+1]); text != "" {
			fmt.Fprintf(a.Out, "%-*s  %s\n", width, pairs[i], text)
		}
	}
}

// Note prints a message on standard error, unless --quiet is set.
func (a *App) Note(text string) {
	if !a.Quiet {
		fmt.Fprintln(a.Err, "ken:", text)
	}
}

// PrintTable prints rows. On a terminal it aligns them under their heads, fits them to the width,
// colours words such as statuses, and pages a long table. Otherwise it separates complete cells
// by tabs and prints no heads.
func (a *App) PrintTable(head []string, rows [][]string) {
	if !IsTerminal(a.Out) {
		cleanCells(rows)
		for _, row := range rows {
			fmt.Fprintln(a.Out, strings.Join(row, "\t"))
		}
		return
	}
	var b strings.Builder
	for i, line := range a.Columns(head, rows) {
		if i == 0 {
			line = a.Paint(Strong, line)
		}
		if i > 0 || strings.Join(head, "") != "" {
			b.WriteString(line + "\n")
		}
	}
	_ = a.Page(b.String()) // errors are ignored, as in any print
}

func cleanCells(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = Cell(row[i])
		}
	}
}

// TableWidth returns the width of the terminal, or 120 columns.
func (a *App) TableWidth() int {
	if w, _, err := terminalSize(a.Out); err == nil {
		return w
	}
	return 120
}

// Align formats a table in lines of at most edge columns. It cuts the last column first, then the
// widest ones. Lines exceed edge only if there is no room for a few letters of each column.
func Align(head []string, rows [][]string, edge int) []string {
	cleanCells(rows)
	return align(head, rows, edge, func(_, cell string) string { return cell })
}

// Columns is Align for the output, with colours if the output shows them.
func (a *App) Columns(head []string, rows [][]string) []string {
	cleanCells(rows)
	return align(head, rows, a.TableWidth(), a.Paint)
}

// align is Align with a function that paints a cell in a style.
func align(head []string, rows [][]string, edge int, paint func(style, cell string) string) []string {
	const gap, least, narrow = 2, 20, 8
	last := len(head) - 1
	rows = append([][]string{head}, rows...)
	widths := make([]int, last)
	left := edge
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], draw.Columns(row[i]))
		}
		left -= widths[i] + gap
	}
	for left < least && last > 1 {
		// The first column is an id and is not cut: a cut id could not be typed again.
		widest := 1
		for i := 2; i < last; i++ {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= max(narrow, draw.Columns(head[widest])) {
			break
		}
		widths[widest]--
		left++
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, w := range widths {
			cell := truncateCell(row[i], w)
			padding := strings.Repeat(" ", w-draw.Columns(cell)+gap)
			if n > 0 {
				cell = paint(Style(cell), cell)
			}
			b.WriteString(cell + padding)
		}
		cell := truncateCell(row[last], max(left, least))
		if n > 0 {
			cell = paint(Style(cell), cell)
		}
		b.WriteString(cell)
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// Cell turns a text into one line without control characters.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Truncate cuts a text to at most n columns, with an ellipsis.
func Truncate(s string, n int) string {
	if draw.Columns(s) <= n {
		return s
	}
	n-- // for the ellipsis
	for i, r := range s {
		if n -= draw.RuneColumns(r); n < 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// truncateCell is Truncate, but keeps the end of a path, which tells more than its beginning.
func truncateCell(s string, n int) string {
	left := draw.Columns(s)
	if left <= n || !strings.Contains(s, "/") || strings.Contains(s, " ") {
		return Truncate(s, n)
	}
	for i, r := range s {
		if left < n {
			return "…" + s[i:]
		}
		left -= draw.RuneColumns(r)
	}
	return "…"
}

// EvidenceLabel describes a piece of evidence by its kind and its reference.
func EvidenceLabel(e ken.Evidence) string {
	label := string(e.Kind)
	for _, ref := range []string{e.ID, e.Path, e.URL, e.CommitSHA, e.ToolCallID, e.ArtifactID, e.MessageID} {
		if ref != "" {
			label += " " + ref
			break
		}
	}
	if e.ExitCode != nil {
		label += fmt.Sprintf(" = %d", *e.ExitCode)
	}
	return label
}

// TimeFormat is the format of times in tables.
const TimeFormat = "2006-01-02 15:04"

// TaskState returns the status of a task, or "expired".
func TaskState(t *task.Task) string {
	if t.Expired {
		return "expired" // whatever its status
	}
	return string(t.Status)
}
