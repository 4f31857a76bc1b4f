package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// The commands below decide what a write means for the claims as they are: they
// check, and return the event to append, or nil when nothing changes. They read
// through get and change nothing (an event's time is when it was logged), so a store can run many in one transaction
// and let one fail alone.

// WriteCommand decides a WriteClaim. c has passed Prepare. byKey finds the id of
// the claim that holds a key, "" for none. prior is the life that an imported claim
// had elsewhere. A known key with other content revises that
// claim, keeping its id and links, and with the same text its status and evidence
// too: other words nobody has verified. A known id must carry the same content. What
// rests on what an external source says is a rule only if an operator made it one:
// otherwise it stays a claim.
func WriteCommand(get Lookup, byKey func(key string) (string, error), c ken.Claim, prior []ken.ClaimEvent, env Env) (string, *Event, error) {
	for i := range prior {
		prior[i].Reason, prior[i].Evidence = Clean(prior[i].Reason), cleanEvidence(prior[i].Evidence, env.Now())
		prior[i].At = NotAhead(prior[i].At, env.Now())
	}
	tame(&c, prior)
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
	standing(&c, env.Now())
	ev, err := newEvent(ken.EventWritten, &c, Payload{Prior: prior}, env)
	return c.ID, ev, err
}

func revise(get Lookup, id string, c ken.Claim, env Env) (string, *Event, error) {
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
		// What was found out about the statement since still holds for it.
		c.Status, c.Evidence = have.Status, MergeEvidence(have.Evidence, c.Evidence)
		if !have.Constraint {
			tame(&c, nil) // of its evidence together
		}
	} else {
		if have.Status == ken.StatusSuperseded {
			c.Status = have.Status
		}
		assign(&c, env)
	}
	c.Reinforcements, c.ReinforcedAt = have.Reinforcements, have.ReinforcedAt
	c.ArchivedAt = have.ArchivedAt
	standing(&c, env.Now())
	if at.Before(have.UpdatedAt) {
		c.UpdatedAt = have.UpdatedAt
	}
	ev, err := newEvent(ken.EventRevised, &c, Payload{}, env)
	return id, ev, err
}

// same compares what a source says: not identity, times, or what became of the
// claim since. Evidence that the claim gathered later doesn't count either.
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

// TransitionCommand decides a Transition.
func TransitionCommand(get Lookup, t ken.Transition, env Env) (*Event, error) {
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
	return newEvent(ken.EventTransitioned, c, Payload{From: c.Status, To: t.To,
		Reason: Clean(t.Reason), Evidence: cleanEvidence(t.Evidence, env.Now()), Actor: t.Actor}, env)
}

// SupersedeCommand decides a Supersede. Nil and no error: it was so already.
func SupersedeCommand(get Lookup, oldID, newID, reason string, actor ken.Actor, env Env) (*Event, error) {
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
	seen := map[string]bool{}                                // imported links may go in a circle
	for at := next; at.SupersededBy != "" && !seen[at.ID]; { // a circle would leave no claim standing
		seen[at.ID] = true
		if at.SupersededBy == old.ID {
			return nil, &ken.Error{Code: ken.CodeRefused, Field: "new", Msg: "claim " + next.ID + " was itself superseded by " + old.ID,
				Try: "Supersede with a claim that still stands."}
		}
		if at, err = get(at.SupersededBy); err != nil || at == nil {
			break
		}
	}
	if err := ken.CheckTransition(old.Status, ken.StatusSuperseded, ""); err != nil {
		return nil, err
	}
	return newEvent(ken.EventSuperseded, old, Payload{From: old.Status, To: ken.StatusSuperseded, Other: next.ID,
		Reason: Clean(reason), Actor: actor}, env)
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

func newEvent(typ ken.EventType, c *ken.Claim, p Payload, env Env) (*Event, error) {
	id, err := uuid.Parse(c.ID)
	if err != nil {
		return nil, err
	}
	if typ == ken.EventWritten || typ == ken.EventRevised {
		if p.Claim, err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	ev := &Event{At: env.Now().UTC(), Type: typ, Claim: id}
	if ev.Payload, err = json.Marshal(&p); err != nil {
		return nil, err
	}
	rand.Read(ev.Salt[:]) // never fails
	return ev, nil
}

// SalvageEvent is what a rebuild appends for a claim of which the log lost events: the
// claim as its row has it.
func SalvageEvent(c *ken.Claim, env Env) (*Event, error) {
	return newEvent(ken.EventRevised, c, Payload{Reason: "taken from its row, because events of it were damaged", Actor: ken.Actor{Type: "system", ID: "ken"}}, env)
}

// ReinforceCommand decides that a claim was seen again: its evidence grows, or is
// refreshed, and its status stays. A claim that no longer stands is refused.
func ReinforceCommand(get Lookup, id string, evidence []ken.Evidence, actor ken.Actor, env Env) (*Event, error) {
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
	return newEvent(ken.EventReinforced, c, Payload{Evidence: cleanEvidence(evidence, env.Now()), Actor: actor}, env)
}

// ArchiveCommand decides that a claim which no longer stands is put away: it keeps
// its place in the log and the indexes, which every default recall leaves out
// already. Nil and no error: it was so already. A claim that may still be recalled
// is refused.
func ArchiveCommand(get Lookup, id, reason string, actor ken.Actor, env Env) (*Event, error) {
	c, err := must(get, id, "id")
	if err != nil || !c.ArchivedAt.IsZero() {
		return nil, err
	}
	why := over(c, env.Now())
	if why == "" {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: "a claim that is " + string(c.Status) + " and has not expired can't be archived",
			Try: "Supersede it with the claim that replaces it, or dispute it."}
	}
	if reason == "" {
		reason = why
	}
	return newEvent(ken.EventArchived, c, Payload{Reason: Clean(reason), Actor: actor}, env)
}

// over says why a claim no longer stands, and "" when it may.
func over(c *ken.Claim, now time.Time) string {
	switch {
	case c.Status == ken.StatusSuperseded:
		return "superseded"
	case c.Expired(now):
		return "expired"
	}
	return ""
}

// standing takes a claim that stands out of the archive.
func standing(c *ken.Claim, now time.Time) {
	if over(c, now) == "" {
		c.ArchivedAt = time.Time{}
	}
}

// ForgetCommand decides that a claim is forgotten: the tombstone says when, by
// whom and why, and nothing of what the claim said.
func ForgetCommand(get Lookup, id, reason string, actor ken.Actor, env Env) (*Event, error) {
	c, err := must(get, id, "id")
	if err != nil {
		return nil, err
	}
	return newEvent(ken.EventForgotten, c, Payload{From: c.Status, Reason: Clean(reason), Actor: actor}, env)
}

// Clone returns a claim that shares no memory with c that a caller could change.
func Clone(c *ken.Claim) ken.Claim {
	out := *c
	out.Body = slices.Clone(c.Body)
	out.Tags = slices.Clone(c.Tags)
	out.Entities = slices.Clone(c.Entities)
	out.Evidence = slices.Clone(c.Evidence)
	for i, e := range out.Evidence {
		if e.ExitCode != nil {
			code := *e.ExitCode
			out.Evidence[i].ExitCode = &code
		}
	}
	return out
}
