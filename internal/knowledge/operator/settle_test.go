package operator_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

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

// Whichever claim stands, and whatever becomes of the other one, nothing is left in the
// queue.
func TestStandSettlesAContradiction(t *testing.T) {
	for _, was := range []ken.Status{ken.StatusVerified, ken.StatusObserved, ken.StatusHypothesis} {
		for _, first := range []bool{true, false} {
			for fate, want := range map[operator.Fate]ken.Status{operator.Replaced: ken.StatusSuperseded, operator.Contested: ken.StatusDisputed} {
				k := newKit(t)
				a, b := k.write("Mail goes out at once.", is(was)), k.write("Mail is queued.", is(was))
				if err := k.desk.Dispute(t.Context(), b, attention.ContradictionReason(a, "queued, or not?")); err != nil {
					t.Fatal(err)
				}
				if n := k.queue()[attention.Contradicts]; n != 1 {
					t.Fatalf("%d contradictions", n)
				}
				stands, falls := a, b
				if !first {
					stands, falls = b, a
				}
				for range 2 { // a second time changes nothing
					if err := k.desk.Stand(t.Context(), stands, falls, fate); err != nil {
						t.Fatalf("%s, %v, %s: %v", was, first, fate, err)
					}
				}
				k.status(stands, ken.StatusVerified)
				k.status(falls, want)
				if q := k.queue(); len(q) != 0 {
					t.Errorf("%s, %v, %s: left in the queue: %v", was, first, fate, q)
				}
			}
		}
	}
}

func TestStandRefuses(t *testing.T) {
	k := newKit(t)
	a, b := k.write("Mail goes out at once."), k.write("Mail is queued.")
	for name, err := range map[string]error{"itself": k.desk.Stand(t.Context(), a, a, operator.Replaced), "no fate": k.desk.Stand(t.Context(), a, b, "shot")} {
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
