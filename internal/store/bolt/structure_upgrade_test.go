package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// A file that a program has written which knows nothing of names opens as if it had
// been written today, and tells how far that is.
func TestUpgradeOfAFileWithoutNames(t *testing.T) {
	for name, change := range map[string]func(tx *bbolt.Tx) error{
		"it never knew": func(tx *bbolt.Tx) error {
			if err := tx.DeleteBucket(bAbout); err != nil {
				return err
			}
			return tx.Bucket(bMeta).Delete(kAbout)
		},
		"it was last written by one": func(tx *bbolt.Tx) error {
			for ref := range store.Ref(4) { // of commits after the fourth, one is missing and one is old
				if ref == 2 {
					if err := tx.Bucket(bAbout).Delete(key32(4 + ref)); err != nil {
						return err
					}
					continue
				}
				first, err := (&Store{}).unseal(bAbout, key32(0), tx.Bucket(bAbout).Get(key32(0)))
				if err != nil {
					return err
				}
				if err := tx.Bucket(bAbout).Put(key32(4+ref), bytes.Clone(first)); err != nil {
					return err
				}
			}
			return tx.Bucket(bMeta).Put(kAbout, key64(4))
		},
		"it kept no words of rules": func(tx *bbolt.Tx) error {
			return tx.Bucket(bAbout).ForEach(func(k, v []byte) error {
				v, err := (&Store{}).unseal(bAbout, k, v)
				if err != nil {
					return err
				}
				about, err := outline.Decode(v)
				if err != nil {
					return err
				}
				about.Said = nil
				return tx.Bucket(bAbout).Put(bytes.Clone(k), about.Append(nil))
			})
		},
		"what it says can't be read": func(tx *bbolt.Tx) error { return tx.Bucket(bAbout).Put(key32(3), []byte("?")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			stages := map[string]int{}
			reopen := func() *Store {
				t.Helper()
				s, err := Open(t.Context(), dir, Options{Progress: func(stage string, done, total int) { stages[stage] = total - done }})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := reopen()
			for i := range 8 {
				c := ken.Claim{Text: fmt.Sprint("claim ", i), Entities: []string{fmt.Sprint("Name-", i), "shared"}, Aspect: "a", Constraint: i%2 == 0,
					Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
				if i == 7 {
					c.Entities = nil
				}
				if _, err := s.WriteClaim(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			want := toldBy(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := bbolt.Open(dir+"/"+dbFile, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *bbolt.Tx) error { return errors.Join(withoutSums(tx), change(tx)) }); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			clear(stages)
			for n := range 2 { // upgraded once, then as it is
				s = reopen()
				if diff := cmp.Diff(want, toldBy(t, s)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if left, told := stages["structure"]; told != (n == 0) || left != 0 {
					t.Errorf("open %d told of %v", n, stages)
				}
				clear(stages)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func toldBy(t *testing.T, s *Store) (out []any) {
	t.Helper()
	ask := []string{""}
	for c, err := range s.Names(context.Background(), &ken.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		out, ask = append(out, c), append(ask, c.Name)
	}
	ask = append(ask, "claim", "claim 6", "claim 3")
	got, err := s.Outlines(context.Background(), ask, &ken.Filter{}, store.OutlineOptions{Mentioned: ask})
	if err != nil || len(ask) < 8 || len(got[len(got)-3].Constraints) != 4 || len(got[len(got)-2].Constraints) != 1 || len(got[len(got)-1].Constraints) != 0 {
		t.Fatal(ask, err, got)
	}
	return append(out, got)
}
