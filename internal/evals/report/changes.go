package report

import (
	"fmt"

	"github.com/kenlayer/ken/evals"
)

// Changes is a comparison as aligned text: a line for each mode and measure, and
// what could not be compared below.
func Changes(c *evals.Comparison) string {
	rows := [][]string{{"mode", "measure", "before", "after", "change", "95 %", "p", ""}}
	for _, ch := range c.Changes {
		verdict := ""
		switch {
		case ch.Regression:
			verdict = "worse"
		case ch.Real:
			verdict = "better"
		}
		rows = append(rows, []string{ch.Mode, ch.Measure, fraction(ch.Before, true), fraction(ch.After, true), fmt.Sprintf("%+.3f", ch.Difference),
			fmt.Sprintf("%+.3f…%+.3f", ch.CI[0], ch.CI[1]), fmt.Sprintf("%.3f", ch.P), verdict})
	}
	for _, l := range c.Latency {
		rows = append(rows,
			[]string{l.Mode, "p50 ms", fmt.Sprintf("%.1f", l.Before[0]), fmt.Sprintf("%.1f", l.After[0]), "", "", "", ""},
			[]string{l.Mode, "p99 ms", fmt.Sprintf("%.1f", l.Before[1]), fmt.Sprintf("%.1f", l.After[1]), "", "", "", ""})
	}
	out := align(rows) + fmt.Sprintf("%d questions in both reports", c.Questions)
	if c.OnlyBefore+c.OnlyAfter > 0 {
		out += fmt.Sprintf("; %d only before and %d only after were left out", c.OnlyBefore, c.OnlyAfter)
	}
	out += "\n"
	for _, mode := range c.Unpaired {
		out += "not compared, as only one report has it: " + mode + "\n"
	}
	return out
}
