package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/evals"
)

// columns of the table, in order; ci says that the interval is shown behind.
var columns = []struct {
	head, name string
	ci         bool
}{
	{"hit@1", "hit@1", false}, {"hit@5", "hit@5", false}, {"r@5", "recall@5", false}, {"r@10", "recall@10", true}, {"r@20", "recall@20", false},
	{"ndcg@10", "ndcg@10", false}, {"mrr", "mrr", false}, {"block", "block_recall", false},
	{"abstain", "abstain", false}, {"silenced", "silenced", false},
}

// Table is the reports as aligned text, a line for each set and mode, with the
// head on the first line. Fractions have three digits; the interval is that of
// recall@10. What could not be measured is a dash.
func Table(reports ...*evals.Report) string {
	rows := [][]string{{"set", "mode"}}
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
		if c.ci {
			rows[0] = append(rows[0], "95 %")
		}
	}
	rows[0] = append(rows[0], "p50 ms", "p99 ms")
	for _, r := range reports {
		for _, mode := range r.Order {
			rows = append(rows, row(r, mode))
		}
	}
	return align(rows)
}

func row(r *evals.Report, mode string) []string {
	s := r.Modes[mode]
	out := []string{r.Dataset, mode}
	for _, c := range columns {
		ci, measured := s.CI[c.name]
		out = append(out, fraction(s.Values[c.name], measured))
		if c.ci && measured {
			out = append(out, fmt.Sprintf("%s-%s", fraction(ci[0], true), fraction(ci[1], true)))
		} else if c.ci {
			out = append(out, "–")
		}
	}
	return append(out, fmt.Sprintf("%.1f", s.Values["p50_ms"]), fmt.Sprintf("%.1f", s.Values["p99_ms"]))
}

// fraction writes three digits without the leading zero, as such tables do.
func fraction(v float64, measured bool) string {
	if !measured {
		return "–"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", v), "0")
}

// align pads every column to its widest cell: text to the left, figures to the
// right.
func align(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < 2 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
