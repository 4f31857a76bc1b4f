package middleware

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
	"github.com/kenlayer/ken/internal/harvest/matcher"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/forgotten"
	"github.com/kenlayer/ken/store"
)

// WouldForget returns what Forget would erase for a claim id, and changes nothing. It can't include
// what is written between the two calls. Like Forget, it reads every claim and every journal, and
// it returns the same errors.
func (l operator) WouldForget(ctx context.Context, owner, id string) (inspect.Blast, error) {
	var out inspect.Blast
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return out, err
	}
	defer release()
	root, err := forgettableClaim(ctx, s, id)
	if err != nil {
		return out, err
	}
	if err := l.recorder.flush(ctx); err != nil {
		return out, err
	}
	d := l.sessionsOf(owner)
	return l.blast(ctx, s, d, deletionScope{matcher: matcher.New(&root), roots: []ken.Claim{root}})
}

// blast returns what erasing the roots of a scope would erase.
func (l operator) blast(ctx context.Context, s store.Engine, d *ownerSessions, of deletionScope) (out inspect.Blast, err error) {
	r, given, err := d.deletionScope(ctx, s, of)
	if err != nil {
		return out, err
	}
	out.Given = given
	said := map[string]bool{}
	held, err := d.journal.Holds(ctx, r.journalTraces(said))
	if err != nil {
		return out, fmt.Errorf("look through the journals: %w", err)
	}
	out.Messages, out.Sessions = held.Messages, held.Sessions
	if out.Receipts, err = d.receipts.Holds(ctx, r.receiptTraces(), slices.Sorted(maps.Keys(said))); err != nil {
		return out, fmt.Errorf("look through the receipts: %w", err)
	}
	out.Memory = l.inMemoryFile(s.Owner(), r.claims)
	for i := range r.claims {
		out.Claims = append(out.Claims, inspect.BlastClaim{Claim: l.View(r.claims[i]), Why: r.reasons[i]})
	}
	return out, nil
}

// forgettableClaim reads a claim that is to be forgotten. It returns an error for a piece of a
// file.
func forgettableClaim(ctx context.Context, s store.Engine, id string) (ken.Claim, error) {
	c, err := s.Get(ctx, id)
	if err == nil && c.Kind == ken.KindDocument {
		err = &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: c.ID + " is a piece of the repository, not a claim",
			Try: "Remove it from the repository, or exclude its file in repository.exclude, then run ken index."}
	}
	return c, err
}

// deletionScope lists what forgetting a claim deletes from the store.
type deletionScope struct {
	matcher     *matcher.Claim
	roots       []ken.Claim // the requested claim, or those that only session taught
	session     string      // "" if one claim was requested
	others      []ken.Claim // claims that say the same, the oldest first
	claims      []ken.Claim // all claims to delete: each of roots and what was derived from it, then the same for each of others
	reasons     []string    // why each of claims is deleted
	uniqueWords []string    // distinctive words of roots that no remaining claim has
	knownIDs    []string    // ids of claims that will be deleted in any case
}

// given returns the turns whose models got one of the claims, and the sessions in which that
// happened.
func (d *ownerSessions) given(ctx context.Context, ids ...string) (turns []forgotten.Given, sessions []string, err error) {
	turns, err = d.receipts.GivenOf(ctx, ids)
	if err != nil && !errors.Is(err, ken.ErrCorrupt) {
		return nil, nil, fmt.Errorf("look for the turns that were given it: %w", err)
	}
	no := func(string) bool { return false }
	held, err := d.journal.Holds(ctx, session.Traces{Message: func(string, *session.Entry) bool { return false }, Text: no, Claims: ids})
	if err != nil {
		return nil, nil, fmt.Errorf("look for the sessions that were given it: %w", err)
	}
	sessions = held.Injected
	for _, t := range turns {
		if t.Session != "" {
			sessions = append(sessions, t.Session)
		}
	}
	return turns, union(sessions, nil), nil
}

// deletionScope returns what is deleted with the roots of of, and the turns whose models got them. A session
// that got another deleted claim had the same text, so its words about it are deleted too, and so
// are its claims that repeat it.
func (d *ownerSessions) deletionScope(ctx context.Context, s store.Engine, of deletionScope) (*deletionScope, []forgotten.Given, error) {
	const most = 4 // each round finds more sessions; the erasure searches again later
	given, sessions, err := d.given(ctx, idsOf(of.roots)...)
	if err != nil {
		return nil, nil, err
	}
	r := &deletionScope{}
	for range most {
		doomed := r.ids()
		if r, err = newDeletionScope(ctx, s, of, sessions, doomed); err != nil || len(r.claims) == max(len(of.roots), len(doomed)) {
			break
		}
		_, more, err := d.given(ctx, r.ids()...)
		if err != nil {
			return nil, nil, err
		}
		sessions = union(sessions, more)
	}
	return r, given, err
}

// newDeletionScope reads all claims once. It finds those that say what a root says, and those that
// were derived from any of them. given are the sessions that got the text. doomed are the ids of
// claims that are deleted in any case: a word that only these claims have counts as unique.
func newDeletionScope(ctx context.Context, s store.Engine, of deletionScope, given, doomed []string) (*deletionScope, error) {
	r := &deletionScope{matcher: of.matcher, roots: of.roots, session: of.session, knownIDs: doomed}
	r.matcher.SetRecipients(given, nil)
	children, err := r.scan(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find claims that say the same: %w", err)
	}
	taken := map[string]bool{}
	why := inspect.Itself
	if r.session != "" {
		why = inspect.OnlySaid
	}
	for i := range r.roots {
		if taken[r.roots[i].ID] { // derived from another one
			continue
		}
		if err := r.addDerived(ctx, s, r.roots[i], why, children, taken); err != nil {
			return nil, err
		}
	}
	for i := range r.others {
		c := &r.others[i]
		why := inspect.SaysSame
		if _, ok := r.matcher.Redact(c); ok {
			why = inspect.Redacted
		}
		if taken[c.ID] {
			if at := slices.IndexFunc(r.claims, func(o ken.Claim) bool { return o.ID == c.ID }); why == inspect.Redacted {
				r.reasons[at] = why
			}
			continue
		}
		if err := r.addDerived(ctx, s, *c, why, children, taken); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// addDerived adds c and, depth first, the claims that were derived from it, in the order in which
// the store deletes them. why is the reason for c.
func (r *deletionScope) addDerived(ctx context.Context, s store.Engine, c ken.Claim, why string, children map[uuid.UUID][]uuid.UUID, taken map[string]bool) error {
	taken[c.ID] = true
	r.claims, r.reasons = append(r.claims, c), append(r.reasons, why)
	id, _ := uuid.Parse(c.ID) // no claim is derived from one without a valid id
	for _, child := range children[id] {
		if taken[child.String()] {
			continue
		}
		next, err := s.Get(ctx, child.String())
		if errors.Is(err, ken.ErrNotFound) { // deleted during the search
			continue
		}
		if err != nil {
			return err
		}
		if err := r.addDerived(ctx, s, next, inspect.Derived, children, taken); err != nil {
			return err
		}
	}
	return nil
}

// scanBatch is the number of claims that a goroutine examines at a time.
const scanBatch = 256

// takes reports whether a claim other than the roots is deleted or rewritten. What another session or a
// person taught stays when a session is forgotten, without the sentences and notes that repeat its claims.
func (r *deletionScope) takes(c *ken.Claim) bool {
	if _, only := taughtBy(c, r.session); only { // written since
		return true
	}
	if !r.matcher.MatchClaim(c) {
		return false
	}
	_, rest := r.matcher.Redact(c)
	return rest || r.session == ""
}

// scan finds the claims that say what a root says. It returns the ids of derived claims by the id of
// the claim that their evidence names. One goroutine reads claims, the others examine them.
func (r *deletionScope) scan(ctx context.Context, s store.Engine) (map[uuid.UUID][]uuid.UUID, error) {
	children := map[uuid.UUID][]uuid.UUID{}
	type batch struct {
		claims []ken.Claim // the claims to examine; afterwards those that say the same
		shared []string    // distinctive words that remaining claims contain
		maybe  []ken.Claim // claims of sessions that got the claim
		err    error       // why the batch could not be examined
	}
	distinctive := map[string]bool{}
	for i := range r.roots {
		maps.Copy(distinctive, distinctiveWords(&r.roots[i]))
	}
	root := map[string]bool{}
	for _, id := range idsOf(r.roots) {
		root[id] = true
	}
	var batches []*batch
	todo := make(chan *batch, runtime.GOMAXPROCS(0))
	examine := func(b *batch) error {
		var kept []ken.Claim
		for i := range b.claims {
			switch c := &b.claims[i]; {
			case root[c.ID]:
			case r.takes(c):
				kept = append(kept, *c)
			case r.matcher.IsRecipient(c.Session):
				b.maybe = append(b.maybe, *c)
			case len(distinctive) > 0 && !slices.Contains(r.knownIDs, c.ID):
				forgotten.Words(c.Text, func(w []byte) {
					if distinctive[string(w)] && !slices.Contains(b.shared, string(w)) {
						b.shared = append(b.shared, string(w))
					}
				})
			}
		}
		b.claims = kept
		return nil
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for b := range todo {
				b.err = caught.Run(func() error { return examine(b) })
			}
		})
	}
	now := &batch{}
	sendBatch := func() {
		batches = append(batches, now)
		todo <- now
		now = &batch{}
	}
	var failed error
	for c, err := range s.Claims(ctx) {
		if failed = err; err != nil {
			break
		}
		if c.Kind == ken.KindDocument {
			continue
		}
		for _, parent := range engine.Parents(&c) {
			if id, err := uuid.Parse(c.ID); err == nil {
				children[parent] = append(children[parent], id)
			}
		}
		if now.claims = append(now.claims, c); len(now.claims) == scanBatch {
			sendBatch()
		}
	}
	sendBatch()
	close(todo)
	wg.Wait()
	if failed != nil {
		return nil, failed
	}
	for _, b := range batches {
		if b.err != nil {
			return nil, fmt.Errorf("look through the claims: %w", b.err)
		}
		r.others = append(r.others, b.claims...)
		for _, w := range b.shared {
			delete(distinctive, w)
		}
	}
	r.uniqueWords = slices.Sorted(maps.Keys(distinctive))
	r.matcher.SetRecipients(r.matcher.Recipients(), matchesWords(distinctive))
	for _, b := range batches {
		for i := range b.maybe {
			if r.takes(&b.maybe[i]) {
				r.others = append(r.others, b.maybe[i])
			}
		}
	}
	for _, ids := range children {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	}
	return children, nil
}

// matchesWords returns a function that reports whether a text contains one of the words; nil if
// there are none.
func matchesWords(words map[string]bool) func(string) bool {
	if len(words) == 0 {
		return nil
	}
	return func(text string) (found bool) {
		forgotten.Words(text, func(w []byte) { found = found || words[string(w)] })
		return found
	}
}

// longWord is the number of letters that makes a word distinctive.
const longWord = 11

// distinctiveWords returns the words of a claim that may identify it, in the form of
// forgotten.Words: names, numbers of at least four digits, names in code, long words.
func distinctiveWords(c *ken.Claim) map[string]bool {
	out := map[string]bool{}
	first := true
	for word := range strings.FieldsSeq(c.Text) {
		letters := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		digits, upper := 0, 0
		for _, r := range letters {
			if unicode.IsDigit(r) {
				digits++
			}
			if unicode.IsUpper(r) {
				upper++
			}
		}
		if digits >= minDigits || upper > 1 || upper == 1 && !first || strings.ContainsAny(letters, "_-@/.") || len([]rune(letters)) >= longWord {
			forgotten.Words(letters, func(w []byte) {
				if len(w) >= minDigits {
					out[string(w)] = true
				}
			})
		}
		first = strings.ContainsAny(word[len(word)-1:], ".!?:")
	}
	return out
}

// minDigits is the minimum length of a distinctive number or part of a name.
const minDigits = 4

// ids returns the ids of all claims to delete.
func (r *deletionScope) ids() []string { return idsOf(r.claims) }

func idsOf(claims []ken.Claim) []string {
	ids := make([]string, len(claims))
	for i := range claims {
		ids[i] = claims[i].ID
	}
	return ids
}

// journalTraces returns what must be deleted from journals. If said is not nil, it receives the
// sessions in which the text was said.
func (r *deletionScope) journalTraces(said map[string]bool) session.Traces {
	if said != nil && r.session != "" {
		said[r.session] = true
	}
	return session.Traces{Text: r.matcher.MatchAny, Claims: r.ids(), Session: r.session, Message: func(id string, e *session.Entry) bool {
		if !r.matcher.MatchMessage(id, e) {
			return false
		}
		if said != nil && !said[id] && r.matcher.MatchStatement(id, e) {
			said[id] = true
		}
		return true
	}}
}

// receiptTraces returns what must be deleted from receipts.
func (r *deletionScope) receiptTraces() receipt.Traces {
	return receipt.Traces{Claims: r.ids(), Text: r.matcher.MatchAny}
}

// inMemoryFile reports whether MEMORY.md may list one of the claims.
func (l *Layer) inMemoryFile(owner string, claims []ken.Claim) bool {
	return owner == l.cfg.Knowledge.Owner && slices.ContainsFunc(claims, func(c ken.Claim) bool { return c.Kind == ken.KindHot || c.Kind == ken.KindPattern })
}
