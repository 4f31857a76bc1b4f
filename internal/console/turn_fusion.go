package console

import (
	"cmp"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/retriever"
)

// legOrder is the order in which pictures have the legs.
var legOrder = []string{retriever.LegKeyword, retriever.LegVector, retriever.LegStructure, graphLeg, retriever.LegLate,
	retriever.LegPinned, retriever.LegSessions, retriever.LegPlaybooks}

// graphLeg is what brings symbols of the code, and decisions about them.
const graphLeg = "graph"

// mostRanked bounds the items of the picture of a retrieval.
const mostRanked = 60

// ranked is something that a turn's legs found, with where each had it.
type ranked struct {
	id    string
	ranks map[string]int // by leg, from 1
	block bool
	cut   ken.CutReason
	order int // in the list that the legs became, from 1; 0 where that is not known
	fused float64
}

// fusedList is what a receipt knows of how the legs became one list, in its order. Of an
// item of the block the receipt has the ranks, of what was cut only where a learned order
// was offered it, too; the rest of it is not here. Memory is in the block beside that
// list, and was never in it.
func fusedList(r *ken.Receipt) []ranked {
	var out []ranked
	at := map[string]int{}
	for i := range r.Items {
		it := &r.Items[i]
		if it.Memory {
			at[it.ID] = -1
			continue
		}
		x := ranked{id: it.ID, ranks: map[string]int{}, block: true, fused: it.Fused}
		for leg, s := range it.Legs {
			x.ranks[leg] = s.Rank
		}
		if len(x.ranks) > 0 {
			at[it.ID] = len(out)
			out = append(out, x)
		}
	}
	why := map[string]ken.CutReason{}
	for _, c := range r.Cut {
		why[c.ID] = c.Reason
	}
	if r.Ranking != nil {
		for i := range r.Ranking.Candidates {
			c := &r.Ranking.Candidates[i]
			n, known := at[c.ID]
			if n < 0 {
				continue
			}
			if !known {
				n = len(out)
				at[c.ID] = n
				out = append(out, ranked{id: c.ID, cut: why[c.ID],
					ranks: map[string]int{retriever.LegKeyword: c.Keyword, retriever.LegVector: c.Vector, retriever.LegStructure: c.Structure}})
			}
			out[n].order = c.Rank
		}
	}
	slices.SortStableFunc(out, func(a, b ranked) int {
		return cmp.Or(zeroLast(a.order, b.order), cmp.Compare(b.fused, a.fused))
	})
	return out[:min(len(out), mostRanked)]
}

// zeroLast compares places in a list, of which 0 is none.
func zeroLast(a, b int) int {
	switch {
	case (a == 0) == (b == 0):
		return cmp.Compare(a, b)
	case a == 0:
		return 1
	}
	return -1
}

// fusion draws them. label gives the words of an item, and where it leads.
func fusion(list []ranked, label func(id string) (words, path string)) *drawing {
	d := chart.FusionData{Title: "How the legs became one list"}
	for _, leg := range legOrder {
		if slices.ContainsFunc(list, func(x ranked) bool { return x.ranks[leg] > 0 }) {
			d.Legs = append(d.Legs, leg)
		}
	}
	for _, x := range list {
		f := chart.Fused{Block: x.block, Cut: string(x.cut)}
		f.Label, f.Href = label(x.id)
		for _, leg := range d.Legs {
			f.Ranks = append(f.Ranks, x.ranks[leg])
		}
		d.Items = append(d.Items, f)
	}
	if len(d.Items) == 0 {
		return nil
	}
	return draw(d, chart.Fusion)
}
