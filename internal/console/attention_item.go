package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// attentionItemBody answers why something needs attention: what happened, what it is
// about, and who was told it since.
type attentionItemBody struct {
	Now   time.Time
	Item  attentionItem
	Past  []moment // of all its claims, the latest first
	Since []told   // turns that were shown one of the claims since it happened
	More  int      // turns that are not listed
	Least bool     // there may be more turns than were looked at
}

// moment is an entry of the history of one of several claims.
type moment struct {
	step
	Claim  string
	Letter string // of the claim, where there are several
	Cause  bool   // what the item is about
}

// told is a turn that was shown a claim.
type told struct {
	ledger.Turn
	Claim  string
	Letter string
}

// mostTold bounds the turns that are looked at for each claim.
const mostTold = 200

func attentionItemPage(v *visit) error {
	b := attentionItemBody{Now: v.now()}
	err := v.withStore(func(s store.Engine) error {
		it, err := v.waiting(s, v.r.PathValue("item"))
		if err != nil {
			return err
		}
		if b.Item, err = v.attentionItem(s, it); err != nil {
			return err
		}
		if err := v.past(s, &b); err != nil {
			return err
		}
		if !v.who.Can(access.Operate) { // turns are everybody's conversations
			return nil
		}
		return v.toldSince(&b)
	})
	if err != nil {
		return err
	}
	return v.page("attention_item", page{Title: "Why does this need attention?", Section: secReview, Tab: "Attention",
		Live: []string{liveAttention, liveClaims, liveTurns}, Body: b})
}

// waiting returns the item of an id, dismissed or not. An id names an item as it was:
// what was settled, and what has changed since, has it no more.
func (v *visit) waiting(s store.Engine, id string) (attention.Item, error) {
	for _, wait := range []time.Duration{v.con.o.Patience, decidedPatience} { // what is remembered may not have it yet
		items, _, _, err := v.queue(true, wait)
		if err != nil {
			return attention.Item{}, err
		}
		if i := slices.IndexFunc(items, func(i attention.Item) bool { return i.ID == id }); i >= 0 {
			return items[i], nil
		}
		v.con.tallies.forget(s.Owner())
	}
	return attention.Item{}, &ken.Error{Code: ken.CodeNotFound, Msg: "this is settled, or has changed since",
		Try: "Look at the queue: what still needs a decision is there as it is now."}
}

// past merges the histories of the item's claims.
func (v *visit) past(s store.Engine, b *attentionItemBody) error {
	for i := range b.Item.Sides {
		id := b.Item.Sides[i].Claim.ID
		events, err := s.History(v.ctx(), id)
		if err != nil {
			return err
		}
		for _, st := range steps(events) {
			b.Past = append(b.Past, moment{step: st, Claim: id, Letter: b.Item.Letter(i), Cause: st.At.Equal(b.Item.At)})
		}
	}
	slices.SortStableFunc(b.Past, func(x, y moment) int { return cmp.Or(y.At.Compare(x.At), cmp.Compare(y.Seq, x.Seq)) })
	for i := range b.Past {
		if m := &b.Past[i]; m.Cause && b.Item.Who == "" {
			b.Item.Who = nameOf(m.Actor)
		}
	}
	return nil
}

// Letter tells the claims of an item apart, where there are several.
func (i attentionItem) Letter(n int) string {
	if len(i.Sides) < 2 {
		return ""
	}
	return string(rune('A' + n))
}

// toldSince finds the turns that were shown one of the claims since it happened, as far
// as receipts are kept.
func (v *visit) toldSince(b *attentionItemBody) error {
	if _, err := v.remember(); err != nil {
		return err
	}
	for i := range b.Item.Sides {
		id := b.Item.Sides[i].Claim.ID
		turns, _ := v.con.turns.ShownIn(v.owner(), id, mostTold)
		n := 0
		for _, t := range turns {
			if !t.At.Before(b.Item.At) {
				b.Since = append(b.Since, told{Turn: t, Claim: id, Letter: b.Item.Letter(i)})
				n++
			}
		}
		b.Least = b.Least || n == mostTold
	}
	slices.SortStableFunc(b.Since, func(x, y told) int { return y.At.Compare(x.At) })
	b.More = max(len(b.Since)-mostShown, 0)
	b.Since = b.Since[:len(b.Since)-b.More]
	return nil
}

// Told is how many turns there were.
func (b attentionItemBody) Told() int { return len(b.Since) + b.More }

// CanVerify reports whether somebody can vouch for the nth claim of an item.
func (i attentionItem) CanVerify(n int) bool {
	return n < len(i.Sides) && i.Sides[n].Claim.Status != ken.StatusSuperseded
}

// InEveryTurn reports whether the item's claim is one that every turn gets.
func (i attentionItem) InEveryTurn() bool {
	return len(i.Sides) > 0 && operator.InMemory(i.Sides[0].Claim.Kind)
}
