package facet_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/facet"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func open(t testing.TB, owner string) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{Owner: owner, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func index(t testing.TB, o facet.Options) *facet.Index {
	x := facet.New(o)
	t.Cleanup(x.Close)
	return x
}

// catch catches up until nothing is left to be done.
func catch(t testing.TB, x *facet.Index, s facet.Store) facet.Progress {
	t.Helper()
	for {
		p, err := x.Catch(context.Background(), s)
		if err != nil {
			t.Fatalf("catch: %v", err)
		}
		if p.Ready && p.Done == p.Total {
			return p
		}
	}
}

func choose[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// random is a claim with something of everything, and now and then of nothing.
func random(rng *rand.Rand, n int) ken.Claim {
	day := func() time.Time { return monday.Add(-time.Duration(rng.IntN(100*24)) * time.Hour) }
	c := ken.Claim{
		ID:   uuid.Must(uuid.NewRandomFromReader(chacha{rng})).String(),
		Kind: choose(rng, ken.KindFact, ken.KindFact, ken.KindPattern, ken.KindFinding, ken.KindEntity, ken.KindHot),
		Text: fmt.Sprint("Statement ", n, " of the test."), Heading: fmt.Sprint("h", n),
		Status: choose(rng, ken.StatusObserved, ken.StatusInferred, ken.StatusHypothesis, ken.StatusVerified), Confidence: float64(rng.IntN(5)) / 4, Importance: 0.5,
		Scope:   choose(rng, ken.Scope{}, ken.Scope{Type: ken.ScopeRepo, ID: "a"}, ken.Scope{Type: ken.ScopeAgent, ID: "b"}),
		Project: choose(rng, "", "p1", "p2"), Session: choose(rng, "", fmt.Sprint("s", rng.IntN(30))),
		Actor:  choose(rng, ken.Actor{Type: "agent"}, ken.Actor{Type: "agent", ID: "coder"}, ken.Actor{Type: "user", ID: "anna"}, ken.Actor{}),
		Source: choose(rng, "", fmt.Sprint("source ", rng.IntN(20))), SourceType: choose(rng, "", "harvest", "import"),
		Constraint: rng.IntN(5) == 0, CreatedAt: day(),
	}
	for range rng.IntN(4) {
		c.Tags = append(c.Tags, fmt.Sprint("tag", rng.IntN(15)))
		c.Entities = append(c.Entities, choose(rng, "Payments-Service", "payments_service", "The Payments Service", "Ledger", "ledger", "C++", "---"))
	}
	for range 1 + rng.IntN(3) {
		c.Evidence = append(c.Evidence, choose(rng,
			ken.Evidence{Kind: ken.EvidenceFile, Path: fmt.Sprint("dir/f", rng.IntN(9), ".go"), FetchedAt: day()},
			ken.Evidence{Kind: ken.EvidenceTestResult, ID: fmt.Sprint("t", rng.IntN(50)), FetchedAt: day()},
			ken.Evidence{Kind: ken.EvidenceToolResult, ToolCallID: fmt.Sprint("c", rng.IntN(50))},
			ken.Evidence{Kind: ken.EvidenceUserStatement, SessionID: "s", MessageID: fmt.Sprint(rng.IntN(50))}))
	}
	if rng.IntN(5) == 0 {
		c.ExpiresAt = monday.Add(time.Duration(rng.IntN(100)-50) * time.Hour)
	}
	return c
}

// chacha makes ids from the test's own chance.
type chacha struct{ rng *rand.Rand }

func (c chacha) Read(b []byte) (int, error) {
	var n [8]byte
	for i := 0; i < len(b); i += 8 {
		binary.BigEndian.PutUint64(n[:], c.rng.Uint64())
		copy(b[i:], n[:])
	}
	return len(b), nil
}

// fake is a store of given claims that can be changed behind its log.
type fake struct {
	owner  string
	claims map[string]ken.Claim
	log    []*store.Event
	events error         // that reading the log ends with
	claim  error         // that reading the claims ends with
	gate   chan struct{} // unless nil, reading the claims waits for it
	reads  int           // of all claims
	gets   int
}

func newFake(owner string, claims ...ken.Claim) *fake {
	f := &fake{owner: owner, claims: map[string]ken.Claim{}}
	f.write(claims...)
	return f
}

func (f *fake) write(claims ...ken.Claim) {
	for _, c := range claims {
		f.claims[c.ID] = c
		f.event(c.ID, ken.EventWritten)
	}
}

func (f *fake) event(id string, typ ken.EventType) {
	ev := &store.Event{Seq: uint64(len(f.log)) + 1, At: monday, Type: typ, Claim: uuid.MustParse(id), Payload: []byte("{}")}
	var prev [32]byte
	if n := len(f.log); n > 0 {
		prev = f.log[n-1].Hash
	}
	ev.Seal(prev)
	f.log = append(f.log, ev)
}

func (f *fake) Owner() string { return f.owner }
func (f *fake) Seq() uint64   { return uint64(len(f.log)) }

func (f *fake) Events(_ context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return func(yield func(*store.Event, error) bool) {
		if f.events != nil {
			yield(nil, f.events)
			return
		}
		for i := max(from, 1); i <= uint64(len(f.log)); i++ {
			if !yield(f.log[i-1], nil) {
				return
			}
		}
	}
}

func (f *fake) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		f.reads++
		if f.gate != nil {
			select {
			case <-f.gate:
			case <-ctx.Done():
				yield(ken.Claim{}, ctx.Err())
				return
			}
		}
		if f.claim != nil {
			yield(ken.Claim{}, f.claim)
			return
		}
		for _, id := range slices.Sorted(maps.Keys(f.claims)) {
			if !yield(f.claims[id], nil) {
				return
			}
		}
	}
}

func (f *fake) Get(_ context.Context, id string) (ken.Claim, error) {
	f.gets++
	c, ok := f.claims[id]
	if !ok {
		return c, ken.ErrNotFound
	}
	return c, nil
}
