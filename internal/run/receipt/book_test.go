package receipt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

func TestWhatIsKept(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		in := turn("t1", "s")
		put(t, b, in)
		want := turn("t1", "s")
		want.Block, want.Signals.Question, want.Signals.Subject = "", "", ""
		want.BlockHash = receipt.HashBlock("t1", in.Block)
		c := &want.Items[0]
		c.Key, c.Source, c.Heading, c.Text = "", "", "", ""
		want.Items[1].Text = ""
		if diff := cmp.Diff(want, get(t, b, "t1")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if in.Items[0].Text == "" || in.Block == "" {
			t.Error("the caller's receipt was changed")
		}
		if _, err := b.Get(t.Context(), "t2"); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
			t.Errorf("an unknown turn: %v", err)
		}
	})
}

// Texts of claims must not be on the shelf, nor credentials in messages.
func TestNoWordsOfClaimsAndNoSecrets(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		in := turn("t1", "s")
		token := "ghp_" + "9fK2mQx7LpR4tVw8ZsB3nHj6YcD5gAe1uXoT"
		in.Signals.Keywords = append(in.Signals.Keywords, token)
		in.Degraded, in.Cause = []string{"vector: 401 for " + token}, "vector: 401 for "+token
		in.Model = "m " + token
		put(t, b, in)
		if got := bytes(t, shelf); strings.Contains(got, "words of") || strings.Contains(got, token) {
			t.Errorf("on the shelf:\n%s", got)
		}
	})
}

func TestListIsNewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		for i := range 23 {
			put(t, b, turn(fmt.Sprint("t", i), fmt.Sprint("s", i%2)))
		}
		for _, limit := range []int{0, 1, 2, 5, 22, 23, 24, 1000} {
			if diff := cmp.Diff(names(22, 0), list(t, b, receipt.Query{Limit: limit})); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
			var odd []string
			for i := 21; i > 0; i -= 2 {
				odd = append(odd, fmt.Sprint("t", i))
			}
			if diff := cmp.Diff(odd, list(t, b, receipt.Query{Session: "s1", Limit: limit})); diff != "" {
				t.Errorf("of a session, limit %d (-want +got):\n%s", limit, diff)
			}
		}
		if got := list(t, b, receipt.Query{Session: "nobody"}); len(got) != 0 {
			t.Errorf("of an unknown session: %q", got)
		}
		if got := list(t, receipt.NewBook(shelf, receipt.Options{}), receipt.Query{Session: "s"}); len(got) != 0 {
			t.Errorf("a session's id is not a beginning: %q", got)
		}

		// Receipts that are stored meanwhile do not shift the next page.
		first, next, err := b.List(t.Context(), receipt.Query{Limit: 10})
		if err != nil || len(first) != 10 {
			t.Fatal(len(first), err)
		}
		put(t, b, turn("t23", "s1"))
		if diff := cmp.Diff(names(12, 0), list(t, b, receipt.Query{Before: next})); diff != "" {
			t.Errorf("the rest (-want +got):\n%s", diff)
		}
		for _, before := range []string{"x", "-1", "00", " 5", "12345678901234567890"} {
			if _, _, err := b.List(t.Context(), receipt.Query{Before: before}); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
				t.Errorf("before %q: %v", before, err)
			}
		}
	})
}

// A tool loop sends several requests in a turn: one receipt, the last, with what was
// marked before.
func TestATurnHasOneReceipt(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		put(t, b, turn("t0", "s"), turn("t1", "s"), turn("t2", "s"))
		one := ken.Taint{Tool: "shell", Call: "c1", Claim: "claim-1", Chars: 40}
		if err := mark(t, shelf, b, "t1", []ken.Taint{one}); err != nil {
			t.Fatal(err)
		}
		again := turn("t1", "s")
		again.Reused, again.Mode = true, ken.ModeKeyword
		put(t, b, again)
		got := get(t, b, "t1")
		if !got.Reused || got.Mode != ken.ModeKeyword || !slices.Equal(got.Taint, []ken.Taint{one}) {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(names(2, 0), list(t, b, receipt.Query{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		// An id that comes again in another session is that one's.
		put(t, b, turn("t1", "u"))
		if got := list(t, b, receipt.Query{Session: "s"}); !slices.Equal(got, []string{"t2", "t0"}) {
			t.Errorf("of the old session: %q", got)
		}
		if got := list(t, b, receipt.Query{}); !slices.Equal(got, []string{"t1", "t2", "t0"}) {
			t.Errorf("all: %q", got)
		}
	})
}

func TestMark(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		put(t, b, turn("t1", ""))
		one, two := ken.Taint{Tool: "shell", Claim: "claim-1", Chars: 40}, ken.Taint{Tool: "write", Claim: "claim-1", Chars: 20}
		for _, marks := range [][]ken.Taint{{one}, {one, two}, {two}, nil} {
			if err := mark(t, shelf, b, "t1", marks); err != nil {
				t.Fatal(err)
			}
		}
		if got := get(t, b, "t1").Taint; !slices.Equal(got, []ken.Taint{one, two}) {
			t.Errorf("%+v", got)
		}
		if err := mark(t, shelf, b, "unknown", []ken.Taint{one}); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("an unknown turn: %v", err)
		}
	})
}

func TestIDsThatCanNotBeKeys(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		for _, id := range []string{"", strings.Repeat("x", 257), "a\x00b", "a\nb"} {
			var e *ken.Error
			if err := b.Put(t.Context(), turn(id, "s")); !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != "turn" {
				t.Errorf("turn %.20q: %v", id, err)
			}
			if id == "" {
				continue
			}
			if err := b.Put(t.Context(), turn("t", id)); !errors.As(err, &e) || e.Field != "session" {
				t.Errorf("session %.20q: %v", id, err)
			}
			if _, err := b.Get(t.Context(), id); !errors.Is(err, ken.ErrNotFound) {
				t.Errorf("get %.20q: %v", id, err)
			}
			if got := list(t, b, receipt.Query{Session: id}); len(got) != 0 {
				t.Errorf("list %.20q: %q", id, got)
			}
		}
		if got := bytes(t, shelf); got != "" {
			t.Errorf("on the shelf: %s", got)
		}
		// Those that can be do not reach into each other.
		put(t, b, turn("a/b", "x"), turn("a", "x/y"), turn("../a", strings.Repeat("é", 128)))
		if got := list(t, b, receipt.Query{Session: "x"}); !slices.Equal(got, []string{"a/b"}) {
			t.Errorf("%q", got)
		}
		if n, err := b.ForgetSession(t.Context(), "x"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := list(t, b, receipt.Query{}); !slices.Equal(got, []string{"../a", "a"}) {
			t.Errorf("%q", got)
		}
	})
}

// Several processes store receipts on one shelf.
func TestBooksShareAShelf(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		var wg sync.WaitGroup
		for p := range 4 {
			b := receipt.NewBook(shelf, at(monday, count(60)))
			wg.Go(func() {
				for i := range 25 {
					if err := b.Put(context.Background(), turn(fmt.Sprintf("%d-%02d", p, i), fmt.Sprint("s", p))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b := receipt.NewBook(shelf, receipt.Options{})
		all := list(t, b, receipt.Query{})
		if len(all) != 60 {
			t.Errorf("%d of 60 are kept", len(all))
		}
		of := 0
		for p := range 4 {
			mine := list(t, b, receipt.Query{Session: fmt.Sprint("s", p)})
			of += len(mine)
			if !slices.IsSortedFunc(mine, func(a, b string) int { return strings.Compare(b, a) }) {
				t.Errorf("process %d: %q", p, mine)
			}
		}
		if of != 60 {
			t.Errorf("%d of 60 are in a session", of)
		}
	})
}

func TestABookThatKeepsNone(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		put(t, receipt.NewBook(shelf, at(monday)), turn("old", "s"))
		b := receipt.NewBook(shelf, at(monday, count(-1)))
		put(t, b, turn("t1", "s"))
		if b.Keeps() || !slices.Equal(list(t, b, receipt.Query{}), []string{"old"}) {
			t.Errorf("keeps %v: %q", b.Keeps(), list(t, b, receipt.Query{}))
		}
		if n, err := b.Prune(t.Context()); n != 1 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
		if got := list(t, b, receipt.Query{}); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for name, open := range shelves {
		b.Run(name, func(b *testing.B) {
			book := receipt.NewBook(open(b), receipt.Options{Now: func() time.Time { return monday }})
			r := turn("", "s")
			for range 8 {
				r.Items, r.Cut = append(r.Items, r.Items[0]), append(r.Cut, r.Cut[0])
			}
			for i := 0; b.Loop(); i++ {
				r.Turn = fmt.Sprint("t", i)
				if err := book.Put(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
