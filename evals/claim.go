package evals

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/store"
)

// epoch dates the first record of a set without dates.
var epoch = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)

// namespace keeps the ids of a measurement's claims apart from all others.
var namespace = uuid.MustParse("6d3c0a52-8f7b-5f0e-9d0b-7f1b6f1f4a11")

// clock dates the records of one owner. Sets give one time for a whole session or
// for its first record only; what follows was said a second later each.
type clock struct{ last time.Time }

func (c *clock) at(t time.Time) time.Time {
	if next := c.last.Add(time.Second); t.IsZero() || !c.last.IsZero() && t.Before(next) && next.Sub(t) < 24*time.Hour {
		t = next
		if c.last.IsZero() {
			t = epoch
		}
	}
	c.last = t
	return t
}

// incoming makes a claim of a record. The text stays as it is; who said it goes
// into Actor. The evidence is the message where there is a conversation, and the
// data set's record else: the same for every record of a set, so that tiers and
// trust, which a set knows nothing of, don't order anything. Ids follow from the
// record's, so that every run is the same.
func incoming(r *dataset.Record, when *clock) store.Incoming {
	id := uuid.NewSHA1(namespace, []byte(r.Conv+"\x00"+r.ID)).String()
	if r.Claim != nil {
		c := *r.Claim
		c.Owner = ""
		if c.ID == "" {
			c.ID = id
		}
		c.CreatedAt = when.exact(c.CreatedAt)
		return store.Incoming{Claim: c, Prior: r.Prior}
	}
	c := ken.Claim{ID: id, Key: r.ID, Kind: ken.KindFact, Heading: r.Heading, Text: r.Text, Status: ken.StatusObserved,
		Confidence: 1, Importance: 0.5, Session: cmp.Or(r.Session, r.Conv), Actor: actor(r), Source: r.Conv, SourceType: "import", CreatedAt: when.at(r.At)}
	if r.Conv != "" || r.Session != "" {
		c.Evidence = []ken.Evidence{ken.FromMessage(r.Session, r.ID, "")}
	} else {
		c.Evidence = []ken.Evidence{ken.FromArtifact(r.ID, "")}
	}
	return store.Incoming{Claim: c}
}

// exact keeps a claim's own time.
func (c *clock) exact(t time.Time) time.Time {
	if t.IsZero() {
		return c.at(t)
	}
	if t.After(c.last) {
		c.last = t
	}
	return t
}

// actor is who said it, as far as the set tells; a speaker without a role is a
// person.
func actor(r *dataset.Record) ken.Actor {
	a := ken.Actor{ID: r.Speaker}
	switch {
	case r.Role == "assistant":
		a.Type = "agent"
	case r.Role != "":
		a.Type = r.Role
	case r.Speaker != "":
		a.Type = "user"
	}
	return a
}
