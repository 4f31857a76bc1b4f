package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/drift"
)

// pairsOf sorts violations by the layers that should not know each other, those with the
// most first.
func pairsOf(list []drift.Violation) []driftGroup {
	var out []driftGroup
	at := map[[2]string]int{}
	for i := range list {
		k := [2]string{list[i].Layer, list[i].ImportLayer}
		g, ok := at[k]
		if !ok {
			g, at[k] = len(out), len(out)
			out = append(out, driftGroup{From: k[0], To: k[1]})
		}
		out[g].all = append(out[g].all, i)
	}
	slices.SortFunc(out, func(a, b driftGroup) int {
		return cmp.Or(cmp.Compare(b.Total(), a.Total()), strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return out
}

// layers lists the layers as the manifest does, each with what is against its rules, and
// which others it may depend on: a matrix, if it is one that somebody could read.
func (b *driftBody) layers(c *driftFound) {
	added, known := map[[2]string]int{}, map[[2]string]int{}
	for _, g := range c.pairs {
		added[[2]string{g.From, g.To}] = g.Total()
	}
	for i := range c.report.Known {
		known[[2]string{c.report.Known[i].Layer, c.report.Known[i].ImportLayer}]++
	}
	for i, l := range c.manifest.Layers {
		row := layerRow{Layer: l, Number: i + 1, Files: c.report.Layers[i].Files, Imports: c.report.Layers[i].Imports, Every: slices.Contains(l.MayDependOn, drift.Everything)}
		for _, to := range c.manifest.Layers {
			k := [2]string{l.Name, to.Name}
			row.New += added[k]
			row.Known += known[k]
			cell := layerCell{Self: l.Name == to.Name, May: c.manifest.Permits(l.Name, to.Name), New: added[k], To: to.Name}
			if cell.New > 0 {
				cell.Path = pathOf("drift") + "?from=" + escapeQuery(l.Name) + "&to=" + escapeQuery(to.Name)
			}
			row.Cells = append(row.Cells, cell)
		}
		b.Layers = append(b.Layers, row)
	}
	if len(b.Layers) <= mostMatrix {
		b.Columns = b.Layers
	}
}
