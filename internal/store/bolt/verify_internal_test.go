package bolt

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// A log that is written to while it is verified is whole; one without its last event is
// not.
func TestVerifyLogAtItsEnd(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // nothing is left to write
	write := func(text string) error {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err == nil {
			_, err = s.WriteClaim(ctx, c)
		}
		return err
	}
	if err := write("The checkout depends on payments."); err != nil {
		t.Fatal(err)
	}
	events := func() (n int) {
		err := s.view(func(tx *bbolt.Tx) error {
			n = tx.Bucket(bEvents).Stats().KeyN
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.cache.mu.Lock() // what is committed waits here
	wrote := make(chan error)
	go func() { wrote <- write("Payments depend on the ledger.") }()
	for events() < 2 {
		runtime.Gosched()
	}
	if r, err := s.VerifyLog(ctx); err != nil || r.Events != 1 {
		t.Errorf("during a write: %d events, %v", r.Events, err)
	}
	s.cache.mu.Unlock()
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if r, err := s.VerifyLog(ctx); err != nil || r.Events != 2 {
		t.Errorf("after it: %d events, %v", r.Events, err)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bEvents).Delete(key64(2)) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.VerifyLog(ctx); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("without its last event: %v", err)
	}
}
