package middleware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// taughtBy reports whether a session taught a claim, and whether only it did: it was the first to say
// it, no other session gave evidence, and no person approved it afterwards.
func taughtBy(c *ken.Claim, id string) (taught, only bool) {
	if id == "" {
		return false, false
	}
	taught, only = c.Session == id, c.Session == id
	// A statement that a person asked to remember in the session has a person's evidence from the start.
	vouched := c.Status == ken.StatusVerified || c.SourceType == "harvest"
	for _, e := range c.Evidence {
		switch {
		case e.SessionID == id:
			taught = true
		case e.SessionID != "", vouched && e.Kind == ken.EvidenceHumanAssertion && e.Speaker() == ken.TrustOperator:
			only = false
		}
	}
	return taught, only
}

// learned holds the claims that a session taught.
type learned struct {
	only     []ken.Claim         // the session alone taught them
	shared   []ken.Claim         // something else supports them, too
	replaced map[string][]string // ids of all replaced claims, by the id of the replacement
}

func findLearned(ctx context.Context, s store.Engine, id string) (learned, error) {
	out := learned{replaced: map[string][]string{}}
	for c, err := range s.Claims(ctx) {
		if err != nil {
			return out, fmt.Errorf("find what a session taught: %w", err)
		}
		if c.SupersededBy != "" {
			out.replaced[c.SupersededBy] = append(out.replaced[c.SupersededBy], c.ID)
		}
		switch taught, only := taughtBy(&c, id); {
		case c.Kind == ken.KindDocument:
		case only:
			out.only = append(out.only, c)
		case taught:
			out.shared = append(out.shared, c)
		}
	}
	return out, nil
}

// remaining returns the shared claims that are not erased, and those that an erased claim had replaced.
// rewritten are the ids of erased claims of which the rest is kept.
func (t *learned) remaining(erased, rewritten []string) (kept []ken.Claim, replaced []string) {
	kept = slices.DeleteFunc(slices.Clone(t.shared), func(c ken.Claim) bool { return slices.Contains(erased, c.ID) })
	for _, id := range erased {
		if !slices.Contains(rewritten, id) {
			replaced = append(replaced, t.replaced[id]...)
		}
	}
	return kept, slices.DeleteFunc(replaced, func(id string) bool { return slices.Contains(erased, id) })
}

// WouldForgetLearned returns what ForgetLearned would erase, and changes nothing.
func (l operator) WouldForgetLearned(ctx context.Context, owner, id string) (inspect.Blast, error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return inspect.Blast{}, err
	}
	defer release()
	d := l.sessionsOf(owner)
	all, err := findLearned(ctx, s, id)
	if err != nil {
		return inspect.Blast{}, err
	}
	if len(all.only)+len(all.shared) == 0 {
		if _, err := d.journal.Info(ctx, id); err != nil {
			return inspect.Blast{}, err
		}
	}
	out, err := l.blast(ctx, s, d, deletionScope{matcher: matcher.OfSession(id, all.only), roots: all.only, session: id})
	if err != nil {
		return out, err
	}
	var erased, rewritten []string
	for _, c := range out.Claims {
		erased = append(erased, c.ID)
		if c.Why == inspect.Redacted {
			rewritten = append(rewritten, c.ID)
		}
	}
	kept, replaced := all.remaining(erased, rewritten)
	for _, c := range kept {
		out.Kept = append(out.Kept, l.View(c))
	}
	for _, id := range replaced {
		c, err := s.Get(ctx, id)
		if err != nil {
			return out, err
		}
		out.Replaced = append(out.Replaced, l.View(c))
	}
	return out, nil
}

// ForgetLearned permanently erases everything that a session left: its messages, receipts and refused
// writes, and the claims that only it taught, with what was derived from them and all text that repeats
// them, as Forget does. id is the complete id; the session need not be in the journal any more.
//
// Claims that something else supports, too, are kept whole: a claim of another session or of a person,
// even if it says the same, and one that a person approved. Only episodes are rewritten without what repeats
// an erased claim, and claims without notes that do. A claim that an erased one had replaced does not stand again.
// The journal remembers that the session was there, so that it learns nothing when a client sends the
// same messages again.
//
// If it returns an error, another call with the same id continues, as with Forget. For a session that
// was forgotten before, it returns what was erased. It returns ErrNotFound for an unknown session.
func (l operator) ForgetLearned(ctx context.Context, owner, id, reason string, actor ken.Actor) (out Forgotten, err error) {
	s, release, err := l.storeWhenRecorded(ctx, owner)
	if err != nil {
		return out, err
	}
	defer release()
	if out, err = l.resumeLearned(ctx, s, id); err != nil {
		return out, err
	}
	l.judgeSession(ctx, owner, id, true)
	d := l.sessionsOf(owner)
	resume, err := d.harvester.Pause(ctx)
	if err != nil {
		return out, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer resume()
	if _, err := l.waitForOtherHarvests(ctx, d, id); err != nil {
		return out, err
	}
	e := &erasure{l: l.Layer, s: s, sessions: d, seq: s.Seq()}
	all, err := findLearned(ctx, s, id)
	if err != nil {
		return out, err
	}
	var rewritten []string
	defer func() {
		kept, replaced := all.remaining(out.Claims, rewritten)
		out.Kept, out.Replaced = idsOf(kept), replaced
	}()
	if len(all.only) == 0 {
		if _, err := d.journal.Info(ctx, id); err != nil && len(all.shared)+len(out.Claims) == 0 {
			return out, err
		}
		gone, err := e.eraseMessages(ctx, id)
		out.add(&gone)
		return out, err
	}
	e.matcher = matcher.OfSession(id, all.only)
	r, given, err := d.deletionScope(ctx, s, deletionScope{matcher: e.matcher, roots: all.only, session: id})
	if err != nil {
		return out, err
	}
	for i, reason := range r.reasons {
		if reason == inspect.Redacted {
			rewritten = append(rewritten, r.claims[i].ID)
		}
	}
	why := "session " + id + " is forgotten"
	if reason != "" {
		why += ": " + reason
	}
	for i := range all.only {
		l.Audit(owner, session.EventForget, &all.only[i], "", nil, actor)
	}
	switch err := e.begin(ctx, r, given, why, actor); {
	case errors.Is(err, errInProgress): // another process was faster
		resume()
		return l.resumeLearned(ctx, s, id)
	case err != nil:
		return out, err
	}
	gone, err := e.run(ctx)
	out.add(&gone)
	return out, err
}

// resumeLearned continues the erasures of what a session taught. It returns what was erased.
func (l operator) resumeLearned(ctx context.Context, s store.Engine, id string) (out Forgotten, err error) {
	out.Claims = []string{}
	var all []forgotten.Record
	err = s.Shelf().View(ctx, func(r store.ShelfReader) (err error) {
		all, err = forgotten.All(r)
		return err
	})
	for i := range all {
		if all[i].Session != id || err != nil {
			continue
		}
		var gone Forgotten
		gone, err = l.resumeForget(ctx, s, all[i].Claim)
		out.add(&gone)
	}
	return out, err
}

// eraseMessages erases what a session left besides claims.
func (e *erasure) eraseMessages(ctx context.Context, id string) (out Forgotten, err error) {
	said := map[string]bool{}
	t := (&deletionScope{matcher: matcher.OfSession(id, nil), session: id}).journalTraces(said)
	gone, err := e.sessions.journal.Expunge(ctx, t)
	out.Messages, out.Sessions = gone.Messages, gone.Sessions
	err = errors.Join(err, forgetSessions(ctx, e.sessions, slices.Sorted(maps.Keys(said))), forgetNotes(ctx, e.s, e.sessions, t))
	if err == nil {
		err = e.s.Compact(ctx)
	}
	if err == nil {
		out.Looked = []string{"claims", "journals", "checkpoints", "receipts", "attention", "free pages of the store"}
	}
	return out, err
}

// add adds what another erasure erased.
func (f *Forgotten) add(o *Forgotten) {
	f.Claims = append(f.Claims, o.Claims...)
	f.Redacted = append(f.Redacted, o.Redacted...)
	f.Messages += o.Messages
	f.Sessions = union(f.Sessions, o.Sessions)
	f.Given = append(f.Given, o.Given...)
	f.Files = union(f.Files, o.Files)
	if len(o.Looked) > len(f.Looked) {
		f.Looked = o.Looked
	}
	f.Pending += o.Pending
}
