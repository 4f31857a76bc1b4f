package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/ledger"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// kit is a book, a ledger of it, and the clock of both.
type kit struct {
	testing.TB
	shelf store.Shelf
	book  *receipt.Book
	l     *ledger.Ledger
	now   time.Time
	reads int // receipts that the ledger has read
	gets  int
	fails int // which of the reads one by one fails, from 1
}

func newKit(t testing.TB, count int, o ledger.Options) *kit {
	k := &kit{TB: t, shelf: memory.NewShelf(), now: monday}
	clock := func() time.Time { return k.now }
	k.book = receipt.NewBook(k.shelf, receipt.Options{Count: count, Now: clock})
	o.Now = clock
	k.l = ledger.New(o)
	return k
}

// Get and List count what is read.
func (k *kit) Get(ctx context.Context, turn string) (receipt.Record, error) {
	if k.gets++; k.gets == k.fails {
		return receipt.Record{}, errors.New("away")
	}
	return k.book.Get(ctx, turn)
}

func (k *kit) List(ctx context.Context, q receipt.Query) ([]receipt.Record, string, error) {
	records, next, err := k.book.List(ctx, q)
	k.reads += len(records)
	return records, next, err
}

func (k *kit) catch() {
	k.Helper()
	if err := k.l.Catch(context.Background(), "o", k); err != nil {
		k.Fatalf("catch: %v", err)
	}
}

func (k *kit) put(records ...receipt.Record) {
	k.Helper()
	for _, r := range records {
		if err := k.book.Put(context.Background(), r); err != nil {
			k.Fatal(err)
		}
	}
}

func (k *kit) forget(session string) {
	k.Helper()
	if _, err := k.book.ForgetSession(context.Background(), session); err != nil {
		k.Fatal(err)
	}
}

// use fails for a deleted turn.
func (k *kit) use(turn string, used ...ken.Use) error {
	return k.shelf.Update(context.Background(), func(tx store.ShelfTx) error { return k.book.AddUse(tx, turn, used) })
}

// exists are the receipts of the book, newest first.
func (k *kit) exists() (out []receipt.Record) {
	k.Helper()
	for q := (receipt.Query{Limit: receipt.MaxLimit}); ; {
		records, next, err := k.book.List(context.Background(), q)
		if err != nil {
			k.Fatal(err)
		}
		if out = append(out, records...); next == "" {
			return out
		}
		q.Before = next
	}
}

// turns are all that the ledger has.
func (k *kit) turns() []ledger.Turn {
	list, more := k.l.Turns("o", time.Time{}, 1<<30, ledger.Match{})
	if more != 0 {
		k.Errorf("%d more than all", more)
	}
	return list
}

func ids(list []ledger.Turn) []string {
	out := []string{}
	for i := range list {
		out = append(out, list[i].ID)
	}
	return out
}

func choose[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

func claimID(n int) string { return fmt.Sprintf("0198a000-0000-7000-8000-%012d", n) }

// random is a turn's receipt.
func random(rng *rand.Rand, id, session string, at time.Time) receipt.Record {
	r := receipt.Record{Key: choose(rng, "", "ana", "ben"), Through: uint64(rng.IntN(9)), Project: choose(rng, "", "p"), Agent: choose(rng, "coder", "tester"), Model: choose(rng, "small", "large"), Receipt: ken.Receipt{
		Turn: id, Session: session, At: at, Mode: choose(rng, ken.ModeHybrid, ken.ModeKeyword, ken.ModeLate, ken.ModeNone), Policy: choose(rng, "", "policy[2]"), Chars: max(0, rng.IntN(4000)-1000), Tokens: rng.IntN(1000),
		CachedBytes: rng.Int64N(1e6), NewBytes: rng.Int64N(1e5), Reused: rng.IntN(5) == 0,
		MS: map[string]float64{"total": rng.Float64() * 100}}}
	for _, stage := range []string{"keyword", "vector", "budget"} {
		if rng.IntN(4) > 0 {
			r.MS[stage] = rng.Float64() * 30
		}
	}
	for i := range rng.IntN(6) {
		r.Items = append(r.Items, ken.Item{ID: choose(rng, claimID(rng.IntN(20)), "no-uuid"), Kind: ken.KindFact})
		r.Cut = append(r.Cut, ken.Cut{ID: claimID(i), Reason: ken.CutFloor})
		if rng.IntN(9) == 0 {
			r.Degraded, r.Cause = append(r.Degraded, "vector: late"), "vector: late"
			r.Taint = append(r.Taint, ken.Taint{Tool: "shell", Call: fmt.Sprint(i), Claim: claimID(i), Chars: 50})
		}
	}
	return r
}

// want is what a ledger should have of a receipt.
func want(r *receipt.Record) ledger.Turn {
	t := ledger.Turn{ID: r.Turn, At: r.At, Session: r.Session, Agent: r.Agent, Project: r.Project, Model: r.Model, Mode: r.Mode, Cause: r.Cause,
		Key: r.Key, Policy: r.Policy, Through: r.Through, Chars: r.Chars, Tokens: r.Tokens, Items: len(r.Items), Cut: len(r.Cut), CachedBytes: r.CachedBytes, NewBytes: r.NewBytes,
		Degraded: len(r.Degraded), Reused: r.Reused, Taint: len(r.Taint), TotalMS: r.MS["total"]}
	for _, name := range []string{"budget", "keyword", "vector"} {
		if ms, ok := r.MS[name]; ok {
			t.Stages = append(t.Stages, ledger.Stage{Name: name, MS: ms})
		}
	}
	for _, u := range r.Used {
		if (u.Cited || u.Repeated || u.ToolOK) && !u.Corrected {
			t.Helped++
		}
		if u.Corrected {
			t.Corrected++
		}
	}
	for _, it := range r.Items {
		if it.ID != "no-uuid" {
			t.Claims = append(t.Claims, uuid.MustParse(it.ID))
		}
	}
	return t
}

func wanted(records []receipt.Record) (out []ledger.Turn) {
	for i := range records {
		out = append(out, want(&records[i]))
	}
	return slices.Clip(out)
}
