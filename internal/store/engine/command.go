package engine

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// The commands below decide what a write does. They check it and return the event to
// append, or nil when nothing changes. They read claims through get and change nothing.
// An event's time is the time at which it was logged. So a store can run many commands
// in one transaction, and one that fails doesn't affect the others.

// Write decides a WriteClaim. c must have passed Prepare. byKey returns the id of the
// claim with a key, "" for none. prior is the history of an imported claim. A write
// with a known key and other content revises that claim; the claim keeps its id and
// links. If the text is the same, it also keeps its status and evidence; a new text
// loses them, because nobody has verified it. A write with a known id must have the
// same content. A claim with only external evidence is a rule only if an operator made
// it one.
func Write(get Lookup, byKey func(key string) (string, error), c ken.Claim, prior []ken.ClaimEvent, env store.Env) (string, *store.Event, error) {
	for i := range prior {
		prior[i].Reason, prior[i].Evidence = clean.Text(prior[i].Reason), clean.Evidence(prior[i].Evidence, env.Now())
		prior[i].At = clean.NotAhead(prior[i].At, env.Now())
	}
	unmarkRule(&c, prior)
	if c.Key != "" {
		id, err := byKey(c.Key)
		if err != nil {
			return "", nil, err
		}
		if id != "" {
			return revise(get, id, c, env)
		}
	}
	have, err := get(c.ID)
	if err != nil {
		return "", nil, err
	}
	if have != nil {
		if keepFiled(have, &c); same(have, &c) {
			return c.ID, nil, nil
		}
		return "", nil, &ken.Error{Code: ken.CodeExists, Field: "id", Msg: "claim " + c.ID + " exists with other content",
			Try: "Leave id out to write a new claim, or supersede the old one."}
	}
	assign(&c, env)
	unarchiveActive(&c, env.Now())
	ev, err := newEvent(ken.EventWritten, &c, store.Payload{Prior: prior}, env)
	return c.ID, ev, err
}

func revise(get Lookup, id string, c ken.Claim, env store.Env) (string, *store.Event, error) {
	have, err := get(id)
	if err != nil {
		return "", nil, err
	}
	if have == nil {
		return id, nil, nil
	}
	if keepFiled(have, &c); same(have, &c) {
		return id, nil, nil
	}
	at := c.UpdatedAt
	c.ID, c.CreatedAt = have.ID, have.CreatedAt
	c.Supersedes, c.SupersededBy = have.Supersedes, have.SupersededBy
	if c.Text == have.Text {
		// Evidence and status gathered since then still hold for the same text.
		c.Status, c.Evidence = have.Status, MergeEvidence(have.Evidence, c.Evidence)
		if !have.Constraint {
			unmarkRule(&c, nil) // by the merged evidence
		}
	} else {
		if have.Status == ken.StatusSuperseded {
			c.Status = have.Status
		}
		assign(&c, env)
	}
	c.Reinforcements, c.ReinforcedAt = have.Reinforcements, have.ReinforcedAt
	c.ArchivedAt = have.ArchivedAt
	unarchiveActive(&c, env.Now())
	if at.Before(have.UpdatedAt) {
		c.UpdatedAt = have.UpdatedAt
	}
	ev, err := newEvent(ken.EventRevised, &c, store.Payload{}, env)
	return id, ev, err
}

// same compares the content that a source provides. It ignores identity, times, and
// later changes of status, links and evidence.
func same(have, c *ken.Claim) bool {
	bare := func(c *ken.Claim) []byte {
		b := *c
		b.ID, b.Status, b.Supersedes, b.SupersededBy, b.Reinforcements = "", "", "", "", 0
		b.CreatedAt, b.UpdatedAt, b.ReinforcedAt, b.ArchivedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		b.Evidence = nil
		out, err := json.Marshal(&b)
		if err != nil {
			return nil
		}
		return out
	}
	a, b := bare(have), bare(c)
	return a != nil && bytes.Equal(a, b) && len(MergeEvidence(have.Evidence, c.Evidence)) == len(have.Evidence)
}

// Transition decides a Transition.
func Transition(get Lookup, t ken.Transition, env store.Env) (*store.Event, error) {
	c, err := must(get, t.ID, "id")
	if err != nil {
		return nil, err
	}
	if err := ken.CheckTransition(c.Status, t.To, t.Reason); err != nil {
		return nil, err
	}
	for _, e := range t.Evidence {
		if err := e.Validate(); err != nil {
			return nil, err
		}
	}
	return newEvent(ken.EventTransitioned, c, store.Payload{From: c.Status, To: t.To,
		Reason: clean.Text(t.Reason), Evidence: clean.Evidence(t.Evidence, env.Now()), Actor: t.Actor}, env)
}

// Supersede decides a Supersede. It returns nil and no error if the claim is already
// superseded by newID.
func Supersede(get Lookup, oldID, newID, reason string, actor ken.Actor, env store.Env) (*store.Event, error) {
	old, err := must(get, oldID, "old")
	if err != nil {
		return nil, err
	}
	next, err := must(get, newID, "new")
	if err != nil {
		return nil, err
	}
	if old.ID == next.ID {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "new", Msg: "a claim can't supersede itself", Try: "Name the claim that replaces it."}
	}
	if old.SupersededBy == next.ID {
		return nil, nil
	}
	seen := map[string]bool{}                                // imported links may form a cycle
	for at := next; at.SupersededBy != "" && !seen[at.ID]; { // a cycle would leave no active claim
		seen[at.ID] = true
		if at.SupersededBy == old.ID {
			return nil, &ken.Error{Code: ken.CodeRefused, Field: "new", Msg: "claim " + next.ID + " was itself superseded by " + old.ID,
				Try: "Supersede it with a claim that is valid."}
		}
		if at, err = get(at.SupersededBy); err != nil || at == nil {
			break
		}
	}
	if err := ken.CheckTransition(old.Status, ken.StatusSuperseded, ""); err != nil {
		return nil, err
	}
	return newEvent(ken.EventSuperseded, old, store.Payload{From: old.Status, To: ken.StatusSuperseded, Other: next.ID,
		Reason: clean.Text(reason), Actor: actor}, env)
}

func must(get Lookup, id, field string) (*ken.Claim, error) {
	u, err := uuid.Parse(id)
	if err == nil {
		var c *ken.Claim
		if c, err = get(u.String()); err != nil || c != nil {
			return c, err
		}
	}
	return nil, &ken.Error{Code: ken.CodeNotFound, Field: field, Msg: "no claim " + id,
		Try: "List claims with ken recall, or check the owner."}
}

func newEvent(typ ken.EventType, c *ken.Claim, p store.Payload, env store.Env) (*store.Event, error) {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return nil, err
	}
	if typ == ken.EventWritten || typ == ken.EventRevised {
		if p.Claim, err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	ev := &store.Event{At: env.Now().UTC(), Type: typ, Claim: id}
	if ev.Payload, err = json.Marshal(&p); err != nil {
		return nil, err
	}
	rand.Read(ev.Salt[:]) // never fails
	return ev, nil
}

// Salvage returns the event that a rebuild appends for a claim if the log lost some of
// its events: the claim as in its row.
func Salvage(c *ken.Claim, env store.Env) (*store.Event, error) {
	return newEvent(ken.EventRevised, c, store.Payload{Reason: "taken from its row, because events of it were damaged", Actor: ken.Actor{Type: "system", ID: "ken"}}, env)
}

// Reinforce decides that a claim was observed again: its evidence is extended or
// refreshed, and its status stays. A claim that is no longer active is refused.
func Reinforce(get Lookup, id string, evidence []ken.Evidence, actor ken.Actor, env store.Env) (*store.Event, error) {
	c, err := must(get, id, "id")
	if err != nil {
		return nil, err
	}
	if c.Status == ken.StatusSuperseded || c.Status == ken.StatusDisputed {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "a " + string(c.Status) + " claim can't be reinforced",
			Try: "Verify it, if the dispute is settled, or write a new claim."}
	}
	for _, e := range evidence {
		if err := e.Validate(); err != nil {
			return nil, err
		}
	}
	return newEvent(ken.EventReinforced, c, store.Payload{Evidence: clean.Evidence(evidence, env.Now()), Actor: actor}, env)
}

// Archive decides that a claim that is no longer active is archived. It stays in the
// log and in the indexes; default recall excludes it already. It returns nil and no
// error if the claim is archived already. An active claim is refused.
func Archive(get Lookup, id, reason string, actor ken.Actor, env store.Env) (*store.Event, error) {
	c, err := must(get, id, "id")
	if err != nil || !c.ArchivedAt.IsZero() {
		return nil, err
	}
	why := inactiveReason(c, env.Now())
	if why == "" {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "a claim that is " + string(c.Status) + " and has not expired can't be archived",
			Try: "Supersede it with the claim that replaces it, or dispute it."}
	}
	reason = cmp.Or(reason, why)
	return newEvent(ken.EventArchived, c, store.Payload{Reason: clean.Text(reason), Actor: actor}, env)
}

// inactiveReason returns why a claim is no longer active; "" if it is active.
func inactiveReason(c *ken.Claim, now time.Time) string {
	switch {
	case c.Status == ken.StatusSuperseded:
		return "superseded"
	case c.Expired(now):
		return "expired"
	}
	return ""
}

// unarchiveActive removes an active claim from the archive.
func unarchiveActive(c *ken.Claim, now time.Time) {
	if inactiveReason(c, now) == "" {
		c.ArchivedAt = time.Time{}
	}
}

// Forget decides that a claim is forgotten. The tombstone says when, by whom and why,
// and contains nothing of the claim's text.
func Forget(get Lookup, id, reason string, actor ken.Actor, env store.Env) (*store.Event, error) {
	c, err := must(get, id, "id")
	if err != nil {
		return nil, err
	}
	return newEvent(ken.EventForgotten, c, store.Payload{From: c.Status, Reason: clean.Text(reason), Actor: actor}, env)
}
