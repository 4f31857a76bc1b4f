package memory_test

import (
	"bytes"
	"testing"

	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

func TestShelf(t *testing.T) {
	storetest.Shelf(t, func(*testing.T) store.Shelf { return memory.NewShelf() })
}

func TestShelfOfAStoreIsOne(t *testing.T) {
	s := memory.New(memory.Options{})
	if s.Shelf() != s.Shelf() {
		t.Error("each call gives another shelf")
	}
	storetest.Shelf(t, func(*testing.T) store.Shelf { return memory.New(memory.Options{}).Shelf() })
}

// On disk, such bytes are in memory that may be unmapped later.
func TestBytesKeptTooLongAreZeros(t *testing.T) {
	s := memory.NewShelf()
	var kept [][]byte
	err := s.Update(t.Context(), func(tx store.ShelfTx) error {
		if err := tx.Put("a", []byte("value")); err != nil {
			return err
		}
		kept = append(kept, tx.Get("a"))
		for _, v := range tx.Scan("") {
			kept = append(kept, v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range kept {
		if !bytes.Equal(b, make([]byte, 5)) {
			t.Errorf("still %q", b)
		}
	}
	err = s.View(t.Context(), func(r store.ShelfReader) error {
		if got := string(r.Get("a")); got != "value" {
			t.Errorf("the value itself is %q", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkShelfUpdate(b *testing.B) {
	s := memory.NewShelf()
	key := []byte("jobs/0000")
	for i := 0; b.Loop(); i++ {
		for at, n := len(key)-1, i; at > 4; at, n = at-1, n/10 {
			key[at] = byte('0' + n%10)
		}
		if err := s.Update(b.Context(), func(tx store.ShelfTx) error { return tx.Put(string(key), key) }); err != nil {
			b.Fatal(err)
		}
	}
}
