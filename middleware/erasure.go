package middleware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// erasure is a Forget in progress. Its record is on the shelf from before the first claim is deleted until no file
// contains the text. So a later process can finish it after a crash or with a full disk. The order of the steps ensures
// that a session in progress does not write the text again:
//
//  1. Write the record, with fingerprints. From now on the shelf rejects texts that say the same.
//  2. Delete the claims and, in the same transactions, mark their ids. From now on the shelf rejects these ids.
//  3. Delete all other text on the shelf that matches, in rounds, until a round finds nothing.
//  4. Delete the text from the record, and rewrite the files.
type erasure struct {
	l        *Layer
	s        store.Engine
	sessions *ownerSessions
	record   forgotten.Record
	matcher  *matcher.Claim // nil once the record no longer holds the text
	seq      uint64         // the log's last event whose claims were examined
	out      Forgotten
}

// Bounds of an erasure.
const (
	// eraseRounds is the maximum number of additional rounds after one that found something.
	eraseRounds = 8
	// wordsKept is how long single words of a forgotten claim are recognized: longer than a
	// session that had the claim usually lasts.
	wordsKept = 7 * 24 * time.Hour
)

// errInProgress means that this process or another one has already begun the erasure.
var errInProgress = errors.New("the erasure has already begun")

// begin writes the record. It returns errInProgress if an unfinished one exists.
func (e *erasure) begin(ctx context.Context, r *deletionScope, given []forgotten.Given, reason string, actor ken.Actor) error {
	root := r.roots[0].ID
	e.record = forgotten.Record{Claim: root, Session: r.session, Also: r.ids()[1:], At: e.l.now().UTC(), Given: given,
		Pending: &forgotten.Pending{Claims: slices.Concat(r.roots, r.others), Roots: len(r.roots), Reason: reason, Actor: actor, Process: e.l.process}}
	return e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		key, err := forgotten.Key(tx)
		if err != nil {
			return err
		}
		if have, err := forgotten.Find(tx, root); err != nil {
			return err
		} else if have != nil && have.Pending != nil {
			return errInProgress
		}
		rec := e.record
		for i := range r.claims {
			rec.Prints, rec.Short = claimPrints(rec.Prints, rec.Short, key, &r.claims[i], r.reasons[i])
		}
		rec.Words = nil
		for _, w := range r.uniqueWords {
			rec.Words = append(rec.Words, forgotten.HashOf(key, w))
		}
		e.record = rec
		return forgotten.Put(tx, &rec)
	})
}

// claimPrints adds the fingerprints of a claim's text. It adds none for an episode that is rewritten without the
// forgotten part.
func claimPrints(have []forgotten.Print, short int, key []byte, c *ken.Claim, why string) ([]forgotten.Print, int) {
	if why == inspect.Redacted {
		return have, short
	}
	texts := []string{c.Text}
	if c.Kind != ken.KindEpisode { // an episode's details are the first and last words of its session
		for _, ev := range c.Evidence {
			if ev.Kind == ken.EvidenceMessage || ev.Kind == ken.EvidenceUserStatement {
				texts = append(texts, ev.Detail)
			}
		}
	}
	for _, text := range texts {
		more := forgotten.PrintsOf(key, text)
		if len(more) == 0 && text != "" {
			short++
		}
		for _, p := range more {
			if !slices.ContainsFunc(have, func(o forgotten.Print) bool { return slices.Equal(o.Hashes, p.Hashes) }) {
				have = append(have, p)
			}
		}
	}
	return have, short
}

// resumeForget continues an unfinished erasure. For a finished one it returns what was erased.
func (l *Layer) resumeForget(ctx context.Context, s store.Engine, id string) (Forgotten, error) {
	d := l.sessionsOf(s.Owner())
	resume, err := d.harvester.Pause(ctx)
	if err != nil {
		return Forgotten{}, fmt.Errorf("wait for a harvest to stop: %w", err)
	}
	defer resume()
	rec, err := l.takeOverErasure(ctx, s, id)
	if err != nil || rec == nil {
		return Forgotten{}, err
	}
	e := &erasure{l: l, s: s, sessions: d, record: *rec}
	if rec.Pending == nil {
		e.report()
		return e.out, nil
	}
	if len(rec.Pending.Claims) > 0 {
		if e.matcher = matcher.New(&rec.Pending.Claims[0]); rec.Session != "" {
			e.matcher = matcher.OfSession(rec.Session, rec.Pending.Claims[:rec.Pending.Roots])
		}
		if err := e.addRecipients(ctx); err != nil {
			return Forgotten{}, err
		}
	}
	return e.run(ctx)
}

// takeOverErasure makes this process responsible for an erasure and returns the erasure's record. It waits while
// another living process is responsible, because two processes would overwrite each other's record. The caller ensures
// that this process runs the erasure only once.
func (l *Layer) takeOverErasure(ctx context.Context, s store.Engine, id string) (rec *forgotten.Record, err error) {
	for {
		busy := false
		err := s.Shelf().Update(ctx, func(tx store.ShelfTx) (err error) {
			rec, err = forgotten.Find(tx, id)
			if err != nil || rec == nil || rec.Pending == nil {
				return err
			}
			if p := rec.Pending.Process; p != "" && p != l.process && l.isAlive(p) {
				busy = true
				return nil
			}
			rec.Pending.Process = l.process
			return forgotten.Put(tx, rec)
		})
		if err != nil || !busy {
			return rec, err
		}
		if err := pause(ctx, otherCheckEvery); err != nil {
			return nil, err
		}
	}
}

// addRecipients sets which sessions had the claims, so that the matcher recognizes single words in them.
func (e *erasure) addRecipients(ctx context.Context) error {
	turns, sessions, err := e.sessions.given(ctx, e.record.IDs()...)
	if err != nil {
		return err
	}
	for _, t := range append(turns, e.record.Given...) {
		sessions = append(sessions, t.Session)
	}
	return e.s.Shelf().View(ctx, func(r store.ShelfReader) error {
		gone, err := forgotten.In(r)
		if err == nil && len(e.record.Words) > 0 {
			e.matcher.SetRecipients(union(sessions, e.matcher.Recipients()), gone.Names)
		}
		return err
	})
}

// finishForgetting continues the erasures that an earlier process left unfinished, or that this one could not finish.
func (l *Layer) finishForgetting(ctx context.Context, owner string) error {
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return err
	}
	defer release()
	var todo []string
	var old []forgotten.Record
	err = s.Shelf().View(ctx, func(r store.ShelfReader) error {
		todo, old = forgotten.Unfinished(r), nil
		gone, err := forgotten.In(r)
		if err != nil || gone == nil {
			return err
		}
		old = gone.Worded(l.now().Add(-wordsKept))
		return nil
	})
	if err != nil {
		return err
	}
	var errs []error
	for i := range old {
		old[i].Words = nil
		errs = append(errs, s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return forgotten.Put(tx, &old[i]) }))
	}
	for _, id := range todo {
		rec, err := findForgotten(ctx, s, id)
		if err != nil || rec == nil || rec.Pending == nil {
			errs = append(errs, err)
			continue
		}
		if p := rec.Pending.Process; p != l.process && l.isAlive(p) {
			continue // that process continues it
		}
		_, err = l.resumeForget(ctx, s, id)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// run continues the erasure from the state in its record.
func (e *erasure) run(ctx context.Context) (Forgotten, error) {
	err := e.carryOut(ctx)
	e.report()
	if err == nil {
		return e.out, nil
	}
	e.out.Pending = err.Error()
	e.record.Pending.Failed, e.record.Pending.Process = e.out.Pending, ""
	_ = e.saveRecord(context.WithoutCancel(ctx)) // this fails too if the disk is full
	return e.out, &ken.Error{Code: ken.CodeUnavailable, Field: e.record.Claim, Msg: "forgotten, but not yet erased from every file", Err: err,
		Try: "Make room on the disk, or fix the cause. Ken continues in the background and when the store is opened next; ken forget " + e.record.Claim + " continues at once."}
}

// report fills in e.out with what was erased.
func (e *erasure) report() {
	e.out.Given = e.record.Given
	deletedBefore := e.out.Claims
	e.out.Claims = e.record.IDs()
	for _, id := range deletedBefore {
		if !slices.Contains(e.out.Claims, id) {
			e.out.Claims = append(e.out.Claims, id)
		}
	}
	if e.record.Pending == nil {
		e.out.Files = e.record.Files
		e.out.Sessions, e.out.Looked = e.record.Sessions, erasedPlaces
	}
}

// erasedPlaces lists the places that contain nothing after an erasure.
var erasedPlaces = []string{"claims", "history in the log", "keyword index", "vectors of every model", "journals", "injected texts", "checkpoints",
	"receipts", "attention", "running conversations", "generated evaluation sets", "MEMORY.md", "free pages of the store"}

// saveRecord writes the record to the shelf.
func (e *erasure) saveRecord(ctx context.Context) error {
	return e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error { return forgotten.Put(tx, &e.record) })
}

// carryOut erases in rounds until nothing is found, then compacts the store.
func (e *erasure) carryOut(ctx context.Context) error {
	for n := 0; e.matcher != nil; n++ {
		more, err := e.eraseRound(ctx)
		if err != nil {
			return err
		}
		if more && n < eraseRounds {
			continue
		}
		if err := e.eraseFiles(ctx); err != nil {
			return err
		}
		if err := e.l.forgetShared(ctx, e.s.Owner(), e.record.IDs(), e.matcher.MatchAny); err != nil {
			return fmt.Errorf("erase it where it was shared: %w", err)
		}
		e.matcher = nil
		e.record.DeletedAt = e.l.now().UTC()
		e.record.Sessions = union(e.record.Sessions, e.out.Sessions)
		e.record.Pending = &forgotten.Pending{Process: e.l.process}
		if err := e.saveRecord(ctx); err != nil {
			return fmt.Errorf("save the progress of the erasure: %w", err)
		}
	}
	if err := e.s.Compact(ctx); err != nil {
		return err
	}
	pending := e.record.Pending
	e.record.Pending = nil
	if err := e.saveRecord(ctx); err != nil {
		e.record.Pending = pending
		return fmt.Errorf("save that the erasure is complete: %w", err)
	}
	return nil
}

// union returns the strings of both, each once, sorted.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// eraseRound deletes everything found in one pass. It reports whether there may be more: a claim was written since, or
// a harvest of another process ended that had read the text.
func (e *erasure) eraseRound(ctx context.Context) (more bool, err error) {
	if err := e.forgetClaims(ctx); err != nil {
		return false, err
	}
	if err := e.addRecipients(ctx); err != nil { // more turns may have received it
		return false, err
	}
	running, err := e.l.otherHarvests(ctx, e.sessions, "")
	if err != nil {
		return false, err
	}
	ids := e.record.IDs()
	was := e.record.Pending.Claims
	r := e.scope()
	said := map[string]bool{}
	t := r.journalTraces(said)
	t.Claims = ids
	gone, err := e.sessions.journal.Expunge(ctx, t)
	e.out.Messages += gone.Messages
	e.out.Sessions = union(e.out.Sessions, gone.Sessions)
	if err := errors.Join(err, forgetSessions(ctx, e.sessions, slices.Sorted(maps.Keys(said)))); err != nil {
		return false, err
	}
	owner := e.s.Owner()
	e.l.recoveries.Drop(func(c conversationStart) bool { return c.owner == owner })
	e.l.conversationStarts.Drop(func(c conversationStart) bool { return c.owner == owner })
	e.l.sessionFocus.Drop(func(s sessionKey) bool { return s.owner == owner })
	e.l.judgements.dropOwner(e.s.Owner()) // turns that wait for a verdict hold texts of claims
	e.l.blocks.drop(containsForgotten(e.s.Owner(), ids, e.matcher))
	// A harvest of another process may have read the messages before they were deleted, and ended afterwards.
	waited, err := e.l.waitForOtherHarvests(ctx, e.sessions, "")
	if err != nil {
		return false, fmt.Errorf("wait for harvests of other processes: %w", err)
	}
	if err := errors.Join(forgetNotes(ctx, e.s, e.sessions, t), e.l.forgetUse(ctx, e.s.Owner(), ids), e.l.rewriteMemoryFile(ctx, e.s.Owner(), was)); err != nil {
		return false, err
	}
	found, err := e.addClaimsSince(ctx)
	if found {
		err = errors.Join(err, e.saveRecord(ctx))
	}
	if err != nil || found || waited || len(running) > 0 {
		return true, err
	}
	return e.anythingLeft(ctx, t)
}

// scope returns the scope of the claims that are known so far.
func (e *erasure) scope() *deletionScope {
	p := e.record.Pending
	return &deletionScope{matcher: e.matcher, session: e.record.Session, roots: p.Claims[:max(p.Roots, 1)], claims: p.Claims}
}

// addClaimsSince examines the claims that were written since the last pass. It adds those that say the same to the
// record and reports whether there were any.
func (e *erasure) addClaimsSince(ctx context.Context) (found bool, err error) {
	r := e.scope()
	if e.seq == 0 { // another process began the erasure; which claims it examined is unknown
		e.seq = e.s.Seq()
		if _, err := r.scan(ctx, e.s); err != nil {
			return false, err
		}
		e.addClaims(r.others)
		return len(r.others) > 0, nil
	}
	last := e.s.Seq()
	var matching []ken.Claim
	looked := map[string]bool{}
	for ev, err := range e.s.Events(ctx, e.seq+1) {
		if err != nil {
			return false, err
		}
		if ev.Seq > last {
			break
		}
		id := ev.Claim.String()
		if looked[id] {
			continue
		}
		looked[id] = true
		c, err := e.s.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if c.Kind != ken.KindDocument && r.takes(&c) {
			matching = append(matching, c)
		}
	}
	e.seq = last
	e.addClaims(matching)
	return len(matching) > 0, nil
}

// addClaims adds claims to those that the erasure deletes.
func (e *erasure) addClaims(more []ken.Claim) {
	for i := range more {
		if !slices.ContainsFunc(e.record.Pending.Claims, func(c ken.Claim) bool { return c.ID == more[i].ID }) {
			e.record.Pending.Claims = append(e.record.Pending.Claims, more[i])
			e.record.Also = append(e.record.Also, more[i].ID)
		}
	}
}

// anythingLeft searches the shelf and reports whether it still holds any of the traces.
func (e *erasure) anythingLeft(ctx context.Context, t session.Traces) (bool, error) {
	held, err := e.sessions.journal.Holds(ctx, t)
	if err != nil {
		return false, err
	}
	if held.Messages+len(held.Injected)+len(held.Checkpoint) > 0 {
		return true, nil
	}
	receipts, err := e.sessions.receipts.Holds(ctx, receipt.Traces{Claims: t.Claims, Text: t.Text}, nil)
	if err != nil && !errors.Is(err, ken.ErrCorrupt) || receipts > 0 {
		return receipts > 0, err
	}
	notes, err := attention.Holds(ctx, e.s.Shelf(), attention.Traces{Claims: t.Claims, Text: t.Text, Session: t.Session})
	return notes > 0, err
}

// forgetClaims deletes the claims, and rewrites episodes without the forgotten part.
func (e *erasure) forgetClaims(ctx context.Context) error {
	was, p := e.record.Pending.Claims, e.record.Pending
	for i := range was {
		c := &was[i]
		why := p.Reason
		_, taught := taughtBy(c, e.record.Session) // written since
		requested := i < max(p.Roots, 1) || taught
		if !requested {
			why = "same content as " + e.record.Claim
		}
		gone, err := e.s.Forget(store.EraseLater(ctx), c.ID, why, p.Actor)
		for _, id := range gone {
			if !slices.Contains(e.out.Claims, id) {
				e.out.Claims = append(e.out.Claims, id)
			}
			if !slices.Contains(e.record.IDs(), id) { // derived since the last pass
				e.record.Also = append(e.record.Also, id)
			}
		}
		if err != nil && !errors.Is(err, ken.ErrNotFound) { // it was deleted with another claim, or before
			return err
		}
		if requested {
			continue
		}
		if rest, ok := e.matcher.Redact(c); ok {
			id, err := e.s.WriteClaim(ctx, rest) // the key prevents a second copy
			if err != nil {
				return fmt.Errorf("rewrite an episode without the forgotten part: %w", err)
			}
			if !slices.Contains(e.out.Redacted, id) {
				e.out.Redacted = append(e.out.Redacted, id)
			}
		}
	}
	return nil
}
