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

// A file written by a program without names opens as if it were current, and reports its
// progress.
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

// A store of the layout before opens as if it had been written today.
func TestUpgradeOfShortRows(t *testing.T) {
	dir := t.TempDir()
	reopen := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := reopen()
	var ids []string
	for _, text := range []string{"Ada: when did you move?", "Bob: I moved last May."} {
		id, err := s.WriteClaim(t.Context(), ken.Claim{Text: text, Session: "s", Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	before := s.Form(1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(dir+"/"+dbFile, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := withoutSums(tx); err != nil {
			return err
		}
		rows := tx.Bucket(bRows)
		short := map[string][]byte{}
		if err := rows.ForEach(func(k, v []byte) error {
			short[string(k)] = append([]byte{}, v[:shortRow]...)
			return nil
		}); err != nil {
			return err
		}
		for k, v := range short {
			if err := rows.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return tx.Bucket(bMeta).Put(kLayout, []byte{layoutShortRows})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // upgraded once, then as it is
		s = reopen()
		if got := s.Form(1); got != before || got.Words != 4 || got.Traits == 0 {
			t.Errorf("form %+v, was %+v", got, before)
		}
		if prior, _ := s.Around(1, 3); len(prior) != 1 || prior[0] != 0 {
			t.Errorf("before the second: %v", prior)
		}
		for _, id := range ids {
			if !s.Has(id) {
				t.Errorf("%s is gone", id)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutSums takes the checksums off all values, as programs before layout 3 wrote them.
func withoutSums(tx *bbolt.Tx) error {
	if err := tx.Bucket(bMeta).Delete(kSealed); err != nil {
		return err
	}
	for _, bucket := range [][]byte{bClaims, bRows, bClasses, bKeys, bAbout, bDocs, bShelf} {
		plain := map[string][]byte{}
		err := tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			v, err := (&Store{}).unseal(bucket, k, v)
			plain[string(k)] = bytes.Clone(v)
			return err
		})
		if err != nil {
			return err
		}
		for k, v := range plain {
			if err := tx.Bucket(bucket).Put([]byte(k), v); err != nil {
				return err
			}
		}
	}
	return nil
}

// A store without checksums opens, and has them after a rebuild.
func TestUpgradeOfValuesWithoutChecksums(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.WriteClaim(t.Context(), ken.Claim{Text: "the port is 8080", Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}})
	if err != nil {
		t.Fatal(err)
	}
	old := func(tx *writeTx) error {
		return errors.Join(withoutSums(tx.Tx), tx.Bucket(bMeta).Put(kLayout, []byte{layoutNoSums}))
	}
	if err := errors.Join(s.update(old), s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if c, err := s.Get(t.Context(), id); err != nil || c.Text != "the port is 8080" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bClaims).ForEach(func(k, v []byte) error {
			if plain, err := s.unseal(bClaims, k, v); err != nil || len(plain) != len(v)-sumSize {
				t.Errorf("record %x has no checksum: %v", k, err)
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
