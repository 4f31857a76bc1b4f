package receipt_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

func TestHashBlock(t *testing.T) {
	if got, want := receipt.HashBlock("t1", "block"), fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("t1\x00block"))); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if receipt.HashBlock("t1", "block") == receipt.HashBlock("t2", "block") {
		t.Error("two turns with one block show it")
	}
	if got := receipt.HashBlock("t1", ""); got != "" {
		t.Errorf("of no block: %s", got)
	}
}

// The hash must not reveal the text of a forgotten claim. So it is deleted with any
// claim of the block, and with no other claim.
func TestForgettingAClaimErasesTheHash(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		put(t, b, turn("t1", "s"), turn("t2", "s"))
		for id, has := range map[string]bool{"claim-2": true, "chunk-1": false} {
			before := bytes(t, shelf)
			n, err := b.Holds(t.Context(), receipt.Traces{Claims: []string{id}}, nil)
			if changed, err := b.Forget(t.Context(), receipt.Traces{Claims: []string{id}}); err != nil || changed != n {
				t.Errorf("%s: %d changed, %d said, %v", id, changed, n, err)
			}
			if err != nil || has != (bytes(t, shelf) == before) {
				t.Errorf("%s: %v", id, err)
			}
			if id == "chunk-1" && (get(t, b, "t1").BlockHash != "" || strings.Contains(bytes(t, shelf), "block_hash")) {
				t.Errorf("the hash is still there: %+v", get(t, b, "t1"))
			}
		}
		if n, err := b.Forget(t.Context(), receipt.Traces{Claims: []string{"chunk-1"}}); n != 0 || err != nil {
			t.Errorf("again: %d, %v", n, err)
		}
	})
}

// What would go with sessions, and what would change, is counted once, and stays.
func TestHolds(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		put(t, b, turn("t1", "s"), turn("t2", "u"), turn("t3", ""))
		bare := turn("t4", "u")
		bare.Items = nil
		put(t, b, bare)
		before := bytes(t, shelf)
		for _, tt := range []struct {
			claims, sessions []string
			want             int
		}{{nil, nil, 0}, {[]string{"claim-1"}, nil, 3}, {nil, []string{"u", "", "none"}, 2}, {[]string{"claim-1"}, []string{"u"}, 4}} {
			n, err := b.Holds(t.Context(), receipt.Traces{Claims: tt.claims}, tt.sessions)
			if err != nil || n != tt.want {
				t.Errorf("%v of %v: %d, %v; want %d", tt.claims, tt.sessions, n, err, tt.want)
			}
		}
		if bytes(t, shelf) != before {
			t.Error("it changed something")
		}
	})
}

// The position in the journal is kept when a later request of the turn does not have
// it.
func TestThroughStays(t *testing.T) {
	onEach(t, func(t *testing.T, shelf store.Shelf) {
		b := receipt.NewBook(shelf, at(monday))
		for _, through := range []uint64{3, 0, 5} {
			rec := turn("t1", "s")
			rec.Through = through
			put(t, b, rec)
			if got := get(t, b, "t1").Through; got != max(through, 3) {
				t.Errorf("%d became %d", through, got)
			}
		}
	})
}
