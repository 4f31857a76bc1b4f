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

// erasure is a Forget in progress. Its record is on the shelf from before the first claim is
// deleted until no file has the text, so that a later process can finish it after a crash or a
// full disk. The order of the steps keeps a busy session from bringing anything back:
//
//  1. Write the record, with fingerprints. From now on the shelf accepts nothing that says the same.
//  2. Delete the claims and, in the same transactions, write marks of their ids. From now on the shelf accepts nothing with such an id.
//  3. Delete matcher on the shelf, again and again, until a look at every place finds nothing.
//  4. Delete the text from the record, and rewrite the files.
type erasure struct {
	l        *Layer
	s        store.Engine
	sessions *ownerSessions
	record   forgotten.Record
	matcher  *matcher.Claim // nil once the record has no text any more
	seq      uint64         // the log's event up to which claims were examined
	out      Forgotten
}

// Bounds of an erasure.
const (
	// eraseRounds bounds how often an erasure looks again because it found something.
	eraseRounds = 8
	// wordsKept is how long single words of a forgotten claim are recognized: longer than a
	// session that had the claim usually goes on.
	wordsKept = 7 * 24 * time.Hour
)

// errInProgress means that this or another process has begun the erasure.
var errInProgress = errors.New("it was begun before")

// begin writes the record. It returns errInProgress if there is an unfinished one.
func (e *erasure) begin(ctx context.Context, r *deletionScope, given []forgotten.Given, reason string, actor ken.Actor) error {
	e.record = forgotten.Record{Claim: r.root.ID, Also: r.ids()[1:], At: e.l.now().UTC(), Given: given,
		Pending: &forgotten.Pending{Claims: append([]ken.Claim{r.root}, r.others...), Reason: reason, Actor: actor, Process: e.l.process}}
	return e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
		key, err := forgotten.Key(tx)
		if err != nil {
			return err
		}
		if have, err := forgotten.Find(tx, r.root.ID); err != nil {
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

// claimPrints adds the fingerprints of what a claim says, except of an episode whose rest is
// written again.
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

// resumeForget continues an erasure, or returns what was erased.
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
		e.matcher = matcher.New(&rec.Pending.Claims[0])
		if err := e.giveWords(ctx); err != nil {
			return Forgotten{}, err
		}
	}
	return e.run(ctx)
}

// takeOverErasure makes this process the one that carries an erasure out, and returns its
// record. While another living process carries it out, it waits: two that write the record
// would undo each other's work. The caller makes sure that this process works on it only once.
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
		select {
		case <-time.After(otherCheckEvery):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// giveWords lets the matcher recognize the single words that are known.
func (e *erasure) giveWords(ctx context.Context) error {
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

// finishForgetting continues erasures that an earlier process left, or that this one could not
// finish.
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
			continue // that process carries it out
		}
		_, err = l.resumeForget(ctx, s, id)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// run carries the erasure out from where it stands.
func (e *erasure) run(ctx context.Context) (Forgotten, error) {
	err := e.carryOut(ctx)
	e.report()
	if err == nil {
		return e.out, nil
	}
	e.out.Pending = err.Error()
	e.record.Pending.Failed, e.record.Pending.Process = e.out.Pending, ""
	_ = e.saveRecord(context.WithoutCancel(ctx)) // fails as well on a full disk
	return e.out, &ken.Error{Code: ken.CodeUnavailable, Field: e.record.Claim, Msg: "forgotten, but not yet erased from every file", Err: err,
		Try: "Make room on the disk, or mend what the cause names. It goes on by itself, also when the store is opened next; ken forget " + e.record.Claim + " goes on at once."}
}

// report fills in what was erased.
func (e *erasure) report() {
	e.out.Given = e.record.Given
	went := e.out.Claims
	e.out.Claims = e.record.IDs()
	for _, id := range went {
		if !slices.Contains(e.out.Claims, id) {
			e.out.Claims = append(e.out.Claims, id)
		}
	}
	if e.record.Pending == nil {
		e.out.Files = e.record.Files
		e.out.Sessions, e.out.Looked = e.record.Told, eraseLooked
	}
}

// eraseLooked are the places that are clean after an erasure.
var eraseLooked = []string{"claims", "history in the log", "keyword index", "vectors of every model", "journals", "injected texts", "checkpoints",
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
		e.record.Gone = e.l.now().UTC()
		e.record.Told = union(e.record.Told, e.out.Sessions)
		e.record.Pending = &forgotten.Pending{Process: e.l.process}
		if err := e.saveRecord(ctx); err != nil {
			return fmt.Errorf("note how far it is: %w", err)
		}
	}
	if err := e.s.Compact(ctx); err != nil {
		return err
	}
	pending := e.record.Pending
	e.record.Pending = nil
	if err := e.saveRecord(ctx); err != nil {
		e.record.Pending = pending
		return fmt.Errorf("note that it is done: %w", err)
	}
	return nil
}

// union returns the strings of both, each once, sorted.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// eraseRound deletes everything that is there now, and reports whether there may be more:
// something was written since, or another process's harvest ended that had read it.
func (e *erasure) eraseRound(ctx context.Context) (more bool, err error) {
	if err := e.forgetClaims(ctx); err != nil {
		return false, err
	}
	if err := e.giveWords(ctx); err != nil { // more turns may have had it since
		return false, err
	}
	running, err := e.l.otherHarvests(ctx, e.sessions, "")
	if err != nil {
		return false, err
	}
	ids := e.record.IDs()
	was := e.record.Pending.Claims
	r := &deletionScope{matcher: e.matcher, root: was[0], claims: was}
	said := map[string]bool{}
	t := r.journalTraces(said)
	t.Claims = ids
	gone, err := e.sessions.journal.Expunge(ctx, t)
	e.out.Messages += gone.Messages
	e.out.Sessions = union(e.out.Sessions, gone.Sessions)
	if err := errors.Join(err, forgetSessions(ctx, e.sessions, slices.Sorted(maps.Keys(said)))); err != nil {
		return false, err
	}
	e.l.recoveries.forget(e.s.Owner())
	e.l.conversationStarts.forget(e.s.Owner())
	e.l.sessionFocus.forget(e.s.Owner())
	e.l.judgements.dropOwner(e.s.Owner()) // what waits to be judged has the words of claims
	e.l.blocks.drop(containsForgotten(e.s.Owner(), ids, e.matcher))
	// A harvest of another process may have read the messages before they went, and have
	// ended since.
	waited, err := e.l.waitForOtherHarvests(ctx, e.sessions, "")
	if err != nil {
		return false, fmt.Errorf("wait for harvests of other processes: %w", err)
	}
	if err := errors.Join(forgetNotes(ctx, e.s, e.sessions, e.matcher, ids), e.l.forgetUse(ctx, e.s.Owner(), ids), e.l.rewriteMemoryFile(ctx, e.s.Owner(), was)); err != nil {
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

// addClaimsSince examines the claims that were written since the last look, and adds those that
// say the same.
func (e *erasure) addClaimsSince(ctx context.Context) (found bool, err error) {
	if e.seq == 0 { // begun by another process: what it examined is unknown
		r := &deletionScope{matcher: e.matcher, root: e.record.Pending.Claims[0]}
		e.seq = e.s.Seq()
		if _, err := r.scan(ctx, e.s); err != nil {
			return false, err
		}
		e.addClaims(r.others)
		return len(r.others) > 0, nil
	}
	last := e.s.Seq()
	var say []ken.Claim
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
		if c.Kind != ken.KindDocument && e.matcher.MatchClaim(&c) {
			say = append(say, c)
		}
	}
	e.seq = last
	e.addClaims(say)
	return len(say) > 0, nil
}

// addClaims adds claims to those that are deleted.
func (e *erasure) addClaims(more []ken.Claim) {
	for i := range more {
		if !slices.ContainsFunc(e.record.Pending.Claims, func(c ken.Claim) bool { return c.ID == more[i].ID }) {
			e.record.Pending.Claims = append(e.record.Pending.Claims, more[i])
			e.record.Also = append(e.record.Also, more[i].ID)
		}
	}
}

// anythingLeft looks at the shelf once more.
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
	notes, err := attention.Holds(ctx, e.s.Shelf(), attention.Traces{Claims: t.Claims, Text: t.Text})
	return notes > 0, err
}

// forgetClaims deletes the claims, and writes the rest of episodes that say more.
func (e *erasure) forgetClaims(ctx context.Context) error {
	was, p := e.record.Pending.Claims, e.record.Pending
	for i := range was {
		c := &was[i]
		why := p.Reason
		if i > 0 {
			why = "it says what " + e.record.Claim + " said"
		}
		gone, err := e.s.Forget(store.EraseLater(ctx), c.ID, why, p.Actor)
		for _, id := range gone {
			if !slices.Contains(e.out.Claims, id) {
				e.out.Claims = append(e.out.Claims, id)
			}
			if !slices.Contains(e.record.IDs(), id) { // derived since the last look
				e.record.Also = append(e.record.Also, id)
			}
		}
		if err != nil && !errors.Is(err, ken.ErrNotFound) { // deleted with another claim, or before
			return err
		}
		if i == 0 {
			continue
		}
		if rest, ok := e.matcher.Redact(c); ok {
			id, err := e.s.WriteClaim(ctx, rest) // once, because it has the key
			if err != nil {
				return fmt.Errorf("write the rest of a claim: %w", err)
			}
			if !slices.Contains(e.out.Redacted, id) {
				e.out.Redacted = append(e.out.Redacted, id)
			}
		}
	}
	return nil
}
