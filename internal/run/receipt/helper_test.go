package receipt_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// shelves are the shelves that a book must work on.
var shelves = map[string]func(t testing.TB) store.Shelf{
	"memory": func(testing.TB) store.Shelf { return storetest.Twice(memory.NewShelf()) },
	"bolt": func(t testing.TB) store.Shelf {
		s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s.Shelf()
	},
}

// onEach runs a test on every shelf.
func onEach(t *testing.T, run func(t *testing.T, shelf store.Shelf)) {
	for name, open := range shelves {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

// at returns options with a fixed clock.
func at(now time.Time, change ...func(*receipt.Options)) receipt.Options {
	o := receipt.Options{Now: func() time.Time { return now }}
	for _, f := range change {
		f(&o)
	}
	return o
}

func count(n int) func(*receipt.Options) { return func(o *receipt.Options) { o.Count = n } }

// mark adds marks to a turn's receipt.
func mark(t testing.TB, shelf store.Shelf, b *receipt.Book, turn string, taint []ken.Taint) error {
	return shelf.Update(t.Context(), func(tx store.ShelfTx) error { return b.AddMark(tx, turn, taint) })
}

// turn is a receipt of a session with two items, as a layer makes one.
func turn(id, session string) receipt.Record {
	return receipt.Record{Project: "p", Agent: "a", Model: "m", Branch: "b", Receipt: ken.Receipt{
		Turn: id, At: monday, Owner: "o", Session: session, Mode: ken.ModeHybrid, Block: "[Pipeline Knowledge] the words of the block",
		Chars: 43, Signals: ken.Signals{Keywords: []string{"port", "host"}, Symbols: []string{"main.go"}, Failures: []string{}, Entities: []string{"Payments"},
			Question: "the words of the question", Subject: "the words of the subject"},
		Items: []ken.Item{
			{ID: "claim-1", Key: "words of a key", Kind: ken.KindFact, Tier: ken.Verified, Trust: ken.TrustOperator, Source: "words of a source",
				Heading: "words of a heading", Text: "words of the claim", Chars: 18, Fused: 0.5, Legs: map[string]ken.LegScore{"keyword": {Rank: 1, Score: 7}},
				Signals: map[string]float64{"cosine": 0.4}, CreatedAt: monday},
			{ID: "chunk-1", Key: "doc:main.go", Kind: ken.KindDocument, Source: "main.go", Heading: "func main", Text: "words of the file", Chars: 17},
		},
		Cut: []ken.Cut{{ID: "claim-2", Reason: ken.CutFloor}}, MS: map[string]float64{"total": 1.5}}}
}

func put(t testing.TB, b *receipt.Book, records ...receipt.Record) {
	t.Helper()
	for _, r := range records {
		if err := b.Put(t.Context(), r); err != nil {
			t.Fatalf("put %s: %v", r.Turn, err)
		}
	}
}

func get(t testing.TB, b *receipt.Book, turn string) receipt.Record {
	t.Helper()
	r, err := b.Get(t.Context(), turn)
	if err != nil {
		t.Fatalf("get %s: %v", turn, err)
	}
	return r
}

// list is every turn that a listing of pages gives, in its order.
func list(t testing.TB, b *receipt.Book, q receipt.Query) (turns []string) {
	t.Helper()
	for {
		records, next, err := b.List(t.Context(), q)
		if err != nil {
			t.Fatalf("list %+v: %v", q, err)
		}
		for _, r := range records {
			turns = append(turns, r.Turn)
		}
		if next == "" {
			return turns
		}
		if q.Limit > 0 && len(records) != q.Limit {
			t.Fatalf("a page of %d with more behind it, want %d", len(records), q.Limit)
		}
		q.Before = next
	}
}

// names are turns from to to, downwards.
func names(from, to int) (out []string) {
	for i := from; i >= to; i-- {
		out = append(out, fmt.Sprint("t", i))
	}
	return out
}

// bytes returns everything on a shelf, as one text.
func bytes(t testing.TB, shelf store.Shelf) string {
	t.Helper()
	var all strings.Builder
	err := shelf.View(context.Background(), func(r store.ShelfReader) error {
		all.Reset()
		for key, value := range r.Scan("") {
			fmt.Fprintf(&all, "%s\n%s\n", key, value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// write changes the shelf behind the book's back.
func write(t testing.TB, shelf store.Shelf, fn func(tx store.ShelfTx) error) {
	t.Helper()
	if err := shelf.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}
