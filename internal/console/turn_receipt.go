package console

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// receiptView is the receipt of a turn or of a dry run, for display.
type receiptView struct {
	Receipt *ken.Receipt
	Items   []itemView
	Cuts    []cutGroup
	Fusion  *drawing
	Bytes   *drawing
	Time    turnTime
	Faults  []fault
	Taints  []taintView
	Memory  int // items that are part of every turn
	Tried   bool
}

type itemView struct {
	inspect.Item
	Place  int
	Label  string // a short label
	Cut    bool   // the label is shorter than the item's text
	Path   string // its page; "" for none
	Says   string // what happened to it since
	Now    *row   // the claim's current state; nil if it is not a claim
	Found  []foundBy
	Parts  []signalValue // signals of the ranker
	Marks  []badge
	Decide bool // the visitor can decide about it
}

// foundBy is an item's position in one retriever's results.
type foundBy struct {
	Leg  string
	Rank int
}

type signalValue struct {
	Name  string
	Value float64
}

// cutGroup holds the items cut for one reason: the first ones, and some of the others.
type cutGroup struct {
	Reason      ken.CutReason
	Says        string
	Count       int
	First, Rest []cutItem
	More        int // items not listed
}

type cutItem struct{ ID, Label, Path, Detail string }

// taintView is a tool call that repeats the text of an external claim.
type taintView struct {
	ken.Taint
	Label, Path string
}

// Of each reason, this many cut items are shown, and this many more after unfolding.
const (
	firstCuts = 3
	restCuts  = 12
)

// receiptView converts a receipt for display and looks up the ids that it names. The items
// have their texts already.
func (v *visit) receiptView(s store.Engine, r *ken.Receipt, items []inspect.Item, used []ken.Use) (receiptView, error) {
	p := receiptView{Receipt: r, Faults: faults(r.Degraded), Bytes: cachedParts(r), Time: turnTimeOf(r)}
	k := lookup{v: v, s: s, labels: map[string]cutItem{}}
	for i := range items {
		it := k.item(&items[i], i+1, r.Session)
		for _, u := range used {
			if u.ID == it.ID {
				it.Marks = useBadges(u)
			}
		}
		if it.Memory {
			p.Memory++
		}
		k.labels[it.ID] = cutItem{ID: it.ID, Label: it.Label, Path: "#c-" + it.ID}
		p.Items = append(p.Items, it)
	}
	p.Cuts = k.cuts(r.Cut)
	p.Fusion = drawFusion(fusedList(r), func(id string) (string, string) {
		c := k.label(id)
		return c.Label, c.Path
	})
	for _, t := range r.Taint {
		c := k.label(t.Claim)
		p.Taints = append(p.Taints, taintView{t, c.Label, c.Path})
	}
	return p, k.err
}

// dryRunView converts the receipt of a dry run for display. Its items have the texts of the
// block.
func (v *visit) dryRunView(s store.Engine, r *ken.Receipt) (receiptView, error) {
	items := mapped(r.Items, func(it *ken.Item) inspect.Item { return inspect.Item{Item: *it, State: inspect.Same} })
	p, err := v.receiptView(s, r, items, nil)
	p.Tried = true
	return p, err
}

// lookup reads what ids refer to, and caches it.
type lookup struct {
	v      *visit
	s      store.Engine
	labels map[string]cutItem
	err    error
}

func (k *lookup) item(kept *inspect.Item, place int, session string) itemView {
	it := itemView{Item: *kept, Place: place, Says: stateLabels[kept.State], Label: shortLabel(kept.Heading, kept.Text)}
	for _, leg := range retrieverOrder {
		if s, ok := kept.Legs[leg]; ok {
			it.Found = append(it.Found, foundBy{leg, s.Rank})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept.Signals)) {
		it.Parts = append(it.Parts, signalValue{name, kept.Signals[name]})
	}
	switch kept.Kind {
	case budgeter.KindSymbol:
		it.Path = symbolPath(kept.ID, 1)
		it.Label = cmp.Or(it.Label, kept.ID)
	case budgeter.KindObjectives:
		it.Path, it.Label = pathOf("objectives"), cmp.Or(it.Label, "The project’s objectives")
	case budgeter.KindCheckpoint:
		if session != "" {
			it.Path = pathOf("sessions", session)
		}
		it.Label = cmp.Or(it.Label, "The session's state")
	default:
		k.addCurrentClaim(&it)
	}
	it.Cut = strings.HasSuffix(it.Label, "…")
	if it.State == inspect.Forgotten {
		it.Label = "Forgotten"
	}
	it.Label = cmp.Or(it.Label, "item "+shortID(it.ID))
	return it
}

func (k *lookup) addCurrentClaim(it *itemView) {
	c, err := k.v.readClaim(k.v.ctx(), k.s, it.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		if it.Kind == ken.KindDecision && it.State != inspect.Forgotten { // a decision is a file of the project
			it.Path = pathOf("decisions")
		}
		return
	case err != nil:
		k.err = err
		return
	}
	now := rowOf(&c, k.v.now())
	it.Path, it.Now = pathOf("claims", it.ID), &now
	it.Decide = c.Kind != ken.KindDocument && c.Status != ken.StatusDisputed && c.Status != ken.StatusSuperseded
}

func (k *lookup) label(id string) cutItem {
	if c, ok := k.labels[id]; ok {
		return c
	}
	c := cutItem{ID: id, Label: id}
	claim, err := k.s.Get(k.v.ctx(), id)
	switch {
	case err == nil:
		c.Label, c.Path = cmp.Or(shortLabel(claim.Heading, claim.Text), id), pathOf("claims", id)
	case !errors.Is(err, ken.ErrNotFound):
		k.err = err
	case strings.Count(id, "-") == 4: // the id of a claim
		c.Label = "a deleted claim (" + shortID(id) + ")"
	}
	k.labels[id] = c
	return c
}

func (k *lookup) cuts(cuts []ken.Cut) (out []cutGroup) {
	by := map[ken.CutReason][]ken.Cut{}
	for _, c := range cuts {
		by[c.Reason] = append(by[c.Reason], c)
	}
	for _, w := range cutLabels {
		of := by[w.reason]
		if len(of) == 0 {
			continue
		}
		g := cutGroup{Reason: w.reason, Says: w.says, Count: len(of), More: max(len(of)-firstCuts-restCuts, 0)}
		for i, c := range of[:min(len(of), firstCuts+restCuts)] {
			item := k.label(c.ID)
			item.Detail = c.Detail
			if other := k.labels[c.Detail]; c.Reason == ken.CutDuplicate && other.ID != "" {
				item.Detail = "as " + other.Label + " says"
			}
			if i < firstCuts {
				g.First = append(g.First, item)
			} else {
				g.Rest = append(g.Rest, item)
			}
		}
		out = append(out, g)
	}
	return out
}

// shortLabel returns a short label for a text: its heading, or its beginning.
func shortLabel(heading, text string) string {
	const most = 120
	s := cmp.Or(heading, text[:min(len(text), 8*most)])
	return analysis.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), most)
}

// retrieverOrder is the order of the retrievers in charts.
var retrieverOrder = []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourceStructure, graphRetriever, retriever.SourceLate,
	retriever.SourcePinned, retriever.SourceSessions, retriever.SourcePlaybooks}

// graphRetriever is the retriever that finds symbols of the code and decisions about them.
const graphRetriever = "graph"

// maxRanked is the largest number of items in the chart of a retrieval.
const maxRanked = 60

// fusedItem is an item that retrievers found, with its rank in each.
type fusedItem struct {
	id    string
	ranks map[string]int // by retriever, from 1
	block bool
	cut   ken.CutReason
	order int // position in the merged list, from 1; 0 if unknown
	fused float64
}

// fusedList returns what a receipt records about merging the retrievers' lists, in the merged
// order. The receipt has the ranks of the block's items, and of cut items only if a learned
// ranker got them; other items are missing. Memory items were never in the list and are left
// out.
func fusedList(r *ken.Receipt) []fusedItem {
	var out []fusedItem
	at := map[string]int{}
	for i := range r.Items {
		it := &r.Items[i]
		if it.Memory {
			at[it.ID] = -1
			continue
		}
		x := fusedItem{id: it.ID, ranks: map[string]int{}, block: true, fused: it.Fused}
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
				out = append(out, fusedItem{id: c.ID, cut: why[c.ID],
					ranks: map[string]int{retriever.SourceKeyword: c.Keyword, retriever.SourceVector: c.Vector, retriever.SourceStructure: c.Structure}})
			}
			out[n].order = c.Rank
		}
	}
	slices.SortStableFunc(out, func(a, b fusedItem) int {
		return cmp.Or(zeroLast(a.order, b.order), cmp.Compare(b.fused, a.fused))
	})
	return out[:min(len(out), maxRanked)]
}

// zeroLast compares positions in a list; 0 means none and sorts last.
func zeroLast(a, b int) int {
	switch {
	case (a == 0) == (b == 0):
		return cmp.Compare(a, b)
	case a == 0:
		return 1
	}
	return -1
}

// drawFusion draws the list. label returns the text of an item and the path of its page.
func drawFusion(list []fusedItem, label func(id string) (words, path string)) *drawing {
	d := chart.FusionData{Title: "How the retrievers' results were merged"}
	for _, leg := range retrieverOrder {
		if slices.ContainsFunc(list, func(x fusedItem) bool { return x.ranks[leg] > 0 }) {
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

type drawing struct{ Chart, Table template.HTML }

// tabular is chart data that can be shown as a table.
type tabular interface{ Table() template.HTML }

func draw[T tabular](d T, how func(T) template.HTML) *drawing { return &drawing{how(d), d.Table()} }

// cachedParts charts which part of a request a provider's prompt cache could serve; nil for a
// turn that sent nothing.
func cachedParts(r *ken.Receipt) *drawing {
	if r.CachedBytes+r.NewBytes == 0 {
		return nil
	}
	return draw(chart.StackData{Title: "Cached against new bytes", Unit: "bytes", Parts: []chart.Part{
		{Label: "cached", Value: float64(r.CachedBytes), Tone: chart.OK, Note: "an earlier request of the session began with them"},
		{Label: "new", Value: float64(r.NewBytes), Tone: chart.Warn, Note: "the provider’s cache can’t have them"}}}, chart.Stack)
}

// sequentialStages lists the stages that run one after the other, in order. Other times in a
// receipt belong to retrievers, which run within retrieve; total and assemble include all.
var sequentialStages = []string{"guard", "intent", "graph", "retrieve", "budget"}

type turnTime struct {
	Drawing *drawing
	Total   float64
	Around  float64 // time outside of all stages; below 0 if unknown
	Earlier float64 // the time that an earlier request of the turn took for these stages; 0 if there was none
}

func turnTimeOf(r *ken.Receipt) turnTime {
	out := turnTime{Total: r.MS["total"], Around: -1}
	stages, sum := stagesOf(r)
	if len(stages) == 0 {
		return out
	}
	out.Drawing = draw(chart.WaterfallData{Title: "Where the time went", Stages: stages}, chart.Waterfall)
	if r.Reused { // the stages are those of the request that composed the block
		out.Earlier = r.MS["assemble"]
	} else {
		out.Around = max(out.Total-sum, 0)
	}
	return out
}

// stagesOf returns the stages of a turn with their start times, and their sum. Sequential
// stages begin when the one before ends. Retrieve first looks up what is filed under the
// turn's entities; then the retrievers run in parallel. Their times are part of retrieve's
// and are not added to it. The receipt has no start times; they follow from the durations.
func stagesOf(r *ken.Receipt) (stages []chart.Stage, sum float64) {
	for _, name := range sequentialStages {
		ms, ran := r.MS[name]
		if !ran {
			continue
		}
		stages = append(stages, chart.Stage{Label: name, Start: sum, MS: ms, Note: stageLabels[name]})
		if name == "retrieve" {
			stages = append(stages, retrieverTimes(r, sum)...)
		}
		sum += ms
	}
	return stages, sum
}

// retrieverTimes returns the retrievers of a search that began at a time, the longest first,
// after the look-up that they wait for.
func retrieverTimes(r *ken.Receipt, at float64) (out []chart.Stage) {
	if ms, ok := r.MS[retriever.SourceStructure]; ok {
		out = append(out, chart.Stage{Label: "· " + retriever.SourceStructure, Start: at, MS: ms, Tone: chart.Muted, Note: "within retrieve, before the legs"})
		at += ms
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.MS), func(a, b string) int { return cmp.Or(cmp.Compare(r.MS[b], r.MS[a]), cmp.Compare(a, b)) }) {
		if slices.Contains(sequentialStages, name) || name == "total" || name == "assemble" || name == retriever.SourceStructure || math.IsNaN(r.MS[name]) {
			continue
		}
		out = append(out, chart.Stage{Label: "· " + name, Start: at, MS: r.MS[name], Tone: chart.Muted, Note: "within retrieve, beside the other legs"})
	}
	return out
}
