package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// Verdict is what became of a claim in a turn.
type Verdict string

// Verdicts.
const (
	VerdictInjected Verdict = "injected" // it is in the block
	VerdictCut      Verdict = "cut"      // it was considered and left out
	VerdictUnseen   Verdict = "unseen"   // no leg found it
	VerdictUnknown  Verdict = "unknown"  // it was written after the turn, or forgotten before it
	VerdictSilent   Verdict = "silent"   // nothing was looked for in that turn
)

// Explanation says why a claim is in a turn's block, or why it is not, from the
// receipt of the turn and the claim's history.
type Explanation struct {
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Mode    ken.Mode  `json:"mode"`
	Cause   string    `json:"cause"` // why the mode is not the one configured
	Claim   string    `json:"claim"`

	Verdict Verdict       `json:"verdict"`
	Reason  ken.CutReason `json:"reason,omitempty"` // of a claim that was cut
	Detail  string        `json:"detail,omitempty"` // such as the item that it repeats
	Why     string        `json:"why"`              // in a sentence
	Try     string        `json:"try,omitempty"`    // what would change it

	// Status is the claim's at the time of the turn; "" for one that was not there, and
	// for a piece of the repository.
	Status   ken.Status `json:"status,omitempty"`
	Degraded []string   `json:"degraded,omitempty"` // what had failed in that turn
	Item     *KeptItem  `json:"item,omitempty"`     // of an injected claim
}

// Explain says why a claim, by its whole id, was injected in one of the owner's turns,
// or why not. It changes nothing and asks no leg again: what it says is what was known
// then. Errors: ErrNotFound for a turn without a receipt, and for an id that is neither
// in it nor the owner's.
func (l *Layer) Explain(ctx context.Context, owner, turn, claim string) (Explanation, error) {
	if err := l.recorder.flush(ctx); err != nil {
		return Explanation{}, err
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return Explanation{}, err
	}
	defer release()
	rec, err := l.Receipts(owner).Get(ctx, turn)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Turn: rec.Turn, At: rec.At, Session: rec.Session, Mode: rec.Mode, Cause: rec.Cause, Claim: claim, Degraded: rec.Degraded}
	x := explainer{rec: &rec, e: &e}
	then, err := lifeOf(ctx, s, claim, rec.At)
	if err != nil {
		return e, err
	}
	e.Status = then.status
	for i := range rec.Items {
		if rec.Items[i].ID != claim {
			continue
		}
		it, err := l.kept(ctx, s, &rec, i)
		if err != nil {
			return e, err
		}
		x.injected(&it, i, l.standing(ctx, s, &rec, &it))
		return e, nil
	}
	for i := range rec.Cut {
		if rec.Cut[i].ID == claim {
			x.cut(rec.Cut[i].Reason, rec.Cut[i].Detail)
			return e, nil
		}
	}
	if !then.known {
		return e, &ken.Error{Code: ken.CodeNotFound, Field: "claim", Msg: "no such claim, and the receipt does not name it",
			Try: "Give the whole id of a claim, as a recall shows it."}
	}
	x.absent(&then)
	return e, nil
}

// life is what is known of a claim at a moment.
type life struct {
	known     bool // the owner has it, or had it
	document  bool
	there     bool // at that moment
	forgotten bool // at that moment
	written   time.Time
	status    ken.Status
	expired   bool
}

// lifeOf reads a claim's history up to a moment.
func lifeOf(ctx context.Context, s store.Engine, id string, at time.Time) (life, error) {
	var l life
	if !isID(id) {
		return l, nil
	}
	c, err := s.Get(ctx, id)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return l, err
	}
	if here := err == nil; here {
		l.known, l.document = true, c.Kind == ken.KindDocument
		l.expired = c.Expired(at)
	}
	if l.document {
		l.there, l.written = !c.CreatedAt.After(at), c.CreatedAt
		return l, nil
	}
	events, err := s.History(ctx, id)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return l, err
	}
	for i := range events {
		ev := &events[i]
		if ev.Seq == 0 { // of the life that it had elsewhere
			continue
		}
		l.known = true
		if l.written.IsZero() {
			l.written = ev.At
		}
		if ev.At.After(at) {
			break
		}
		l.there = true
		if ev.Type == ken.EventForgotten {
			l.forgotten, l.there = true, false
		}
		if ev.To != "" {
			l.status = ev.To
		}
	}
	return l, nil
}

// isID reports whether an id can be a record's.
func isID(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.String() == id
}

// explainer words what a receipt says.
type explainer struct {
	rec *receipt.Record
	e   *Explanation
}
