package console

import (
	"cmp"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// turnBody is a turn's page.
type turnBody struct {
	Now     time.Time
	Turn    receipt.Record
	Tone    string // of its mode
	Picture picture
	Chars   *drawing // where the context's characters went; nil where that was not kept
	Marks   []mark
	Views   []choice
	Block   *middleware.Replay // nil for whoever may not see what was said in sessions
	Asked   string             // the claim that was asked about
	Answer  *middleware.Explanation
	Heads   string // the answer
	Wrong   string // with the question
}

// turnPage shows one turn's receipt. The block itself may say where a session stands, so
// it takes the right to see what was said in sessions.
func turnPage(v *visit) error {
	id := v.r.PathValue("id")
	b := turnBody{Now: v.now(), Asked: claimNamed(v.text("claim"))}
	kept, err := v.keptTurn(&b, id)
	if err != nil {
		return noTurn(err)
	}
	b.Turn, b.Tone = kept.Record, modeTone(kept.Mode)
	b.Views = v.turnViews(id, "")
	if b.Asked != "" {
		if err := v.explain(&b); err != nil {
			return err
		}
	}
	err = v.withStore(func(s store.Engine) (err error) {
		b.Picture, err = v.picture(s, &b.Turn.Receipt, kept.Items, b.Turn.Used)
		return err
	})
	if err != nil {
		return err
	}
	b.Chars = contextParts(&b.Turn)
	b.Marks = marksOf(&b.Turn)
	return v.page("turn", page{Title: "Turn", Section: secTurns, Tab: "Live", Live: []string{liveTurns}, Body: &b})
}

// keptTurn is the turn with its items, and for an operator with its block.
func (v *visit) keptTurn(b *turnBody, id string) (middleware.KeptTurn, error) {
	if !v.operates() {
		return v.con.l.Turn(v.ctx(), v.owner(), id)
	}
	again, err := v.con.l.Replay(v.ctx(), v.owner(), id)
	b.Block = &again
	return again.Turn, err
}

// turnViews are the pages of a turn; here is the name of the one that it is for.
func (v *visit) turnViews(id, here string) []choice {
	if !v.operates() {
		return nil
	}
	out := []choice{{Name: "Receipt", Path: pathOf("turns", id)}, {Name: "Then and now", Value: "replay", Path: pathOf("turns", id, "replay")},
		{Name: "What if", Value: "whatif", Path: pathOf("turns", id, "whatif")}}
	for i := range out {
		out[i].Here = out[i].Value == here
	}
	return out
}

// claimNamed is the id of a claim, as it stands or at the end of an address.
func claimNamed(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "#")
	s, _, _ = strings.Cut(s, "?")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// explain answers why a claim was in the turn, or was not.
func (v *visit) explain(b *turnBody) error {
	e, err := v.con.l.Explain(v.ctx(), v.owner(), b.Turn.Turn, b.Asked)
	if err != nil {
		p := problemOf(err)
		if p.Status >= 500 {
			return err
		}
		b.Wrong = p.Msg + ". " + p.Try
		return nil
	}
	b.Answer, b.Heads = &e, verdictWords[e.Verdict]
	return nil
}

// contextParts are the characters that the model read, by where they come from.
func contextParts(r *receipt.Record) *drawing {
	b := r.Context
	if b == nil {
		return nil
	}
	return draw(chart.StackData{Title: "Where the characters went", Unit: "characters", Parts: []chart.Part{
		{Label: "system prompt", Value: float64(b.SystemPrompt), Note: "the client’s"},
		{Label: "history", Value: float64(b.History), Note: "what was said, and what tools printed"},
		{Label: "knowledge", Value: float64(b.Knowledge), Note: "of this turn’s block and those before it"},
		{Label: "memory", Value: float64(b.Memory), Note: "what is in every turn, and playbooks"},
		{Label: "session context", Value: float64(b.SessionContext), Note: "the last sessions, and where this one stands"}}}, chart.Stack)
}

// marksOf say in a word each what is remarkable about a turn.
func marksOf(r *receipt.Record) []mark {
	used, corrected := 0, 0
	for _, u := range r.Used {
		if u.Helped() {
			used++
		}
		if u.Corrected {
			corrected++
		}
	}
	return countMarks(corrected, len(r.Taint), len(r.Degraded), r.OverflowedConstraints, used)
}

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

// stageWords say what a stage of a turn does, or what a leg looks for.
var stageWords = map[string]string{
	"guard": "clean what is read", "intent": "read the question", "graph": "look at the code", "retrieve": "search", "budget": "fill the block",
	retriever.LegKeyword: "search by words", retriever.LegVector: "search by meaning", retriever.LegPinned: "what is in every turn",
	retriever.LegSessions: "the last sessions", retriever.LegPlaybooks: "playbooks that fit", retriever.LegStructure: "what is filed under its entities",
	retriever.LegLate: "found too late for the turn before", "store": "open the store", "middleware": "a middleware of the program",
	"recovery": "where the session stands", "objectives": "the objectives", "scorer": "the learned order", "lineage": "which turn it follows",
}

// fault is a stage that failed or was left out.
type fault struct{ Stage, Says, Why string }

// faults reads what a receipt says of them, "stage: why".
func faults(degraded []string) (out []fault) {
	for _, d := range degraded {
		stage, why, ok := strings.Cut(d, ": ")
		if !ok {
			stage, why = "", d
		}
		out = append(out, fault{stage, stageWords[stage], why})
	}
	return out
}

// cutWord says what a reason to leave something out means.
type cutWord struct {
	reason ken.CutReason
	says   string
}

// cutWords are all reasons, in the order of the page.
var cutWords = []cutWord{
	{ken.CutBudget, "did not fit into the block"},
	{ken.CutPool, "others bore on the question more"},
	{ken.CutFloor, "too little says that it bears on the question"},
	{ken.CutDuplicate, "the context held it already"},
	{ken.CutStatus, "disputed, superseded or a hypothesis: no turn gets that"},
	{ken.CutTier, "weaker than the agent’s weight admits"},
	{ken.CutTrust, "from somebody who is trusted too little"},
	{ken.CutScope, "outside the scopes or kinds of the turn"},
	{ken.CutExpired, "its time was over"},
	{ken.CutLate, "it came after the deadline"},
}

// stateWords say what became of an item since its turn; what is as it was says nothing.
var stateWords = map[middleware.ItemState]string{
	middleware.ItemChanged:   "perhaps changed since: these are its words now",
	middleware.ItemForgotten: "forgotten since",
	middleware.ItemMade:      "made for this turn",
}

// verdictWords head the answer to why a claim was there or not.
var verdictWords = map[middleware.Verdict]string{
	middleware.VerdictInjected: "It was given.", middleware.VerdictCut: "It was found and left out.", middleware.VerdictUnseen: "It was not found.",
	middleware.VerdictUnknown: "It was not there.", middleware.VerdictSilent: "Nothing was looked for.",
}

// mark is something about a turn or an item in a word, with the tone of it.
type mark struct{ Tone, Says string }

// useMarks say what the model's answer made of an item.
func useMarks(u ken.Use) (out []mark) {
	for _, m := range []struct {
		is   bool
		mark mark
	}{
		{u.Cited, mark{"success", "the answer cites it"}}, {u.Repeated, mark{"success", "the answer repeats it"}},
		{u.ToolOK, mark{"success", "a tool was called with it"}}, {u.Corrected, mark{"danger", "the person says it is wrong"}},
	} {
		if m.is {
			out = append(out, m.mark)
		}
	}
	return out
}

// modeTone is the tone of a mode.
func modeTone(m ken.Mode) string {
	switch m {
	case ken.ModeHybrid:
		return "success"
	case ken.ModeLate:
		return "warning"
	case ken.ModeNone:
		return ""
	}
	return "info"
}

// countMarks say in a word each what is remarkable about a turn, the worst first.
func countMarks(corrected, tainted, degraded, overflowed, used int) (out []mark) {
	for _, m := range []struct {
		n         int
		tone      string
		one, many string
	}{
		{corrected, "danger", "item corrected", "items corrected"}, {tainted, "danger", "tainted call", "tainted calls"},
		{overflowed, "danger", "rule did not fit", "rules did not fit"}, {degraded, "warning", "stage degraded", "stages degraded"},
		{used, "success", "item used", "items used"},
	} {
		if m.n > 0 {
			out = append(out, mark{m.tone, plural(m.n, m.one, m.many)})
		}
	}
	return out
}
