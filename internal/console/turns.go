package console

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// turnError returns the error of a page for a turn that does not exist.
func turnError(err error) error {
	if e, ok := errors.AsType[*ken.Error](err); ok && e.Code == ken.CodeNotFound && e.Field == "turn" && e.Msg != "" {
		return &ken.Error{Code: ken.CodeNotFound, Msg: "there is no receipt of that turn",
			Try: "Look for it in the list of turns: the newest are kept, and those of forgotten sessions are gone."}
	}
	return err
}

type turnRead struct{ err error }

// catchUpTurns updates the ledger from the receipts, as far as that is possible within a
// moment. Usually that is all; for the first page after the start it may take seconds. unread
// says what could not be read and is missing.
func (v *visit) catchUpTurns() (unread []string, err error) {
	owner := v.owner()
	c := v.con.turnReads.get(v, owner, alwaysStale, func(ctx context.Context, _ *turnRead) *turnRead {
		return &turnRead{v.con.turns.Catch(ctx, owner, v.con.layer.Operator().Receipts(owner))}
	})
	if c == nil || errors.Is(c.err, context.Canceled) {
		return nil, v.ctx().Err()
	}
	return splitCorrupt(c.err)
}

type turnBody struct {
	Now          time.Time
	Turn         receipt.Record
	Tone         string // tone of the mode
	View         receiptView
	Chars        *drawing // the context's characters by source; nil if not recorded
	Marks        []badge
	Views        []choice
	SeesMessages bool            // the visitor may see the messages
	Question     *session.Entry  // the question; nil if it is not stored
	Reply        *session.Entry  // the answer; nil if it is not stored
	NoBlock      string          // why there is no block
	Block        *inspect.Replay // nil if the visitor may not see the session's messages
	Asked        string          // the claim that the visitor asks about
	Answer       *inspect.Explanation
	AnswerTitle  string // heading of the answer
	Invalid      string // error of the query
}

// turnPage shows one turn's receipt. The block may contain the session's state, so it is only
// shown to visitors who may see the session's messages.
func turnPage(v *visit) error {
	id := v.r.PathValue("id")
	b := turnBody{Now: v.now(), Asked: claimNamed(v.param("claim"))}
	kept, err := v.keptTurn(&b, id)
	if err != nil {
		return turnError(err)
	}
	b.Turn, b.Tone = kept.Record, modeTone(kept.Mode)
	if err := v.addExchange(&b); err != nil {
		return err
	}
	b.Views = v.turnViews(id, "")
	if b.Asked != "" {
		if err := v.explain(&b); err != nil {
			return err
		}
	}
	err = v.withStore(func(s store.Engine) (err error) {
		b.View, err = v.receiptView(s, &b.Turn.Receipt, kept.Items, b.Turn.Used)
		return err
	})
	if err != nil {
		return err
	}
	b.Chars = contextParts(&b.Turn)
	b.Marks = turnBadges(&b.Turn)
	return v.page("turn", page{Title: "Turn", Section: secTurns, Tab: "Live", Live: []string{liveTurns}, Body: &b})
}

// keptTurn returns the turn with its items, and with its block if the visitor may see the
// messages.
func (v *visit) keptTurn(b *turnBody, id string) (inspect.Turn, error) {
	kept, err := v.con.layer.Operator().Turn(v.ctx(), v.owner(), id)
	if err != nil {
		return kept, err
	}
	if b.SeesMessages = v.canSeeMessages(kept.Key); !b.SeesMessages {
		kept.Signals = ken.Signals{} // the words of the question
		return kept, nil
	}
	again, err := v.con.layer.Operator().Replay(v.ctx(), v.owner(), id)
	b.Block = &again
	return again.Turn, err
}

// addExchange adds the question and the answer, and why there is no block.
func (v *visit) addExchange(b *turnBody) error {
	t := &b.Turn
	if t.Chars == 0 {
		b.NoBlock = noBlockReason(t.Policy, t.Cause, len(t.Cut), ledger.MostCut(t.Cut))
	}
	if !b.SeesMessages {
		return nil
	}
	texts, err := v.con.layer.Operator().Journal(v.owner()).Exchanges(v.ctx(), []session.Place{{Session: t.Session, Through: t.Through}})
	if _, err = splitCorrupt(err); err != nil {
		return err
	}
	b.Question, b.Reply = texts[0].Question, texts[0].Answer
	return nil
}

// turnViews returns links to the pages of a turn; here is the current page.
func (v *visit) turnViews(id, here string) []choice {
	if !v.canOperate() {
		return nil
	}
	out := []choice{{Name: "Receipt", Path: pathOf("turns", id)}, {Name: "Then and now", Value: "replay", Path: pathOf("turns", id, "replay")},
		{Name: "What if", Value: "whatif", Path: pathOf("turns", id, "whatif")},
		{Name: "Save as a memory test", Value: "test", Path: pathOf("turns", id, "test")}}
	for i := range out {
		out[i].Here = out[i].Value == here
	}
	return out
}

// claimNamed returns the id of a claim, given as the id or as the address of its page.
func claimNamed(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "#")
	s, _, _ = strings.Cut(s, "?")
	return s[strings.LastIndexByte(s, '/')+1:]
}

// explain answers why a claim was in the turn, or was not.
func (v *visit) explain(b *turnBody) error {
	e, err := v.con.layer.Operator().Explain(v.ctx(), v.owner(), b.Turn.Turn, b.Asked)
	if err != nil {
		p := errorPageOf(err)
		if p.Status >= 500 {
			return err
		}
		b.Invalid = p.Msg + ". " + p.Try
		return nil
	}
	b.Answer, b.AnswerTitle = &e, verdictLabels[e.Verdict]
	return nil
}

// contextParts charts the characters that the model read, by source.
func contextParts(r *receipt.Record) *drawing {
	b := r.Context
	if b == nil {
		return nil
	}
	return draw(chart.StackData{Title: "Where the characters went", Unit: "characters", Parts: []chart.Part{
		{Label: "system prompt", Value: float64(b.SystemPrompt), Note: "the client’s"},
		{Label: "history", Value: float64(b.History), Note: "messages and results of tools"},
		{Label: "knowledge", Value: float64(b.Knowledge), Note: "of this turn’s block and those before it"},
		{Label: "memory", Value: float64(b.Memory), Note: "claims that are in every turn, and playbooks"},
		{Label: "session context", Value: float64(b.SessionContext), Note: "the last sessions, and the state of this one"}}}, chart.Stack)
}

func turnBadges(r *receipt.Record) []badge {
	used, corrected := 0, 0
	for _, u := range r.Used {
		if u.Helped() {
			used++
		}
		if u.Corrected {
			corrected++
		}
	}
	return countBadges(corrected, len(r.Taint), len(r.Degraded), r.OverflowedConstraints, used)
}

// stageLabels describes each stage of a turn and each source of a search.
var stageLabels = map[string]string{
	"guard": "clean the input", "intent": "read the question", "graph": "look at the code", "retrieve": "search", "budget": "fill the block",
	retriever.SourceKeyword: "search by words", retriever.SourceVector: "search by meaning", retriever.SourcePinned: "claims that are in every turn",
	retriever.SourceSessions: "the last sessions", retriever.SourcePlaybooks: "playbooks that fit", retriever.SourceStructure: "claims of its entities",
	retriever.SourceLate: "late results of the previous turn", "store": "open the store", "middleware": "a middleware of the program",
	"recovery": "the state of the session", "objectives": "the objectives", "scorer": "the learned order", "lineage": "which turn it follows",
}

// fault is a stage that failed or was skipped.
type fault struct{ Stage, Says, Why string }

// faults parses the degraded stages of a receipt, "stage: why".
func faults(degraded []string) (out []fault) {
	for _, d := range degraded {
		stage, why, ok := strings.Cut(d, ": ")
		if !ok {
			stage, why = "", d
		}
		out = append(out, fault{stage, stageLabels[stage], why})
	}
	return out
}

// cutLabel explains a reason for cutting an item.
type cutLabel struct {
	reason ken.CutReason
	says   string
}

// cutLabels lists all reasons, in the order of the page.
var cutLabels = []cutLabel{
	{ken.CutBudget, "did not fit into the block"},
	{ken.CutPool, "others matched the question better"},
	{ken.CutFloor, "too weak a match for the question"},
	{ken.CutDuplicate, "the context held it already"},
	{ken.CutStatus, "disputed, superseded or a hypothesis: no turn gets that"},
	{ken.CutTier, "too weak for the agent’s weight"},
	{ken.CutTrust, "from a source that is not trusted enough"},
	{ken.CutScope, "outside the scopes or kinds of the turn"},
	{ken.CutExpired, "it had expired"},
	{ken.CutLate, "it came after the deadline"},
}

// stateLabels describes the state of an item since its turn. An unchanged item has no label.
var stateLabels = map[inspect.State]string{
	inspect.Changed:   "perhaps changed since: this is its current text",
	inspect.Forgotten: "forgotten since",
	inspect.Made:      "made for this turn",
}

// verdictLabels are the headings of the answer to why a claim was there or not.
var verdictLabels = map[inspect.Verdict]string{
	inspect.Injected: "It was given.", inspect.Cut: "It was found and left out.", inspect.Unseen: "It was not found.",
	inspect.Unknown: "It was not there.", inspect.Silent: "Nothing was looked for.",
}

// badge is a short, coloured remark about a turn or an item.
type badge struct{ Tone, Says string }

// useBadges returns badges for how the model's answer used an item.
func useBadges(u ken.Use) (out []badge) {
	for _, m := range []struct {
		is   bool
		mark badge
	}{
		{u.Cited, badge{"success", "the answer cites it"}}, {u.Repeated, badge{"success", "the answer repeats it"}},
		{u.ToolOK, badge{"success", "a tool was called with it"}}, {u.Corrected, badge{"danger", "the person says it is wrong"}},
	} {
		if m.is {
			out = append(out, m.mark)
		}
	}
	return out
}

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

// countBadges returns badges for the counts that are not 0, the worst first.
func countBadges(corrected, tainted, degraded, overflowed, used int) (out []badge) {
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
			out = append(out, badge{m.tone, plural(m.n, m.one, m.many)})
		}
	}
	return out
}
