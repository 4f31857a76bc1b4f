package report

import (
	"fmt"
	"strings"

	"github.com/kenlayer/ken/evals"
)

// Orders is a comparison of orders as aligned text: the verdict, a line for all turns
// and for each slice, what exploration says, and what is missing.
func Orders(o *evals.Orders) string {
	var b strings.Builder
	fmt.Fprintf(&b, "scorer %s\n%d turns logged, %d judged, %d that tell the orders apart; %d learned from\n", o.Verdict, o.Turns, o.Judged, o.Telling, o.Standing.Turns)
	if o.Telling > 0 {
		rows := [][]string{{"slice", "name", "turns", "win", "loss", "tie"}}
		rows[0] = append(append(rows[0], evals.OrderMeasures...), "change", "95 %")
		rows = append(rows, contest("all", &o.Overall))
		for i := range o.Entities {
			rows = append(rows, contest("entity", &o.Entities[i]))
		}
		for i := range o.Projects {
			rows = append(rows, contest("project", &o.Projects[i]))
		}
		b.WriteString("\n" + align(rows) + "plain→learned, of what was shown and then used; change is in ndcg\n")
	}
	if x := o.Corrected; x.Turns > 0 {
		fmt.Fprintf(&b, "\nat the cut, corrected for what was left out: plain %s, learned %s of what it hands on is used (%d turns, %d explored)\n",
			fraction(x.Plain, true), fraction(x.Learned, true), x.Turns, x.Swapped)
	}
	for _, n := range o.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return b.String()
}

func contest(kind string, c *evals.Contest) []string {
	row := []string{kind, c.Slice, fmt.Sprint(c.Turns), fmt.Sprint(c.Wins), fmt.Sprint(c.Losses), fmt.Sprint(c.Ties)}
	for _, m := range evals.OrderMeasures {
		row = append(row, fraction(c.Plain[m], true)+"→"+fraction(c.Learned[m], true))
	}
	return append(row, fmt.Sprintf("%+.3f", c.Difference), fmt.Sprintf("%+.3f…%+.3f", c.CI[0], c.CI[1]))
}
