// Package engine holds internals that all stores share: which event a write appends to
// the log, how an event changes claims, and what a store serves to other processes.
package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// Lookup returns the current state of a claim during a fold; nil when there is none.
type Lookup func(id string) (*ken.Claim, error)

// Fold applies one event and returns the changed claims as new values. Live writes and
// rebuilds both use it. A forgotten claim is returned with an empty Text.
func Fold(get Lookup, ev *store.Event) ([]ken.Claim, error) {
	id := ev.Claim.String()
	p, err := ev.Decode()
	if err != nil || ev.Type == ken.EventLost {
		return nil, err
	}
	if ev.Erased() || ev.Type == ken.EventForgotten {
		return []ken.Claim{{ID: id}}, nil
	}
	if ev.Type == ken.EventWritten || ev.Type == ken.EventRevised {
		var c ken.Claim
		if err := json.Unmarshal(p.Claim, &c); err != nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read claim of event %d", ev.Seq), Err: err}
		}
		return []ken.Claim{c}, nil
	}
	prev, err := get(id)
	if err != nil || prev == nil {
		return nil, err
	}
	c := *prev
	if ev.Type == ken.EventAssigned {
		// UpdatedAt stays, because text and status are unchanged: periods that start
		// with it, such as the time until archiving, must not restart because somebody
		// files the claim.
		if p.Assignment == nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("event %d assigns nothing", ev.Seq)}
		}
		setFiled(&c, p.Assignment.Filed)
		return []ken.Claim{c}, nil
	}
	c.Evidence = MergeEvidence(prev.Evidence, p.Evidence)
	c.UpdatedAt = ev.At
	switch ev.Type {
	case ken.EventTransitioned:
		c.Status = p.To
	case ken.EventReinforced:
		c.Reinforcements++
		c.ReinforcedAt = ev.At
	case ken.EventArchived:
		c.ArchivedAt = ev.At
	case ken.EventSuperseded:
		c.Status, c.SupersededBy = ken.StatusSuperseded, p.Other
		next, err := get(p.Other)
		if err != nil || next == nil {
			return []ken.Claim{c}, err
		}
		n := *next
		n.Supersedes = id
		return []ken.Claim{c, n}, nil
	default:
		return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("event %d has unknown type %q", ev.Seq, ev.Type)}
	}
	return []ken.Claim{c}, nil
}

// MergeEvidence returns have followed by the new pieces in more. Pieces with the same
// kind and reference are merged: the newer one stays, at the position of the older one.
// The result shares no memory with its arguments.
func MergeEvidence(have, more []ken.Evidence) []ken.Evidence {
	out := slices.Clone(have)
	for _, e := range more {
		same := func(o ken.Evidence) bool { return o.Kind == e.Kind && o.Reference() == e.Reference() }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, e)
		case e.FetchedAt.After(out[i].FetchedAt):
			out[i] = e
		}
	}
	return out
}

// View returns an event as history entries of the claim with this id. The id is that of
// the event's own claim or, for a supersession, of the successor.
func View(ev *store.Event, id string) ([]ken.ClaimEvent, error) {
	p, err := ev.Decode()
	if err != nil {
		return nil, err
	}
	out := ken.ClaimEvent{Seq: ev.Seq, At: ev.At, Type: ev.Type, From: p.From, To: p.To, Reason: p.Reason,
		Evidence: p.Evidence, Other: p.Other, Actor: p.Actor, Erased: ev.Erased() && ev.Type != ken.EventForgotten}
	switch {
	case p.Assignment != nil:
		out.Reason = assignmentReason(p.Assignment)
	case len(p.Claim) > 0:
		var c ken.Claim
		if err := json.Unmarshal(p.Claim, &c); err != nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: fmt.Sprintf("read claim of event %d", ev.Seq), Err: err}
		}
		out.To, out.Evidence, out.Actor = c.Status, c.Evidence, c.Actor
	case ev.Type == ken.EventSuperseded && ev.Claim.String() != id:
		out.From, out.To, out.Other, out.Reason = "", "", ev.Claim.String(), "supersedes"
	}
	return append(slices.Clone(p.Prior), out), nil
}

// IndexTerms returns the words, other than heading and text, by which a claim is found:
// tags, entities, domain, aspect, and twice the names that its code defines.
func IndexTerms(c *ken.Claim) []string {
	terms := slices.Concat(c.Tags, c.Entities)
	for _, w := range []string{c.Domain, c.Aspect} {
		if w != "" {
			terms = append(terms, w)
		}
	}
	defined := analysis.Definitions(c.Text)
	return slices.Concat(terms, defined, defined)
}

// GlanceOf returns the glance of a claim.
func GlanceOf(c *ken.Claim) store.Glance {
	return store.Glance{Confidence: c.Confidence, SupersededBy: c.SupersededBy, Archived: !c.ArchivedAt.IsZero(), Candidate: c.RuleCandidate, Expires: !c.ExpiresAt.IsZero()}
}
