package console

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

// settlement is a decision about items of some events.
type settlement struct {
	did    string            // of doings
	events []attention.Event // that it settles; nil for all
	do     func(v *visit, s store.Engine, it *attention.Item) error
}

// settlements are the decisions, by the last part of the address that a form goes to.
// Whom it is about is not in the form: an item's id stands for the claims as the person
// saw them.
var settlements = map[string]settlement{
	"dismiss": {"dismissed", nil, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Dismiss(v.ctx(), it.ID)
	}},
	"verify": {"verified", []attention.Event{attention.Disputed, attention.Unsure, attention.Superseded}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Vouch(v.ctx(), it.Claims[len(it.Claims)-1], v.written("note")) // of two, the one that stands now
	}},
	"correct": {"replaced", []attention.Event{attention.Disputed, attention.Unsure}, func(v *visit, s store.Engine, it *attention.Item) error {
		text := v.written("text")
		if text == "" {
			return &ken.Error{Code: ken.CodeInvalid, Field: "text", Msg: "there is nothing to replace it by", Try: "Write what is true instead."}
		}
		_, err := v.desk(s).Replace(v.ctx(), it.Claims[0], text, v.written("reason"))
		return err
	}},
	"discard": {"rejected", []attention.Event{attention.Unsure}, func(v *visit, s store.Engine, it *attention.Item) error {
		return v.desk(s).Reject(v.ctx(), it.Claims[0])
	}},
	"restore": {"restored", []attention.Event{attention.Superseded}, func(v *visit, s store.Engine, it *attention.Item) error {
		_, err := v.desk(s).Restore(v.ctx(), it.Claims[0], v.written("note"))
		return err
	}},
	"stand":   {"decided", []attention.Event{attention.Contradicts}, stand},
	"dispute": {"disputed", []attention.Event{attention.DisputeRequested, attention.Superseded}, dispute},
	"write":   {"written", []attention.Event{attention.Rejected}, writeRefused},
}

// settle carries out a decision about an item and goes back to the queue: the item is
// gone from it then, or another one.
func settle(v *visit) error {
	what, ok := settlements[v.r.PathValue("what")]
	if !ok {
		return notHere
	}
	err := v.withStore(func(s store.Engine) error {
		it, err := v.waiting(s, v.r.PathValue("item"))
		if err != nil {
			return err
		}
		if what.events != nil && !slices.Contains(what.events, it.Event) {
			return &ken.Error{Code: ken.CodeInvalid, Msg: "this can't be decided so", Try: "Choose one of the buttons that it has."}
		}
		defer v.con.tallies.forget(s.Owner())
		return what.do(v, s, &it)
	})
	if err != nil {
		return err
	}
	back := v.back(Prefix + "attention")
	if strings.HasPrefix(back, Prefix+"attention/") { // the page of what is settled now
		back = Prefix + "attention"
	}
	return v.did(back, what.did)
}

// stand decides a contradiction for one of the two.
func stand(v *visit, s store.Engine, it *attention.Item) error {
	for i, id := range it.Claims {
		if id == v.text("claim") {
			return v.desk(s).Stand(v.ctx(), id, it.Claims[1-i], operator.Fate(v.text("fate")))
		}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "claim", Msg: "none of the two", Try: "Choose the one that stands."}
}

// dispute disputes what an agent asks to dispute, and of a supersession the claim that
// has replaced the other.
func dispute(v *visit, s store.Engine, it *attention.Item) error {
	return v.desk(s).Dispute(v.ctx(), it.Claims[len(it.Claims)-1], v.written("reason"))
}

// writeRefused writes on a person's word what an agent was not let write. The key keeps
// the form from writing it twice.
func writeRefused(v *visit, s store.Engine, it *attention.Item) error {
	c, err := ken.NewClaim(v.written("text"), ken.FromHumanAssertion(v.who.Name, v.now().UTC(), v.written("note")))
	if err != nil {
		return err
	}
	if path := v.written("file"); path != "" {
		e, err := v.fileEvidence(path)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	c.Key, c.Kind, c.Status = "attention:"+it.ID, ken.KindFact, ken.StatusObserved
	c.Owner, c.SourceType, c.Actor, c.Project, c.Importance = s.Owner(), "console", v.actor(), v.who.Project, 0.5
	if _, err := s.WriteClaim(v.ctx(), c); err != nil {
		return err
	}
	return v.desk(s).Dismiss(v.ctx(), it.ID)
}
