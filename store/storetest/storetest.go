package storetest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Options is what the suite asks of the store that it opens.
type Options struct {
	Owner string           // "" for the default
	Now   func() time.Time // never nil; safe for concurrent use
	NewID func() string    // nil for the store's own

	// Assign is what the store is to file claims with while they are written; nil in
	// most tests. See store.Env.
	Assign func(store.Structure, *ken.Claim)

	// Embed and Dim are set by RunProjections only. Embed returns one vector of
	// length 1 for each text, nil for one that has none. The store is to embed
	// during the write: the vector is there when the write returns, unless Embed
	// failed.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	Dim   int
}

// Run holds the stores that open returns to the contract of ken.Store. Each
// call to open gives a fresh, empty store, which open closes with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, o Options) ken.Store) {
	tests := []struct {
		name string
		run  func(k *kit)
	}{
		{"Write", testWrite},
		{"Key", testKey},
		{"Invalid", testInvalid},
		{"Owner", testOwner},
		{"Unclean", testUnclean},
		{"Question", testQuestion},
		{"Language", testLanguage},
		{"Order", testOrder},
		{"Filter", testFilter},
		{"Copies", testCopies},
		{"Transition", testTransition},
		{"Supersede", testSupersede},
		{"History", testHistory},
		{"Get", testGet},
		{"ByKey", testByKey},
		{"Reinforce", testReinforce},
		{"Ahead", testAhead},
		{"Archive", testArchive},
		{"Assign", testAssign},
		{"AssignOnWrite", testAssignOnWrite},
		{"ExternalIsNoConstraint", testExternal},
		{"Scan", testScan},
		{"Cancelled", testCancelled},
		{"Concurrency", testConcurrency},
		{"Model", testModel},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(newKit(t, open)) })
	}
}

// kit is a test with the means to open stores, and one opened.
type kit struct {
	*testing.T
	open  func(t *testing.T, o Options) ken.Store
	ctx   context.Context
	clock *clock
	s     ken.Store
}

func newKit(t *testing.T, open func(t *testing.T, o Options) ken.Store) *kit {
	k := &kit{T: t, open: open, ctx: t.Context(), clock: &clock{}}
	k.s = k.another(Options{})
	return k
}

// sub runs f as a subtest with a fresh store.
func (k *kit) sub(name string, f func(k *kit)) {
	k.Helper()
	k.Run(name, func(t *testing.T) { f(newKit(t, k.open)) })
}

// another opens a further store on the same clock.
func (k *kit) another(o Options) ken.Store {
	o.Now = k.clock.Now
	s := k.open(k.T, o)
	k.Cleanup(func() { checkChain(k.T, s) })
	return s
}

// checkChain verifies the log of a store that shows one. Its context is its own:
// the test's has ended when clean-up runs.
func checkChain(t *testing.T, s ken.Store) {
	log, ok := s.(interface {
		Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
	})
	if !ok {
		return
	}
	var prev store.Event
	for ev, err := range log.Events(context.Background(), 1) {
		if err != nil {
			t.Errorf("read the log after event %d: %v", prev.Seq, err)
			return
		}
		if ev.Seq != prev.Seq+1 {
			t.Errorf("event %d follows event %d", ev.Seq, prev.Seq)
		}
		if err := ev.Verify(prev.Hash); err != nil {
			t.Errorf("verify the log: %v", err)
		}
		prev = *ev
	}
}

// clock moves on by a second whenever somebody looks, so that what happens
// later is later.
type clock struct {
	mu   sync.Mutex // guards seen
	seen int
}

var epoch = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	return epoch.Add(time.Duration(c.seen) * time.Second)
}

// claim returns a valid claim with this text; its evidence speaks as an agent.
func claim(text string, change ...func(*ken.Claim)) ken.Claim {
	c := ken.Claim{Text: text, Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Evidence: []ken.Evidence{ken.FromArtifact("storetest", "")}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func withKey(key string) func(*ken.Claim)           { return func(c *ken.Claim) { c.Key = key } }
func withStatus(status ken.Status) func(*ken.Claim) { return func(c *ken.Claim) { c.Status = status } }

// write writes a claim that must be accepted.
func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	id, err := k.s.WriteClaim(k.ctx, claim(text, change...))
	if err != nil {
		k.Fatalf("write %.60q: %v", text, err)
	}
	if id == "" {
		k.Fatalf("write %.60q: no id", text)
	}
	return id
}

func (k *kit) transition(id string, to ken.Status) {
	k.Helper()
	if err := k.s.Transition(k.ctx, ken.Transition{ID: id, To: to}); err != nil {
		k.Fatalf("transition to %s: %v", to, err)
	}
}

func (k *kit) supersede(oldID, newID string) {
	k.Helper()
	if err := k.s.Supersede(k.ctx, oldID, newID); err != nil {
		k.Fatalf("supersede: %v", err)
	}
}

func (k *kit) query(q ken.Query) []ken.Claim {
	k.Helper()
	found, err := k.s.Query(k.ctx, q)
	if err != nil {
		k.Fatalf("query %.60q: %v", q.Question, err)
	}
	return found
}

// ask returns the ids that a question finds by default.
func (k *kit) ask(question string) []string {
	k.Helper()
	return ids(k.query(ken.Query{Question: question, Limit: many}))
}

// get returns a claim whatever became of it.
func (k *kit) get(id string) ken.Claim {
	k.Helper()
	for _, c := range k.query(ken.Query{Filter: ken.Filter{Statuses: ken.Statuses()}, Limit: many}) {
		if c.ID == id {
			return c
		}
	}
	k.Fatalf("claim %s is gone", id)
	return ken.Claim{}
}

func (k *kit) history(id string) []ken.ClaimEvent {
	k.Helper()
	events, err := k.s.History(k.ctx, id)
	if err != nil {
		k.Fatalf("history: %v", err)
	}
	return events
}

func (k *kit) historyTypes(id string) []ken.EventType {
	k.Helper()
	var out []ken.EventType
	for _, e := range k.history(id) {
		out = append(out, e.Type)
	}
	return out
}

// wantErr checks an error's code and, unless field is empty, the field that it
// names.
func (k *kit) wantErr(err error, want *ken.Error, field string) {
	k.Helper()
	var e *ken.Error
	if !errors.Is(err, want) || !errors.As(err, &e) {
		k.Errorf("got %v, want an error of code %s", err, want.Code)
		return
	}
	if field != "" && e.Field != field {
		k.Errorf("the error names field %q, want %q: %v", e.Field, field, err)
	}
}

// many is more than any test writes.
const many = 10_000

func ids(claims []ken.Claim) []string {
	out := make([]string, len(claims))
	for i, c := range claims {
		out[i] = c.ID
	}
	return out
}
