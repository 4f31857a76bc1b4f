package harvest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store"
)

var errKilled = errors.New("killed")

// killedStore simulates that its process is killed at the n-th call. That call and all
// later ones fail. If late is set, the n-th call takes effect before it fails.
type killedStore struct {
	claims
	late bool

	mu   sync.Mutex // guards left
	left int
}

func (d *killedStore) call(fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left--
	switch {
	case d.left > 0:
		return fn()
	case d.left == 0 && d.late:
		_ = fn()
	}
	return errKilled
}

func (d *killedStore) WriteClaim(ctx context.Context, c ken.Claim) (id string, err error) {
	return id, d.call(func() (err error) { id, err = d.claims.WriteClaim(ctx, c); return err })
}

func (d *killedStore) Query(ctx context.Context, q ken.Query) (out []ken.Claim, err error) {
	return out, d.call(func() (err error) { out, err = d.claims.Query(ctx, q); return err })
}

func (d *killedStore) Transition(ctx context.Context, tr ken.Transition) error {
	return d.call(func() error { return d.claims.Transition(ctx, tr) })
}

func (d *killedStore) Supersede(ctx context.Context, a, b string) error {
	return d.call(func() error { return d.claims.Supersede(ctx, a, b) })
}

func (d *killedStore) SupersedeFor(ctx context.Context, a, b, reason string, actor ken.Actor) error {
	return d.call(func() error { return d.claims.(consolidate.Superseder).SupersedeFor(ctx, a, b, reason, actor) })
}

func (d *killedStore) Reinforce(ctx context.Context, id string, ev []ken.Evidence, a ken.Actor) error {
	return d.call(func() error { return d.claims.Reinforce(ctx, id, ev, a) })
}

func (d *killedStore) History(ctx context.Context, id string) (out []ken.ClaimEvent, err error) {
	return out, d.call(func() (err error) { out, err = d.claims.History(ctx, id); return err })
}

func (d *killedStore) ByKey(ctx context.Context, key string) (c ken.Claim, err error) {
	return c, d.call(func() (err error) { c, err = d.claims.ByKey(ctx, key); return err })
}

func (d *killedStore) Get(ctx context.Context, id string) (c ken.Claim, err error) {
	return c, d.call(func() (err error) { c, err = d.claims.Get(ctx, id); return err })
}

// Shelf counts the journal's last step as a call as well.
func (d *killedStore) Shelf() store.Shelf { return killedShelf{d} }

type killedShelf struct{ d *killedStore }

func (s killedShelf) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return s.d.call(func() error { return s.d.claims.Shelf().View(ctx, fn) })
}

func (s killedShelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return s.d.call(func() error { return s.d.claims.Shelf().Update(ctx, fn) })
}

// prepareSession returns a rig with an ended session and with claims that the session
// confirms, updates, contradicts and repeats.
func prepareSession(t testing.TB) *rig {
	r := newRig(t)
	r.say(t, "s0", user("The staging database is pg-stage-1."), assistant("Noted."), user("I prefer tabs over spaces in SQL files."), assistant("Yes."),
		user("The retry limit of the gateway is 3."), assistant("Noted."),
		bash("x1", "make lint"), tool("x1", "Error 1\nexit code: 2"), bash("x2", "make lint"), tool("x2", "Error 1\nexit code: 2"),
		calls("x3", "Edit", `{"file_path": "billing/export.go", "old_string": "a", "new_string": "b"}`), tool("x3", "The file billing/export.go has been updated."))
	r.end(t, "s0")
	verified := r.find(t, "retry limit")
	err := r.store.Transition(t.Context(), ken.Transition{ID: verified.ID, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", monday, "checked")}})
	if err != nil {
		t.Fatal(err)
	}
	r.clock.pass(24 * time.Hour)
	r.say(t, "s1", append(coding(), user("The retry limit of the gateway is 5."), assistant("Noted."))...)
	if _, err := r.journal.End(t.Context(), "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	return r
}

// A harvest that was killed between any two steps, before or after a step took effect,
// reaches the same result when it runs again: no fact is lost, stored twice or reinforced
// twice.
func TestKilledAtAnyPoint(t *testing.T) {
	whole := prepareSession(t)
	whole.drain(t)
	want := state(t, whole.store)
	wantInfo, err := whole.journal.Info(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if len(wantInfo.Outcome.Learned) == 0 || len(wantInfo.Outcome.Reinforced)+len(wantInfo.Outcome.Superseded)+len(wantInfo.Outcome.Disputed) < 2 {
		t.Fatalf("the session does too little: %+v", wantInfo.Outcome)
	}
	steps := 0
	for _, late := range []bool{false, true} {
		for n := 1; ; n += race.Pick(1, 3) {
			r := prepareSession(t)
			d := &killedStore{claims: r.store, left: n, late: late}
			if err := runKilled(t, r, d); err == nil {
				break // it came to its end before
			}
			steps++
			r.drain(t)
			if diff := cmp.Diff(want, state(t, r.store)); diff != "" {
				t.Fatalf("killed at call %d (late: %v) (-undisturbed +killed):\n%s", n, late, diff)
			}
			if info, err := r.journal.Info(t.Context(), "s1"); err != nil || info.State != session.Harvested || len(info.Outcome.Learned) != len(wantInfo.Outcome.Learned) {
				t.Fatalf("killed at call %d (late: %v): %+v, %v; want %+v", n, late, info.Outcome, err, wantInfo.Outcome)
			}
		}
	}
	t.Logf("%d kills", steps)
}

// runKilled runs the session's job on a killedStore.
func runKilled(t *testing.T, r *rig, d *killedStore) error {
	tools, err := finding.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := harvest.New(harvest.Options{Store: d, Tools: tools, Log: slog.New(slog.DiscardHandler),
		Journal: session.NewJournal(d.Shelf(), session.Options{Process: "p0", Now: r.clock.now})})
	list, err := r.queue.List(t.Context(), jobs.Queued)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	_, err = h.Handle(t.Context(), list[0], nil)
	if err != nil && !errors.Is(err, errKilled) {
		t.Fatal(fmt.Errorf("it died of something else: %w", err))
	}
	return err
}
