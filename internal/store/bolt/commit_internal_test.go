package bolt

import (
	"context"
	"runtime"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// Who follows the log asks for what its events changed: an event that is on the disk
// is not there to be read before its claim can be found by what it is about.
func TestEventsComeWithWhatTheyChanged(t *testing.T) {
	s, err := Open(context.Background(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // it was only read
	c, err := ken.NewClaim("The checkout depends on payments.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	seen := func() (n int) {
		for _, err := range s.Events(t.Context(), 1) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	s.cache.mu.Lock() // what is committed waits here
	wrote := make(chan error)
	go func() {
		_, err := s.WriteClaim(context.Background(), c)
		wrote <- err
	}()
	for n := 0; n == 0; runtime.Gosched() {
		err := s.view(func(tx *bbolt.Tx) error {
			n = tx.Bucket(bEvents).Stats().KeyN
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := seen(); n > 0 || s.Seq() > 0 {
		t.Errorf("%d events up to %d, and nobody can find the claim", n, s.Seq())
	}
	s.cache.mu.Unlock()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if n := seen(); n != 1 || s.Seq() != 1 {
		t.Errorf("%d events up to %d, not one", n, s.Seq())
	}
}
