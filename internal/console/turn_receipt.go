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
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// receiptView is a turn's receipt as pages show it, of a real turn or of a dry run.
type receiptView struct {
	Receipt *ken.Receipt
	Items   []itemView
	Cuts    []cutGroup
	Fusion  *drawing
	Bytes   *drawing
	Time    turnTime
	Faults  []fault
	Taints  []taintView
	Memory  int // items that are in every turn
	Tried   bool
}

// itemView is one item of a block.
type itemView struct {
	inspect.Item
	Place  int
	Label  string // a few words for it
	Cut    bool   // it says more than its label does
	Path   string // of its own page; "" for none
	Says   string // what became of it since
	Now    *row   // the claim as it stands; nil for what is none
	Found  []foundBy
	Parts  []signalValue // of what the ranker counted
	Marks  []badge
	Decide bool // a person can decide about it
}

// foundBy is where a leg had an item.
type foundBy struct {
	Leg  string
	Rank int
}

type signalValue struct {
	Name  string
	Value float64
}

// cutGroup is what was cut for one reason: the first of it, and some of the rest.
type cutGroup struct {
	Reason      ken.CutReason
	Says        string
	Count       int
	First, Rest []cutItem
	More        int // that are not listed
}

type cutItem struct{ ID, Label, Path, Detail string }

// taintView is a tool call that repeats what an external claim said.
type taintView struct {
	ken.Taint
	Label, Path string
}

// Of what was cut for a reason, so many are shown, and so many more unfolded.
const (
	firstCuts = 3
	restCuts  = 12
)

// receiptView looks up what a receipt names by ids. Items carry their words already.
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

// dryRunView is the picture of a turn that was tried: its items have the words that they
// have in the block.
func (v *visit) dryRunView(s store.Engine, r *ken.Receipt) (receiptView, error) {
	items := make([]inspect.Item, len(r.Items))
	for i := range r.Items {
		items[i] = inspect.Item{Item: r.Items[i], State: inspect.Same}
	}
	p, err := v.receiptView(s, r, items, nil)
	p.Tried = true
	return p, err
}

// lookup reads what ids stand for, each once.
type lookup struct {
	v      *visit
	s      store.Engine
	labels map[string]cutItem
	err    error
}

// item shows an item of a block.
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
		it.Label = cmp.Or(it.Label, "Where the session stood")
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

// addCurrentClaim looks up how the claim of an item stands now.
func (k *lookup) addCurrentClaim(it *itemView) {
	c, err := k.v.readClaim(k.v.ctx(), k.s, it.ID)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		if it.Kind == ken.KindDecision && it.State != inspect.Forgotten { // a file of the project says so
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

// label is an item by its id, with its own page.
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
	case strings.Count(id, "-") == 4: // a claim's id
		c.Label = "a claim that is gone (" + shortID(id) + ")"
	}
	k.labels[id] = c
	return c
}

// cuts groups what was left out by why.
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

// shortLabel returns a short label for a text: its heading, or how it begins.
func shortLabel(heading, text string) string {
	const most = 120
	s := heading
	if s == "" {
		s = text[:min(len(text), 8*most)]
	}
	words := strings.Fields(strings.ToValidUTF8(s, ""))
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}

// retrieverOrder is the order of the retrievers in pictures.
var retrieverOrder = []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourceStructure, graphRetriever, retriever.SourceLate,
	retriever.SourcePinned, retriever.SourceSessions, retriever.SourcePlaybooks}

// graphRetriever finds symbols of the code and decisions about them.
const graphRetriever = "graph"

// mostRanked bounds the items of the picture of a retrieval.
const maxRanked = 60

// fusedItem is an item that retrievers found, with its rank in each.
type fusedItem struct {
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

// drawFusion draws them. label gives the words of an item, and where it leads.
func drawFusion(list []fusedItem, label func(id string) (words, path string)) *drawing {
	d := chart.FusionData{Title: "How the legs became one list"}
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

// drawing is a chart with its figures as a table.
type drawing struct{ Chart, Table template.HTML }

// tabular is chart data that can be shown as a table.
type tabular interface{ Table() template.HTML }

func draw[T tabular](d T, how func(T) template.HTML) *drawing { return &drawing{how(d), d.Table()} }

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

// sequentialStages are the stages that run one after the other, in that order. Other times in
// a receipt belong to retrievers, which run within retrieve; total and assemble include all.
var sequentialStages = []string{"guard", "intent", "graph", "retrieve", "budget"}

// turnTime tells where the milliseconds of a turn went.
type turnTime struct {
	Drawing *drawing
	Total   float64
	Around  float64 // what no stage took; below 0 where that is not known
	Earlier float64 // an earlier request of the turn took so long for these stages; 0 where it was this one
}

// turnTimeOf reads the times in a receipt.
func turnTimeOf(r *ken.Receipt) turnTime {
	out := turnTime{Total: r.MS["total"], Around: -1}
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

// retrieverTimes are the legs of a search that began at a moment, the longest first, behind the
// look-up that they wait for.
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
