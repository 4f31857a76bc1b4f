package bolt

import (
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/sharedview"
	"github.com/kenlayer/ken/store"
)

// A file that was last written by a program which does not know what was approved is
// caught up with when it is opened, once.
func TestApprovedIsFoundInOlderFiles(t *testing.T) {
	dir, o := t.TempDir(), Options{NoSync: true}
	shared := func(s *sharedview.View) (n int) {
		t.Helper()
		res, err := s.Newest(t.Context(), &ken.Filter{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Hits)
	}
	s, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []ken.Evidence{ken.FromHumanAssertion("ada", time.Now(), ""), ken.FromUserStatement("s", "m")} {
		c, err := ken.NewClaim("Said by "+string(e.Kind)+".", e)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if n := shared(sharedview.New(s, time.Now())); n != 1 {
		t.Fatalf("%d are shared, want 1", n)
	}
	err = s.update(func(tx *bbolt.Tx) error { // as such a program leaves it
		for ref := range s.t.rows {
			r := s.t.rows[ref]
			r.flags &^= flagApproved
			key := key32(store.Ref(ref))
			if err := tx.Bucket(bRows).Put(key, seal(bRows, key, r.encode())); err != nil {
				return err
			}
		}
		return tx.Bucket(bMeta).Put(kApproved, key64(s.commit-1))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = Open(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		if n := shared(sharedview.New(s, time.Now())); n != 1 {
			t.Errorf("%d are shared after it was opened again, want 1", n)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
