package middleware

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

// Replay reconstructs the block of one of the owner's turns as the model got it; "" means the
// configured owner. It uses the turn's receipt, the injected texts in the session's journal, and
// the claims as they were then. It runs no search. For a turn that was not injected it returns the
// block that would have been. It returns ErrNotFound if the turn has no receipt, or no longer has
// one.
func (l operator) Replay(ctx context.Context, owner, turn string) (inspect.Replay, error) {
	kept, err := l.Turn(ctx, owner, turn)
	if err != nil {
		return inspect.Replay{}, err
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return inspect.Replay{}, err
	}
	defer release()
	p := replayer{l: l.Layer, s: s, record: &kept.Record}
	if kept.Session != "" {
		p.session, err = l.Journal(owner).Read(ctx, kept.Session)
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return inspect.Replay{}, err
		}
	}
	out := inspect.Replay{Turn: kept}
	var items []budgeter.Kept
	for i := range kept.Items {
		it, ok, err := p.item(ctx, &kept.Items[i], kept.Record.Items[i])
		if err != nil {
			return inspect.Replay{}, err
		}
		if ok {
			items = append(items, it)
		} else {
			out.Missing = append(out.Missing, kept.Items[i].ID)
		}
	}
	proves := func(block string) bool { return receipt.HashBlock(kept.Turn, block) == kept.BlockHash }
	rewritten := budgeter.Rewrite(items, kept.OverflowedConstraints, kept.Chars,
		budgeter.Options{MaxItemChars: l.cfg.Budget.ItemChars, Show: showPlaybook}, proves)
	for _, i := range rewritten.Missing {
		out.Missing = append(out.Missing, items[i].Item.ID)
	}
	out.Block, out.Exact = rewritten.Text, rewritten.Proved || kept.Chars == 0 && len(kept.Items) == 0
	out.Why = inexactReason(&out)
	return out, nil
}

// inexactReason returns the reason why Exact is false; "" if it is true.
func inexactReason(r *inspect.Replay) string {
	switch {
	case r.Exact:
		return ""
	case len(r.Missing) == 1:
		return "the text of one item no longer exists: it was forgotten, or changed without a copy"
	case len(r.Missing) > 1:
		return fmt.Sprintf("the texts of %d items no longer exist: they were forgotten, or changed without a copy", len(r.Missing))
	case r.Turn.BlockHash == "":
		return "it can't be proved: the receipt has no hash of the block"
	}
	return "the text of an item has changed since, and the journal with the earlier text was deleted"
}

// replayer finds the texts of the items of one receipt.
type replayer struct {
	l       *Layer
	s       store.Engine
	record  *receipt.Record
	session session.Transcript // empty if there is no journal
}

// item returns an item with its text at the turn; false if the text no longer exists. lean is the
// item in the receipt.
func (p *replayer) item(ctx context.Context, now *inspect.Item, lean ken.Item) (k budgeter.Kept, ok bool, err error) {
	k = budgeter.Kept{Item: lean}
	if lean.Kind == "" || now.State == inspect.Forgotten && lean.Kind != ken.KindDocument { // the text in a journal must not be shown either
		return k, false, nil
	}
	k.Texts = p.injectedTexts(lean.ID)
	switch {
	case budgeter.Made(lean.Kind):
		p.restoreMade(&k)
	case lean.Kind == ken.KindDocument: // the receipt has its source and heading
		k.Item.Text = now.Text
	default:
		if k.Claim, err = p.claimAtTurn(ctx, &lean); err != nil || k.Claim == nil {
			return k, false, err
		}
		if lean.Kind == ken.KindDecision { // a turn may shorten a decision about its symbols
			for _, most := range []int{maxDecisionChars, maxNamedDecisionChars} {
				k.Texts = append(k.Texts, cutAtSentence(k.Claim.Text, most))
			}
		}
	}
	return k, true, nil
}

// injectedTexts returns the texts of an item in the session's journal, the one nearest in time to
// the turn first. The journal's times are those of the recorder, a moment after the turn.
func (p *replayer) injectedTexts(id string) (texts []string) {
	var of []session.Injection
	for _, in := range p.session.Injected {
		if in.ID == id {
			of = append(of, in)
		}
	}
	away := func(at time.Time) time.Duration { return at.Sub(p.record.At).Abs() }
	slices.SortStableFunc(of, func(a, b session.Injection) int {
		return cmp.Or(compareBool(a.At.After(p.record.At.Add(recordDelay)), b.At.After(p.record.At.Add(recordDelay))), cmp.Compare(away(a.At), away(b.At)))
	})
	for _, in := range of {
		texts = append(texts, in.Text)
	}
	return texts
}

// recordDelay is how long after a turn its messages are usually in the journal.
const recordDelay = time.Second

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// restoreMade completes an item that was made for the turn and is in no store.
func (p *replayer) restoreMade(k *budgeter.Kept) {
	switch it := &k.Item; it.Kind {
	case budgeter.KindSymbol:
		if base := p.l.code.base; base != nil {
			if c, ok := p.l.code.cards.get(base.View(), it.ID); ok {
				it.Source, it.Heading, it.Text = c.item.Source, c.item.Heading, c.item.Text
			}
		}
	case budgeter.KindObjectives:
		it.Source, it.Heading = p.l.cfg.Objectives.Folder, objectivesHeading
	case budgeter.KindCheckpoint:
		it.Source, it.Heading = checkpointSource(p.record.Session), checkpointHeading
		if cp := p.session.Checkpoint; cp != nil {
			k.Texts = append(k.Texts, cp.Text(recoveryChars))
			bare := *cp
			bare.Constraints = nil // see decideRecovery
			k.Texts = append(k.Texts, bare.Text(recoveryChars))
		}
	}
}

// claimAtTurn returns a claim as it was at the turn; nil if it no longer exists. The text of a
// claim changes only when the claim is written again, and the log has both versions.
func (p *replayer) claimAtTurn(ctx context.Context, it *ken.Item) (*ken.Claim, error) {
	c, err := p.l.claimOfItem(ctx, p.s, it)
	if errors.Is(err, ken.ErrNotFound) {
		if d, ok := p.l.fileDecision(it.ID); ok {
			return &d, nil
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if it.Owner == "" && c.UpdatedAt.After(p.record.At) { // the logs of other owners are private
		if c, err = p.versionAtTurn(ctx, c); err != nil {
			return nil, err
		}
	}
	if c.Kind == ken.KindEntity {
		if shown, err := taskReminder(c, p.record.At); err == nil {
			c = shown
		}
	}
	return &c, nil
}

// versionAtTurn returns the claim's version at the turn from the log. If the claim was not written
// again since, that is the current one.
func (p *replayer) versionAtTurn(ctx context.Context, c ken.Claim) (ken.Claim, error) {
	events, err := p.s.History(ctx, c.ID)
	if err != nil {
		return c, err
	}
	var seq uint64 // the event of the version at the turn
	since := false
	for i := range events {
		ev := &events[i]
		if ev.Seq == 0 || ev.Type != ken.EventWritten && ev.Type != ken.EventRevised {
			continue
		}
		if since = ev.At.After(p.record.At); since {
			break
		}
		seq = ev.Seq
	}
	if !since || seq == 0 {
		return c, nil
	}
	for ev, err := range p.s.Events(ctx, seq) {
		if err != nil {
			return c, err
		}
		said, err := ev.Decode()
		if err != nil || ev.Seq != seq || len(said.Claim) == 0 {
			return c, err
		}
		var then ken.Claim
		if err := json.Unmarshal(said.Claim, &then); err != nil {
			return c, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read the claim of event %d", seq), Err: err}
		}
		return then, nil
	}
	return c, nil
}

// TurnAsked returns one of the owner's turns as the client sent it, so that it can be tried again;
// "" means the configured owner. Its messages come from the session's journal, up to the user's
// message. Project, agent, model and branch come from its receipt. The scopes are the session's
// last ones. The weight is not stored and is the default.
//
// A journal has no system prompt and no reasoning, and truncates long messages. It may have
// messages that the client dropped from the conversation, and lacks forgotten ones.
//
// TurnAsked returns ErrNotFound for a turn without a receipt or a session, and if the messages no
// longer exist.
func (l operator) TurnAsked(ctx context.Context, owner, turn string) (ken.Turn, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return ken.Turn{}, err
	}
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return ken.Turn{}, err
	}
	if rec.Session == "" {
		return ken.Turn{}, &ken.Error{Code: ken.CodeNotFound, Field: "session", Msg: "the turn had no session, so its messages were not stored",
			Try: "Name the session in requests, and journal it: see middleware.journal."}
	}
	tr, err := l.Journal(owner).Read(ctx, rec.Session)
	if errors.Is(err, ken.ErrNotFound) {
		return ken.Turn{}, errMessagesGone()
	}
	if err != nil {
		return ken.Turn{}, err
	}
	last, ok := userMessageOf(tr.Entries, &rec)
	if !ok {
		return ken.Turn{}, errMessagesGone()
	}
	t := ken.Turn{ID: rec.Turn, Owner: l.ownerOrDefault(owner), Session: rec.Session, Project: rec.Project, Agent: rec.Agent, Model: rec.Model,
		Branch: rec.Branch, Scopes: tr.Info.Scopes, Messages: make([]ken.Message, last+1)}
	for i := range t.Messages {
		t.Messages[i] = tr.Entries[i].Message
	}
	return t, nil
}

func errMessagesGone() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "turn", Msg: "the messages of that turn were deleted or never stored",
		Try: "Take a newer turn: messages are deleted some time after their session was harvested, and by ken forget."}
}

// userMessageOf returns the index of the user message that a turn answered; false if it no longer
// exists.
func userMessageOf(entries []session.Entry, rec *receipt.Record) (at int, ok bool) {
	if rec.Through == 0 {
		return userMessageBefore(entries, rec)
	}
	want := rec.Through // positions have gaps only where messages were deleted
	for i := len(entries) - 1; i >= 0; i-- {
		switch e := &entries[i]; {
		case e.Seq > want:
		case e.Seq < want:
			return 0, false
		case e.Message.Role == "user":
			return i, true
		default:
			want--
		}
	}
	return 0, false
}

// userMessageBefore is userMessageOf for a receipt without a position in the journal. It returns
// the last user message at the time when the turn was recorded.
func userMessageBefore(entries []session.Entry, rec *receipt.Record) (at int, ok bool) {
	for i := len(entries) - 1; i >= 0; i-- {
		if e := &entries[i]; e.Message.Role == "user" && !e.At.After(rec.At.Add(recordDelay)) {
			return i, true
		}
	}
	return 0, false
}
