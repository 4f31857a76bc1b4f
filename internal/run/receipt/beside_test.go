package receipt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

// Later information about a turn, and the receipt of a later request of it, are
// stored without reading the existing receipt.
func TestOldReceiptsAreNotRead(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday, count(3)))
		r := turn("t1", "s")
		r.Through = 7
		put(t, b, r)
		key := "receipt/entry/0000000000000001"
		write(t, shelf, func(tx store.ShelfTx) error { // whoever reads it fails
			head, _, _ := strings.Cut(string(tx.Get(key)), "\n")
			return tx.Put(key, []byte(head+"\nno receipt"))
		})
		one, used := ken.Taint{Tool: "shell", Claim: "claim-1", Chars: 40}, []ken.Use{{ID: "claim-1"}}
		if err := mark(t, shelf, b, "t1", []ken.Taint{one}); err != nil {
			t.Fatal(err)
		}
		write(t, shelf, func(tx store.ShelfTx) error { return b.AddUse(tx, "t1", used) })
		if got, err := b.Marks(t.Context(), "s"); err != nil || !slices.Equal(got, []ken.Taint{one}) {
			t.Errorf("marks %+v, %v", got, err)
		}
		put(t, b, turn("t1", "s"))
		if got := get(t, b, "t1"); got.Through != 7 || !slices.Equal(got.Taint, []ken.Taint{one}) || !slices.Equal(got.Used, used) {
			t.Errorf("%+v", got)
		}
		two := ken.Taint{Tool: "write", Claim: "claim-1", Chars: 20}
		again := turn("t1", "s")
		again.Taint = []ken.Taint{two, one}
		put(t, b, again)
		if got := get(t, b, "t1"); !slices.Equal(got.Taint, []ken.Taint{one, two}) {
			t.Errorf("%+v", got.Taint)
		}
		for i := range 3 { // it is deleted without being read, together with the later information
			put(t, b, turn(fmt.Sprint("u", i), "s"))
		}
		if got := bytes(t, shelf); strings.Contains(got, "t1") || strings.Contains(got, "shell") {
			t.Errorf("left:\n%s", got)
		}
	})
}

// A receipt of a program that kept all of it in one value is read, added to and replaced
// as before.
func TestReceiptsOfOlderPrograms(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		one, two := ken.Taint{Tool: "shell", Claim: "claim-1", Chars: 40}, ken.Taint{Tool: "write", Claim: "claim-1", Chars: 20}
		used := []ken.Use{{ID: "claim-1"}}
		for _, id := range []string{"t1", "t2"} {
			put(t, b, turn(id, "s"))
			write(t, shelf, func(tx store.ShelfTx) error {
				key := "receipt/entry/000000000000000" + id[1:]
				rec := turn(id, "s")
				rec.Used, rec.Taint, rec.Through = used, []ken.Taint{one}, 7
				body, err := json.Marshal(rec)
				if err != nil {
					return err
				}
				return tx.Put(key, fmt.Appendf(nil, `{"turn":%q,"session":"s","at":"2026-05-18T09:00:00Z"}`+"\n%s", id, body))
			})
		}
		if err := mark(t, shelf, b, "t1", []ken.Taint{one, two}); err != nil {
			t.Fatal(err)
		}
		put(t, b, turn("t2", "s"))
		// One that has its long lists in the Record is read, too.
		put(t, b, turn("t3", "u"))
		whole := get(t, b, "t3")
		write(t, shelf, func(tx store.ShelfTx) error {
			body, err := json.Marshal(whole)
			if err != nil {
				return err
			}
			return tx.Put("receipt/entry/0000000000000003", append([]byte(`{"turn":"t3","session":"u","at":"2026-05-18T09:00:00Z","apart":true}`+"\n"), body...))
		})
		if got := get(t, b, "t3"); len(got.Items) != 2 || len(got.Cut) != 1 || got.Items[0].Legs["keyword"].Score != 7 {
			t.Errorf("%+v", got)
		}
		for id, want := range map[string][]ken.Taint{"t1": {one, two}, "t2": {one}} {
			if got := get(t, b, id); !slices.Equal(got.Taint, want) || !slices.Equal(got.Used, used) || got.Through != 7 {
				t.Errorf("%s: %+v, %+v, %d", id, got.Taint, got.Used, got.Through)
			}
		}
		if got, err := b.Marks(t.Context(), "s"); err != nil || len(got) != 3 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// BenchmarkPutUsedAndPutAgain stores a turn with 16 items and a ranking of 40, the use of one
// item, and a second request of the turn.
func BenchmarkPutUsedAndPutAgain(b *testing.B) {
	for name, open := range shelves {
		b.Run(name, func(b *testing.B) {
			shelf := open(b)
			book := receipt.NewBook(shelf, receipt.Options{Now: func() time.Time { return monday }})
			r := turn("", "s")
			for range 15 {
				r.Items, r.Cut = append(r.Items, r.Items[0]), append(r.Cut, r.Cut[0])
			}
			rk := ken.Ranking{}
			for i := range 40 {
				rk.Candidates = append(rk.Candidates, ken.Features{ID: fmt.Sprint("0198a000-0000-7000-8000-00000000", i), Rank: i, Score: .123456, AgeDays: 12.3})
			}
			r.Ranking = &rk
			used := []ken.Use{{ID: "claim-1"}}
			for i := 0; b.Loop(); i++ {
				r.Turn = fmt.Sprint("t", i)
				if err := book.Put(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				if err := shelf.Update(b.Context(), func(tx store.ShelfTx) error { return book.AddUse(tx, r.Turn, used) }); err != nil {
					b.Fatal(err)
				}
				if err := book.Put(b.Context(), r); err != nil { // tool loop
					b.Fatal(err)
				}
			}
		})
	}
}
