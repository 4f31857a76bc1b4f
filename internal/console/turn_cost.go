package console

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/retriever"
)

// drawing is a chart with its figures as a table.
type drawing struct{ Chart, Table template.HTML }

// tall is a chart's data.
type tall interface{ Table() template.HTML }

func draw[T tall](d T, how func(T) template.HTML) *drawing { return &drawing{how(d), d.Table()} }

// cachedParts is what of a request a provider's prompt cache could serve; nil for a turn
// that sent nothing.
func cachedParts(r *ken.Receipt) *drawing {
	if r.CachedBytes+r.NewBytes == 0 {
		return nil
	}
	return draw(chart.StackData{Title: "Cached against new bytes", Unit: "bytes", Parts: []chart.Part{
		{Label: "cached", Value: float64(r.CachedBytes), Tone: chart.OK, Note: "an earlier request of the session began with them"},
		{Label: "new", Value: float64(r.NewBytes), Tone: chart.Warn, Note: "the provider’s cache can’t have them"}}}, chart.Stack)
}

// inRow are the stages that run one after the other, in that order. Everything else that a
// receipt has times of is a leg, and runs within retrieve; total and assemble hold them
// all.
var inRow = []string{"guard", "intent", "graph", "retrieve", "budget"}

// spent is where the milliseconds of a turn went.
type spent struct {
	Drawing *drawing
	Total   float64
	Around  float64 // what no stage took; below 0 where that is not known
	Earlier float64 // an earlier request of the turn took so long for these stages; 0 where it was this one
}

// timed is the time that a receipt tells of.
func timed(r *ken.Receipt) spent {
	out := spent{Total: r.MS["total"], Around: -1}
	stages, sum := stagesOf(r)
	if len(stages) == 0 {
		return out
	}
	out.Drawing = draw(chart.WaterfallData{Title: "Where the milliseconds went", Stages: stages}, chart.Waterfall)
	if r.Reused { // the stages are those of the request that composed the block
		out.Earlier = r.MS["assemble"]
	} else {
		out.Around = max(out.Total-sum, 0)
	}
	return out
}

// stagesOf are the stages of a turn with when each began, and what they come to. Those
// that follow one another stand one behind the other. What is filed under the turn's
// entities is looked up first in retrieve, and then the legs search side by side: their
// time is part of retrieve's, and is not added to it. When a stage began was not kept, but
// follows from those before it.
func stagesOf(r *ken.Receipt) (stages []chart.Stage, sum float64) {
	for _, name := range inRow {
		ms, ran := r.MS[name]
		if !ran {
			continue
		}
		stages = append(stages, chart.Stage{Label: name, Start: sum, MS: ms, Note: stageWords[name]})
		if name == "retrieve" {
			stages = append(stages, legTimes(r, sum)...)
		}
		sum += ms
	}
	return stages, sum
}

// legTimes are the legs of a search that began at a moment, the longest first, behind the
// look-up that they wait for.
func legTimes(r *ken.Receipt, at float64) (out []chart.Stage) {
	if ms, ok := r.MS[retriever.LegStructure]; ok {
		out = append(out, chart.Stage{Label: "· " + retriever.LegStructure, Start: at, MS: ms, Tone: chart.Muted, Note: "within retrieve, before the legs"})
		at += ms
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.MS), func(a, b string) int { return cmp.Or(cmp.Compare(r.MS[b], r.MS[a]), cmp.Compare(a, b)) }) {
		if slices.Contains(inRow, name) || name == "total" || name == "assemble" || name == retriever.LegStructure || math.IsNaN(r.MS[name]) {
			continue
		}
		out = append(out, chart.Stage{Label: "· " + name, Start: at, MS: r.MS[name], Tone: chart.Muted, Note: "within retrieve, beside the other legs"})
	}
	return out
}
