package console

import (
	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/console/ledger"
)

// modes are the ways in which retrieval runs, the best first, with the tone of each.
var modes = []struct {
	mode ken.Mode
	tone chart.Tone
}{{ken.ModeHybrid, chart.OK}, {ken.ModeVector, ""}, {ken.ModeKeyword, ""}, {ken.ModeLate, chart.Warn}, {ken.ModeNone, chart.Muted}}

// modeShares is how retrieval ran over time.
func modeShares(title string, series []ledger.Bucket) chart.SharesData {
	d := chart.SharesData{Title: title, Unit: "turns"}
	for _, m := range modes {
		d.Names, d.Tones = append(d.Names, string(m.mode)), append(d.Tones, m.tone)
	}
	for i := range series {
		x := &series[i]
		b := chart.Bucket{At: x.From, Counts: make([]float64, len(modes))}
		for j, m := range modes {
			b.Counts[j] = float64(x.Modes[m.mode])
		}
		d.Buckets, d.Width = append(d.Buckets, b), x.To.Sub(x.From)
	}
	return d
}

// statusTones are the tones of statuses in charts.
var statusTones = map[string]chart.Tone{string(ken.StatusVerified): chart.OK, string(ken.StatusDisputed): chart.Warn,
	string(ken.StatusSuperseded): chart.Muted}

// statusParts is how many claims stand where.
func statusParts(values []facet.Value) chart.StackData {
	d := chart.StackData{Title: "Claims by status", Unit: "claims"}
	for _, v := range values {
		d.Parts = append(d.Parts, chart.Part{Label: v.Value, Value: float64(v.Count), Tone: statusTones[v.Value]})
	}
	return d
}
