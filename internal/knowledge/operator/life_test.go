package operator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

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
		t.Errorf("archive what stands: %v", err)
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
	doc := store.Document{Path: path, Known: store.Known{Hash: "sha256:1"}, Chunks: []ken.Claim{{Kind: ken.KindDocument, Text: "The port is 8080.", Key: path + "#1",
		Confidence: 1, Evidence: []ken.Evidence{ken.FromFile(path, "", "")}}}}
	if err := k.PutDocuments(t.Context(), []store.Document{doc}); err != nil {
		t.Fatal(err)
	}
	found, err := k.Query(t.Context(), ken.Query{Filter: ken.Filter{Kinds: []ken.Kind{ken.KindDocument}}})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d pieces, %v", len(found), err)
	}
	id, ctx, d := found[0].ID, t.Context(), k.desk
	for name, do := range map[string]func() error{
		"verify":       func() error { return d.Verify(ctx, id, "") },
		"dispute":      func() error { return d.Dispute(ctx, id, "no") },
		"supersede":    func() error { return d.Supersede(ctx, id, claim, "") },
		"supersede by": func() error { return d.Supersede(ctx, claim, id, "") },
		"archive":      func() error { return d.Archive(ctx, id, "") },
		"approve":      func() error { return d.Approve(ctx, id) },
		"reject":       func() error { return d.Reject(ctx, id) },
		"rewrite":      func() error { _, err := d.Rewrite(ctx, id, "x"); return err },
		"replace":      func() error { _, err := d.Replace(ctx, id, "x", ""); return err },
		"forget":       func() error { _, err := d.Forget(ctx, id, ""); return err },
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
