package console

import (
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/console/chart"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
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
