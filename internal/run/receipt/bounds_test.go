package receipt_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// The oldest go, with all that leads to them.
func TestTheNewestAreKept(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday, count(10)))
		for i := range 35 {
			put(t, b, turn(fmt.Sprint("t", i), fmt.Sprint("s", i)))
		}
		if diff := cmp.Diff(names(34, 25), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := bytes(t, shelf); strings.Contains(got, "t24") || strings.Contains(got, "s24") {
			t.Errorf("something of those that went is left:\n%s", got)
		}
		// Narrower bounds take hold with the next turns, a few at a time.
		b = receipt.NewBook(shelf, at(monday, count(2)))
		put(t, b, turn("t35", "s"))
		if got := list(t, b, receipt.Query{}); len(got) != 3 {
			t.Errorf("%q", got)
		}
		put(t, b, turn("t36", "s"))
		if diff := cmp.Diff(names(36, 35), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestOldOnesGo(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		day := 24 * time.Hour
		for i := range 5 {
			r := turn(fmt.Sprint("t", i), "s")
			r.At = monday.Add(time.Duration(i) * day)
			put(t, receipt.NewBook(shelf, at(r.At)), r)
		}
		week := func(o *receipt.Options) { o.Age = 7 * day }
		if n, err := receipt.NewBook(shelf, at(monday.Add(7*day), week)).Prune(t.Context()); n != 0 || err != nil {
			t.Errorf("pruned %d at their time, %v", n, err)
		}
		b := receipt.NewBook(shelf, at(monday.Add(9*day+1), week))
		if n, err := b.Prune(t.Context()); n != 3 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
		if diff := cmp.Diff(names(4, 3), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		b = receipt.NewBook(shelf, at(monday.Add(100*day), week))
		r := turn("new", "s")
		r.At = monday.Add(100 * day)
		put(t, b, r) // takes the old ones with it
		if got := list(t, b, receipt.Query{}); !slices.Equal(got, []string{"new"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestForgetSession(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday, count(6)))
		for i := range 6 {
			put(t, b, turn(fmt.Sprint("t", i), []string{"gone", "stays"}[i%2]))
		}
		if n, err := b.ForgetSession(t.Context(), "gone"); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := bytes(t, shelf); strings.Contains(got, "gone") || strings.Contains(got, "t4") {
			t.Errorf("left:\n%s", got)
		}
		if got := list(t, b, receipt.Query{}); !slices.Equal(got, []string{"t5", "t3", "t1"}) {
			t.Errorf("%q", got)
		}
		if n, err := b.ForgetSession(t.Context(), "gone"); n != 0 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
		if _, err := b.ForgetSession(t.Context(), ""); err != nil || len(list(t, b, receipt.Query{})) != 3 {
			t.Errorf("no session is not every session: %v", err)
		}
		for i := 6; i < 30; i++ { // missing numbers do not stop the pruning
			put(t, b, turn(fmt.Sprint("t", i), "stays"))
		}
		if diff := cmp.Diff(names(29, 24), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Of a claim that was forgotten the id stays and nothing else.
func TestForgetAClaim(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		const n = 1100 // more than are looked through at once
		for i := range n {
			r := turn(fmt.Sprint("t", i), "s")
			if i%100 != 0 {
				r.Items[0].ID = "another"
			}
			if i == 7 {
				r.Signals.Keywords, r.Cause = []string{"call", "4711"}, "vector: can't embed 4711"
				r.Cut[0].Detail = "like 4711"
			}
			put(t, b, r)
		}
		traces := receipt.Traces{Claims: []string{"claim-1"}, Text: func(s string) bool { return strings.Contains(s, "4711") }}
		if changed, err := b.Forget(t.Context(), traces); changed != n/100+1 || err != nil {
			t.Errorf("changed %d, %v", changed, err)
		}
		if got := get(t, b, "t100").Items[0]; !cmp.Equal(got, ken.Item{ID: "claim-1"}) {
			t.Errorf("%+v", got)
		}
		if got := get(t, b, "t101"); got.Items[0].Kind != ken.KindFact || got.Items[1].Source != "main.go" || len(got.Signals.Keywords) != 2 {
			t.Errorf("another receipt lost something: %+v", got)
		}
		if got := bytes(t, shelf); strings.Contains(got, "4711") {
			t.Error("it is still told")
		}
		if got := get(t, b, "t7"); len(got.Signals.Keywords) != 0 || !slices.Equal(got.Signals.Symbols, []string{"main.go"}) {
			t.Errorf("%+v", got.Signals)
		}
		if changed, err := b.Forget(t.Context(), traces); changed != 0 || err != nil {
			t.Errorf("again: %d, %v", changed, err)
		}
	})
}

// A receipt that can't be read is reported, stops nothing, and is never overwritten.
func TestCorruptReceipts(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday, count(6)))
		for i := range 5 {
			put(t, b, turn(fmt.Sprint("t", i), "s"))
		}
		const broken = "no receipt at all"
		write(t, shelf, func(tx store.ShelfTx) error { return tx.Put("receipt/entry/0000000000000003", []byte(broken)) }) // t2
		for _, q := range []receipt.Query{{}, {Session: "s"}, {Limit: 2}} {
			var turns []string
			var bad error
			for {
				records, next, err := b.List(t.Context(), q)
				if err != nil {
					bad = err
				}
				for _, r := range records {
					turns = append(turns, r.Turn)
				}
				if next == "" {
					break
				}
				q.Before = next
			}
			if !slices.Equal(turns, []string{"t4", "t3", "t1", "t0"}) || !errors.Is(bad, ken.ErrCorrupt) || ken.Hint(bad) == "" {
				t.Errorf("%+v: %q, %v", q, turns, bad)
			}
		}
		if _, err := b.Get(t.Context(), "t2"); !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("get: %v", err)
		}
		if err := mark(t, shelf, b, "t2", []ken.Taint{{Tool: "x"}}); !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("mark: %v", err)
		}
		if _, err := b.Forget(t.Context(), receipt.Traces{Claims: []string{"claim-1"}}); !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("forget: %v", err)
		}
		if got := get(t, b, "t0").Items[0]; got.Kind != "" {
			t.Errorf("those behind it were not done: %+v", got)
		}
		put(t, b, turn("t2", "s")) // the turn once more
		if got := get(t, b, "t2"); got.Mode != ken.ModeHybrid {
			t.Errorf("%+v", got)
		}
		for i := 5; i < 20; i++ {
			put(t, b, turn(fmt.Sprint("t", i), "s"))
		}
		if diff := cmp.Diff(names(19, 14), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !strings.Contains(bytes(t, shelf), broken) {
			t.Error("what could not be read was deleted or written over")
		}
	})
}

// The index of the receipts can be rebuilt from them.
func TestALostNoteIsMadeAgain(t *testing.T) {
	for _, note := range []string{"{", `{"first":0,"last":3}`, `{"first":1,"last":18446744073709551615}`, `{"first":9,"last":3}`} {
		onEach(t, func(t *testing.T, shelf store.Shelf) {
			b := receipt.NewBook(shelf, at(monday, count(4)))
			for i := range 6 {
				put(t, b, turn(fmt.Sprint("t", i), "s"))
			}
			write(t, shelf, func(tx store.ShelfTx) error { return tx.Put("receipt/book", []byte(note)) })
			if diff := cmp.Diff(names(5, 2), list(t, b, receipt.Query{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", note, diff)
			}
			put(t, b, turn("t6", "s"))
			if diff := cmp.Diff(names(6, 3), list(t, b, receipt.Query{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", note, diff)
			}
		})
	}
}
