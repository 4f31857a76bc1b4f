package lifecycle_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

var epoch = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

type stock interface {
	ken.Store
	lifecycle.Store
	Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error
	Shelf() store.Shelf
}

// stocks are the implementations of lifecycle.Store.
var stocks = map[string]func(t *testing.T, now func() time.Time) stock{
	"memory": func(_ *testing.T, now func() time.Time) stock { return memory.New(memory.Options{Now: now}) },
	"bolt":   func(t *testing.T, now func() time.Time) stock { return openBolt(t, now) },
}

func openBolt(t *testing.T, now func() time.Time) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), t.TempDir(), bolt.Options{Now: now, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.VerifyLog(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// kit is a store with what lies around it, on a clock that the test sets.
type kit struct {
	*testing.T
	stock
	clock   atomic.Int64 // Unix nanoseconds; the store reads it in the background
	deps    lifecycle.Deps
	journal *session.Journal
	queue   *jobs.Queue
}

func (k *kit) now() time.Time   { return time.Unix(0, k.clock.Load()).UTC() }
func (k *kit) set(at time.Time) { k.clock.Store(at.UnixNano()) }

func each(t *testing.T, run func(k *kit)) {
	for name, open := range stocks {
		t.Run(name, func(t *testing.T) {
			k := &kit{T: t}
			k.set(epoch)
			clock := k.now
			k.stock = open(t, clock)
			k.journal = session.NewJournal(k.Shelf(), session.Options{Now: clock})
			k.queue = jobs.NewQueue(k.Shelf(), jobs.Options{Now: clock, Keep: -1})
			k.deps = lifecycle.Deps{Store: k.stock, Journal: k.journal, Queue: k.queue, EventsDir: t.TempDir(), Now: clock}
			if d, ok := k.stock.(lifecycle.Documents); ok {
				k.deps.Documents = d
			}
			run(k)
		})
	}
}

func (k *kit) write(text string, change ...func(*ken.Claim)) string {
	k.Helper()
	c := ken.Claim{Text: text, Kind: ken.KindFact, Confidence: 1, Importance: 0.5, Evidence: []ken.Evidence{ken.FromArtifact("test", "")}}
	for _, f := range change {
		f(&c)
	}
	id, err := k.WriteClaim(k.Context(), c)
	k.must(err)
	return id
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) plan(p lifecycle.Policy) []lifecycle.Change {
	k.Helper()
	changes, err := lifecycle.Plan(k.Context(), k.deps, p)
	k.must(err)
	return changes
}

func (k *kit) apply(changes []lifecycle.Change) lifecycle.Report {
	k.Helper()
	r, err := lifecycle.Apply(k.Context(), k.deps, changes, nil)
	k.must(err)
	return r
}

func (k *kit) claim(id string) ken.Claim {
	k.Helper()
	c, err := k.Get(k.Context(), id)
	k.must(err)
	return c
}

// rows shows a plan, one "rule kind from>to" a row.
func rows(changes []lifecycle.Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Rule)+" "+c.Kind+" "+c.From+">"+c.To)
	}
	return strings.Join(out, "\n")
}

func ofKind(kind ken.Kind) func(*ken.Claim) { return func(c *ken.Claim) { c.Kind = kind } }
func is(s ken.Status) func(*ken.Claim)      { return func(c *ken.Claim) { c.Status = s } }
func at(t time.Time) func(*ken.Claim)       { return func(c *ken.Claim) { c.CreatedAt = t } }
