package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/store"
)

func TestVerifyStandsOnThePersonsWord(t *testing.T) {
	k := newKit(t)
	id := k.write("The sagas time out after 5 s.")
	if err := k.desk.Verify(t.Context(), id, "read the handler", ken.FromTestResult("TestSaga", "")); err != nil {
		t.Fatal(err)
	}
	c := k.get(id)
	if tier := c.Support(nil).Tier; c.Status != ken.StatusVerified || tier != ken.Verified || len(c.Evidence) != 3 {
		t.Errorf("%s, %s, %d pieces of evidence", c.Status, tier, len(c.Evidence))
	}
	said := c.Evidence[2]
	if said.Kind != ken.EvidenceHumanAssertion || said.ID != "ana" || said.Detail != "read the handler" || !said.FetchedAt.Equal(now) {
		t.Errorf("her word is %+v", said)
	}
	if e := k.last(id); e.Actor != (ken.Actor{Type: "user", ID: "ana"}) || e.Reason != "read the handler" {
		t.Errorf("the history says %+v", e)
	}
	// Again, by a part of the id, keeps it from decaying.
	if err := k.desk.Verify(t.Context(), id[:35], ""); err != nil {
		t.Fatal(err)
	}
	if c := k.get(id); c.Status != ken.StatusVerified || c.Reinforcements != 1 {
		t.Errorf("%s, seen %d times again", c.Status, c.Reinforcements)
	}
}

func TestDisputeNeedsAReason(t *testing.T) {
	k := newKit(t)
	id := k.write("The sagas time out after 5 s.")
	if err := k.desk.Dispute(t.Context(), id, " \n"); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
		t.Errorf("error %v", err)
	}
	k.status(id, ken.StatusObserved)
	if err := k.desk.Dispute(t.Context(), id, " it is 9 s ", ken.FromTestResult("TestSaga", "")); err != nil {
		t.Fatal(err)
	}
	k.status(id, ken.StatusDisputed)
	if e := k.last(id); e.Reason != "it is 9 s" || len(e.Evidence) != 1 || e.Actor.ID != "ana" {
		t.Errorf("the history says %+v", e)
	}
}

func TestSupersedeAndArchive(t *testing.T) {
	k := newKit(t)
	old, next := k.write("The port is 8080."), k.write("The port is 9090.")
	if err := k.desk.Archive(t.Context(), old, ""); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("archive a claim that is in use: %v", err)
	}
	if err := k.desk.Supersede(t.Context(), old, "0198c0de-0000-7000-8000-000000000002", ""); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("by what is not there: %v", err)
	}
	for range 2 {
		if err := k.desk.Supersede(t.Context(), old, next, "it moved"); err != nil {
			t.Fatal(err)
		}
	}
	if e := k.last(old); e.Reason != "it moved" || e.Actor.ID != "ana" || e.Other != next {
		t.Errorf("the history says %+v", e)
	}
	if err := k.desk.Archive(t.Context(), old, "a year ago"); err != nil {
		t.Fatal(err)
	}
	if k.get(old).ArchivedAt.IsZero() || k.last(old).Actor.ID != "ana" {
		t.Errorf("not archived by her: %+v", k.last(old))
	}
}

func TestForgetGoesOnWhenTheCallerGoesAway(t *testing.T) {
	k := newKit(t)
	id := k.write("Kim lives in Graz.")
	k.write("Kim's home is Graz.", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromRepositoryMemory(id)} })
	// Gone once the claim is found, which is the last thing that asks.
	ctx, leave := context.WithCancel(t.Context())
	desk := k.sit("ana", leaving{k.Engine, leave})
	gone, err := desk.Forget(ctx, id, "asked for")
	if err != nil || len(gone.Claims) != 2 {
		t.Fatalf("%+v, %v", gone, err)
	}
	if left := k.texts(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if e := k.last(id); e.Actor.ID != "ana" || e.Reason != "asked for" {
		t.Errorf("the tombstone says %+v", e)
	}
}

// leaving is a store whose reader leaves with the first claim.
type leaving struct {
	store.Engine
	leave func()
}

func (l leaving) Get(ctx context.Context, id string) (ken.Claim, error) {
	defer l.leave()
	return l.Engine.Get(ctx, id)
}

func TestPiecesOfTheRepositoryHaveNoLife(t *testing.T) {
	k := newKit(t)
	claim := k.write("The port is 9090.")
	const path = "docs/ports.md"
	doc := store.Document{Path: path, Known: store.Known{Hash: "sha256:1"}, Chunks: []ken.Claim{{Kind: ken.KindDocument, Text: "The port is 8080.", Key: path + "#1", Source: path,
		Confidence: 1, Evidence: []ken.Evidence{ken.FromFile(path, "", "")}}}}
	if err := k.PutDocuments(t.Context(), []store.Document{doc}); err != nil {
		t.Fatal(err)
	}
	found, err := k.Query(t.Context(), ken.Query{Filter: ken.Filter{Kinds: []ken.Kind{ken.KindDocument}}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d pieces, %v", len(found), err)
	}
	id, ctx, d := found[0].ID, t.Context(), k.desk
	_, err = operator.Living(ctx, k, "[k:"+id[len(id)-6:]+"]") // as a block shows it
	if !errors.Is(err, ken.ErrRefused) || !strings.Contains(ken.Hint(err), path) {
		t.Errorf("of a block: %v, %s", err, ken.Hint(err))
	}
	rewrite := operator.Verdict{ID: id, Decision: operator.Rewrite, Text: "x"}
	for name, do := range map[string]func() error{
		"verify":       func() error { return d.Verify(ctx, id, "") },
		"dispute":      func() error { return d.Dispute(ctx, id, "no") },
		"supersede":    func() error { return d.Supersede(ctx, id, claim, "") },
		"supersede by": func() error { return d.Supersede(ctx, claim, id, "") },
		"archive":      func() error { return d.Archive(ctx, id, "") },
		"approve":      func() error { return d.Approve(ctx, id) },
		"reject":       func() error { return d.Reject(ctx, id) },
		"replace":      func() error { _, err := d.Replace(ctx, id, "x", ""); return err },
		"forget":       func() error { _, err := d.Forget(ctx, id, ""); return err },
		"rewrite":      func() error { return d.Decide(ctx, rewrite).Err },
		"decide":       func() error { return d.Decide(ctx, operator.Verdict{ID: id, Decision: operator.Reject}).Err },
	} {
		if err := do(); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), "piece of the repository") || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.status(claim, ken.StatusObserved)
}

func TestAttention(t *testing.T) {
	k := newKit(t)
	id := k.write("The sagas time out after 5 s.", is(ken.StatusVerified))
	if err := k.desk.Dispute(t.Context(), id, "it is 9 s"); err != nil {
		t.Fatal(err)
	}
	list := func(all bool) []attention.Item {
		t.Helper()
		items, unread, err := k.desk.Attention(t.Context(), all)
		if err != nil || unread != nil {
			t.Fatal(unread, err)
		}
		return items
	}
	items := list(false)
	if len(items) != 1 || items[0].Event != attention.Disputed {
		t.Fatalf("%+v", items)
	}
	if err := k.desk.Dismiss(t.Context(), "0123456789ab"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("dismiss what is not there: %v", err)
	}
	for range 2 {
		if err := k.desk.Dismiss(t.Context(), items[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if now, all := list(false), list(true); len(now) != 0 || len(all) != 1 {
		t.Errorf("%d items, %d with those dismissed", len(now), len(all))
	}
	// What can't be read hides nothing else.
	if err := k.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("attention/rejected/0", []byte("{")) }); err != nil {
		t.Fatal(err)
	}
	rest, unread, err := k.desk.Attention(t.Context(), true)
	if len(rest) != 1 || !errors.Is(unread, ken.ErrCorrupt) || err != nil {
		t.Errorf("%d items, unread %v, error %v", len(rest), unread, err)
	}
}

func TestEditorSpeaksForThePerson(t *testing.T) {
	k := newKit(t)
	c, err := k.desk.Editor().Describe(t.Context(), "payments", "system", "Payments: moves the money")
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Evidence; len(e) != 1 || e[0].Kind != ken.EvidenceHumanAssertion || e[0].ID != "ana" || c.Actor.ID != "ana" || c.AssignedBy != ken.AssignedByOperator {
		t.Errorf("%+v", c)
	}
	if _, err := k.desk.Replace(t.Context(), c.ID, "Payments: something else", ""); !errors.Is(err, ken.ErrRefused) || ken.Hint(err) == "" {
		t.Errorf("replace a part of the structure: %v", err)
	}
}

func TestReplaceKeepsWhatTheClaimIsAbout(t *testing.T) {
	k := newKit(t)
	scope := ken.Scope{Type: "project", ID: "shop"}
	until := now.AddDate(10, 0, 0)
	old := k.write("Payments must not retry more than 5 times.", is(ken.StatusVerified), func(c *ken.Claim) {
		c.Heading, c.Domain, c.Tags, c.Scope, c.Project = "Retries", "money", []string{"ops"}, scope, "shop"
		c.Entities, c.Aspect, c.Constraint, c.AssignedBy, c.ExpiresAt = []string{"payments"}, "limits", true, ken.AssignedByOperator, until
	})
	id, err := k.desk.Replace(t.Context(), old, "Payments must not retry more than 3 times.", "changed in March")
	if err != nil {
		t.Fatal(err)
	}
	c := k.get(id)
	if c.Text != "Payments must not retry more than 3 times." || c.Kind != ken.KindFact || c.Heading != "Retries" || c.Domain != "money" || c.Project != "shop" ||
		!slices.Equal(c.Tags, []string{"ops"}) || c.Scope != scope || !slices.Equal(c.Entities, []string{"payments"}) || c.Aspect != "limits" || !c.Constraint ||
		c.AssignedBy != ken.AssignedByOperator || !c.ExpiresAt.Equal(until) || c.Confidence != 1 || c.Actor.ID != "ana" {
		t.Errorf("%+v", c)
	}
	if c.Status != ken.StatusVerified || c.Support(nil).Tier != ken.Verified || len(c.Evidence) != 1 || c.Evidence[0].Detail != "changed in March" {
		t.Errorf("%s on %+v", c.Status, c.Evidence)
	}
	if was := k.get(old); was.Status != ken.StatusSuperseded || was.SupersededBy != id || c.Supersedes != old {
		t.Errorf("the old one is %s by %s", was.Status, was.SupersededBy)
	}
	if e := k.last(old); e.Actor.ID != "ana" || e.Reason != "changed in March" {
		t.Errorf("the history says %+v", e)
	}
	if _, err := k.desk.Replace(t.Context(), old, "Twice.", ""); !errors.Is(err, ken.ErrRefused) || !strings.Contains(err.Error(), id) {
		t.Errorf("replace what was replaced: %v", err)
	}
	for _, text := range []string{" " + c.Text + "\n", "", " "} {
		if _, err := k.desk.Replace(t.Context(), id, text, ""); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n := len(k.texts()); n != 2 {
		t.Errorf("%d claims: one was written for nothing", n)
	}
}

func TestReplaceOfAHotFactIsInTheFile(t *testing.T) {
	k := newKit(t)
	old := k.write("Use tabs.", ofKind(ken.KindHot))
	if _, err := k.desk.Replace(t.Context(), old, "Use spaces.", "ruled"); err != nil {
		t.Fatal(err)
	}
	if f := k.memory(); !strings.Contains(f, "- [x] Use spaces.") || strings.Contains(f, "tabs") {
		t.Errorf("%s", f)
	}
	if e := k.last(old); e.Reason != "ruled" {
		t.Errorf("the history says %+v", e)
	}
}

// stuck is a store that can't supersede.
type stuck struct {
	store.Engine
	leave  func()
	really bool // it does, and fails then
}

var errStuck = errors.New("the disk is full")

func (s stuck) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	if s.leave != nil {
		s.leave()
	}
	if s.really {
		if err := s.Engine.SupersedeFor(ctx, oldID, newID, reason, actor); err != nil {
			return err
		}
	}
	return errStuck
}

func TestReplaceLeavesNothingHalfDone(t *testing.T) {
	for _, kind := range []ken.Kind{ken.KindFact, ken.KindHot} {
		k := newKit(t)
		old := k.write("The port is 8080.", ofKind(kind))
		ctx, leave := context.WithCancel(t.Context())
		_, err := k.sit("ana", stuck{Engine: k.Engine, leave: leave}).Replace(ctx, old, "The port is 9090.", "")
		if !errors.Is(err, errStuck) {
			t.Errorf("%s: error %v", kind, err)
		}
		if got := k.texts(); len(got) != 1 || got["The port is 8080."] != ken.StatusObserved {
			t.Errorf("%s: %v", kind, got)
		}
		// An error that comes late is none: what was to happen has happened.
		id, err := k.sit("ana", stuck{Engine: k.Engine, really: true}).Replace(t.Context(), old, "The port is 9091.", "")
		if err != nil || k.get(old).SupersededBy != id {
			t.Errorf("%s: %s, %v", kind, id, err)
		}
	}
}

func TestReplaceByManyAtOnce(t *testing.T) {
	for _, kind := range []ken.Kind{ken.KindFact, ken.KindHot} {
		k := newKit(t)
		old := k.write("The port is 8080.", ofKind(kind))
		const many = 12
		ids, errs := make([]string, many), make([]error, many)
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				ids[i], errs[i] = k.sit(fmt.Sprint("person ", i), k.Engine).Replace(t.Context(), old, fmt.Sprint("The port is ", 9000+i/2), "")
			})
		}
		wg.Wait()
		by := k.get(old).SupersededBy
		won := 0
		for i := range many {
			switch {
			case errs[i] == nil && ids[i] == by:
				won++
			case !errors.Is(errs[i], ken.ErrRefused) && !errors.Is(errs[i], ken.ErrNotFound):
				t.Errorf("%s: %s, %v", kind, ids[i], errs[i])
			}
		}
		if won < 1 || won > 2 { // two say the same
			t.Errorf("%s: %d won", kind, won)
		}
		if got := k.texts(); len(got) != 2 {
			t.Errorf("%s: %v", kind, got)
		}
		k.lives()
	}
}

func TestVerifyByManyAtOnce(t *testing.T) {
	k := newKit(t)
	id := k.write("The port is 8080.")
	const many = 8
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			if err := k.sit(fmt.Sprint("person ", i), k.Engine).Verify(t.Context(), id, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if c := k.get(id); c.Status != ken.StatusVerified || c.Reinforcements != many-1 || len(c.Evidence) != 1+many {
		t.Errorf("%s, %d times again, %d pieces of evidence", c.Status, c.Reinforcements, len(c.Evidence))
	}
}

// queue is what needs attention, by event.
func (k *kit) queue() map[attention.Event]int {
	k.Helper()
	items, unread, err := k.desk.Attention(k.Context(), false)
	if err != nil || unread != nil {
		k.Fatal(err, unread)
	}
	out := map[attention.Event]int{}
	for i := range items {
		out[items[i].Event]++
	}
	return out
}

func TestVouchForAHypothesis(t *testing.T) {
	k := newKit(t)
	for _, id := range []string{k.write("It retries.", is(ken.StatusHypothesis)), k.candidate("make lint passes"), k.write("It stops.", is(ken.StatusObserved))} {
		if err := k.desk.Vouch(t.Context(), id, "read it"); err != nil {
			t.Fatal(err)
		}
		k.status(id, ken.StatusVerified)
	}
	if err := k.desk.Vouch(t.Context(), "0198c0de-0000-7000-8000-000000000002", ""); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("of what is not there: %v", err)
	}
}

// Whichever claim is chosen, and however the other one is marked, nothing is left in the
// queue.
func TestResolveContradiction(t *testing.T) {
	for _, was := range []ken.Status{ken.StatusVerified, ken.StatusObserved, ken.StatusHypothesis} {
		for _, first := range []bool{true, false} {
			for how, want := range map[operator.Resolution]ken.Status{operator.Replaced: ken.StatusSuperseded, operator.Contested: ken.StatusDisputed} {
				k := newKit(t)
				a, b := k.write("Mail goes out at once.", is(was)), k.write("Mail is queued.", is(was))
				if err := k.desk.Dispute(t.Context(), b, attention.ContradictionReason(a, "queued, or not?")); err != nil {
					t.Fatal(err)
				}
				if n := k.queue()[attention.Contradicts]; n != 1 {
					t.Fatalf("%d contradictions", n)
				}
				right, wrong := a, b
				if !first {
					right, wrong = b, a
				}
				for range 2 { // a second time changes nothing
					if err := k.desk.ResolveContradiction(t.Context(), right, wrong, how); err != nil {
						t.Fatalf("%s, %v, %s: %v", was, first, how, err)
					}
				}
				k.status(right, ken.StatusVerified)
				k.status(wrong, want)
				if q := k.queue(); len(q) != 0 {
					t.Errorf("%s, %v, %s: left in the queue: %v", was, first, how, q)
				}
			}
		}
	}
}

func TestResolveContradictionRefuses(t *testing.T) {
	k := newKit(t)
	a, b := k.write("Mail goes out at once."), k.write("Mail is queued.")
	for name, err := range map[string]error{"itself": k.desk.ResolveContradiction(t.Context(), a, a, operator.Replaced), "no resolution": k.desk.ResolveContradiction(t.Context(), a, b, "shot")} {
		if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.status(a, ken.StatusObserved)
	k.status(b, ken.StatusObserved)
}

func TestRestore(t *testing.T) {
	k := newKit(t)
	old := k.write("The timeout is 10 s.", func(c *ken.Claim) { c.Evidence = []ken.Evidence{ken.FromTestResult("TestTimeout", "")} })
	maybe := k.write("The timeout is 60 s.", func(c *ken.Claim) { c.Confidence = .4 }, is(ken.StatusInferred))
	if _, err := k.desk.Restore(t.Context(), old, ""); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("what nothing replaced: %v", err)
	}
	if err := k.desk.Supersede(t.Context(), old, maybe, "newer"); err != nil {
		t.Fatal(err)
	}
	if n := k.queue()[attention.Superseded]; n != 1 {
		t.Fatalf("%d in the queue", n)
	}
	id, err := k.desk.Restore(t.Context(), old, "measured it")
	if err != nil {
		t.Fatal(err)
	}
	c := k.get(id)
	if c.Text != "The timeout is 10 s." || c.Status != ken.StatusVerified || c.Evidence[0].Detail != "measured it" {
		t.Errorf("restored %+v", c)
	}
	proof := false
	for i := range c.Evidence {
		proof = proof || c.Evidence[i].Hard()
	}
	if !proof {
		t.Errorf("the old claim's proof is lost: %+v", c.Evidence)
	}
	k.status(maybe, ken.StatusSuperseded)
	if k.get(maybe).SupersededBy != id {
		t.Error("not by the restored one")
	}
	if q := k.queue(); len(q) != 0 {
		t.Errorf("left in the queue: %v", q)
	}
}

// An item carries what it is made of, for who shows it at length.
func TestItemsCarryTheirNotes(t *testing.T) {
	k := newKit(t)
	id := k.write("The port is 8080.")
	actor := ken.Actor{Type: "agent", ID: "coder"}
	if err := attention.Reject(t.Context(), k.Shelf(), attention.Rejection{At: now, Session: "s-1", Actor: actor, Text: "It is fast.", Why: "evidence: empty"}); err != nil {
		t.Fatal(err)
	}
	if _, err := attention.PutMark(t.Context(), k.Shelf(), attention.Mark{Event: attention.DisputeRequested, Claim: id, Reason: "it is 9090", Session: "s-2", Actor: actor, At: now.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	items, _, err := k.desk.Attention(t.Context(), false)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	asked, refused := items[0], items[1]
	if asked.Asked == nil || asked.Asked.Reason != "it is 9090" || asked.Asked.Session != "s-2" || asked.Refused != nil {
		t.Errorf("asked: %+v", asked)
	}
	if refused.Refused == nil || refused.Refused.Why != "evidence: empty" || refused.Refused.Text != "It is fast." || refused.Asked != nil {
		t.Errorf("refused: %+v", refused)
	}
}

// What a person disputed, corrected or rejected is not in the digest of the session that said it.
func TestTheSessionNoLongerSaysWhatFell(t *testing.T) {
	said := func(c *ken.Claim) { c.Session = "s1"; c.Evidence = []ken.Evidence{ken.FromMessage("s1", "m1", c.Text)} }
	for name, fall := range map[string]func(k *kit, id string) error{
		"dispute": func(k *kit, id string) error { return k.desk.Dispute(k.Context(), id, "it is 8443") },
		"supersede": func(k *kit, id string) error {
			return k.desk.Supersede(k.Context(), id, k.write("The checkout service listens on port 8443."), "")
		},
		"replace": func(k *kit, id string) error {
			_, err := k.desk.Replace(k.Context(), id, "The checkout service listens on port 8443.", "")
			return err
		},
		"reject": func(k *kit, id string) error {
			return k.desk.Decide(k.Context(), operator.Verdict{ID: id, Decision: operator.Reject}).Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			id := k.write("The checkout service listens on port 9999.", said)
			episode := func(c *ken.Claim) { c.Kind, c.Key, c.Heading = ken.KindEpisode, "episode:s1", "Session: the ports" }
			k.write("Goal: find the ports.\nThe checkout service listens on port 9999.\nThe ledger listens on port 7070.", said, episode)
			if err := fall(k, id); err != nil {
				t.Fatal(err)
			}
			c, err := k.ByKey(t.Context(), "episode:s1")
			if err != nil || c.Text != "Goal: find the ports.\nThe ledger listens on port 7070." || c.Status != ken.StatusObserved {
				t.Errorf("the session still says %q, %s, %v", c.Text, c.Status, err)
			}
		})
	}
}
