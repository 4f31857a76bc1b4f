package bolt

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// A store that is open finds damage that nobody has met, of each bucket and of the log, and
// finds nothing in what is whole, erased events included.
func TestAnOpenStoreFindsDamageByItself(t *testing.T) {
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ids []string
	for i := range 400 {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Text: fmt.Sprintf("the port of service%d is %d", i, 8000+i), Key: fmt.Sprint("k", i), Entities: []string{fmt.Sprint("service", i)},
			Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error { return tx.Put("k", []byte("v")) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), ids[7], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	pass := func() {
		t.Helper()
		err := s.submit(t.Context(), &request{done: make(chan error, 1), solo: func() error {
			s.scrubbed.after = time.Time{}
			for range 100 {
				s.scrub()
			}
			if !s.scrubbed.after.Equal(now.Add(scrubRest)) {
				return fmt.Errorf("a hundred steps later it is at %+v", s.scrubbed)
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	pass()
	if faults, _ := s.Faults(t.Context()); len(faults) > 0 {
		t.Fatalf("of a good store: %v", faults)
	}
	for _, bucket := range [][]byte{bClaims, bRows, bKeys, bAbout, bShelf, bEvents} {
		err := s.db.Update(func(tx *bbolt.Tx) error {
			k, v := tx.Bucket(bucket).Cursor().Last()
			v = bytes.Clone(v)
			v[len(v)/2] ^= 1
			return tx.Bucket(bucket).Put(bytes.Clone(k), v)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pass()
	faults, _ := s.Faults(t.Context())
	if len(faults) != 1 || faults[0].Name != store.FaultDamaged || !strings.HasPrefix(faults[0].Cause, "6 values can't be read") {
		t.Errorf("%v", faults)
	}
}
