package bolt

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// Pages of what only grows are filled: a file with half of each page empty is twice as long to
// read, to copy and to send.
func TestPagesAreFilled(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	src := synth.New(1)
	for range 10 {
		in := make([]store.Incoming, 100)
		for i := range in {
			in[i].Claim = src.Claim()
		}
		for _, o := range s.Import(t.Context(), in) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
		}
	}
	err = s.db.View(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bEvents, bClaims, bRows} {
			if b := tx.Bucket(name).Stats(); b.LeafInuse*100 < b.LeafAlloc*60 {
				t.Errorf("%s has %d bytes in pages of %d", name, b.LeafInuse, b.LeafAlloc)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A commit may fail although the file shows it, for example when the last sync fails. Then it
// is made durable and succeeds. If that also fails, the next write finds the commit and does
// not overwrite it.
func TestACommitThatFailsLate(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fails := 0
	s.lateError = func() error {
		if fails--; fails >= 0 {
			return errors.New("input/output error")
		}
		return nil
	}
	learn := func(text string) func() (string, error) {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", ""))
		if err != nil {
			t.Fatal(err)
		}
		ctx := store.WithCommit(t.Context(), uuid.Must(uuid.NewV7()))
		return func() (string, error) { return s.WriteClaim(ctx, c) }
	}

	fails = 1
	if _, err := learn("The port is 8080.")(); err != nil {
		t.Errorf("it is durable, and failed: %v", err)
	}
	second := learn("Backups go to Oslo.")
	fails = 2
	if _, err := second(); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("it is not known to be durable: %v", err)
	}
	if _, err := learn("Deploys run on Tuesday.")(); err != nil {
		t.Error(err)
	}
	if _, err := second(); err != nil {
		t.Errorf("again, under its name: %v", err)
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.VerifyLog(t.Context()); err != nil {
		t.Error(err)
	}
	texts := map[string]int{}
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		texts[c.Text]++
	}
	if len(texts) != 3 || texts["Backups go to Oslo."] != 1 {
		t.Errorf("%v", texts)
	}
}
