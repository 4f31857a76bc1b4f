package bolt

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
)

// A file that was written, or last written, by a program which knows nothing of
// references opens as if it had been written today, and only once does that take time.
func TestUpgradeOfAFileWithoutReferences(t *testing.T) {
	for name, change := range map[string]func(tx *bbolt.Tx) error{
		"it never knew": func(tx *bbolt.Tx) error {
			if err := tx.DeleteBucket(bRefers); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Delete(kRefers)
		},
		"it was last written by one": func(tx *bbolt.Tx) error {
			if err := tx.Bucket(bRefers).Delete(pair(referPrefix("Test3"), key32(3))); err != nil {
				return err
			}
			if err := tx.Bucket(bRefers).Put(pair(referPrefix("Test4"), key32(3)), nil); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Put(kRefers, key64(3))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, caughtUp := t.TempDir(), 0
			reopen := func() *Store {
				t.Helper()
				s, err := Open(t.Context(), dir, Options{NoSync: true, Progress: func(stage string, done, total int) {
					if stage == "references" && done == total {
						caughtUp++
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := reopen()
			var ids []string
			for i := range 6 {
				id, err := s.WriteClaim(t.Context(), ken.Claim{Text: fmt.Sprint("claim ", i), Evidence: []ken.Evidence{ken.FromTestResult(fmt.Sprint("Test", i), "")}})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(dir+"/"+dbFile, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(change); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				s = reopen()
				for i, id := range ids {
					refs, err := s.Referring(t.Context(), []string{fmt.Sprint("Test", i)}, &ken.Filter{})
					var got []string
					for _, ref := range refs {
						row, _ := s.Row(ref)
						got = append(got, row.ID)
					}
					if err != nil || !slices.Equal(got, []string{id}) {
						t.Errorf("claim %d: %v, %v", i, got, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if caughtUp != 1 {
				t.Errorf("caught up %d times", caughtUp)
			}
		})
	}
}

// A rebuild from the log brings the references back, and a claim that was revised is
// found by those that it has.
func TestReferencesFollowTheLog(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir(), Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []string{"TestOld", "TestNew"} {
		if _, err := s.WriteClaim(t.Context(), ken.Claim{Key: "k", Text: test + " passes", Evidence: []ken.Evidence{ken.FromTestResult(test, "")}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for test, want := range map[string]int{"TestOld": 0, "TestNew": 1} {
			if refs, err := s.Referring(t.Context(), []string{test}, &ken.Filter{}); err != nil || len(refs) != want {
				t.Errorf("%s: %v, %v", test, refs, err)
			}
		}
		if err := s.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
