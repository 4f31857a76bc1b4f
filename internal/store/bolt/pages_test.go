package bolt_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// The pages of a file say wrong things of themselves. The check names the page, ends, and keeps the
// process alive.
func TestCheckOfPagesThatLie(t *testing.T) {
	const size = 4096
	dir, _ := furnished(t)
	path := filepath.Join(dir, "ken.db")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var leaf, branch int // pages of the bucket trail, which nothing reads when a store is opened
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		branch = int(tx.Bucket([]byte("trail")).Root())
		leaf = int(binary.NativeEndian.Uint64(good[branch*size+16+8:]))
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string]struct {
		page, at int // at is a byte of the page
		value    uint32
	}{
		"it has more pages than the file":   {leaf, 12, 1 << 31},
		"it is another page":                {leaf, 0, 1},
		"it has more elements than room":    {leaf, 8, 2 | 60_000<<16},
		"it is no tree":                     {leaf, 8, 0x20},
		"a key is longer than the file":     {leaf, 16 + 8, 1 << 30},
		"a key is far outside":              {leaf, 16 + 4, 1 << 31},
		"keys are out of order":             {leaf, 16 + 4, 16},
		"a child is behind the end":         {branch, 16 + 8, 1 << 30},
		"two elements lead to one page":     {branch, 16 + 8, binary.NativeEndian.Uint32(good[branch*size+32+8:])},
		"the key of a branch is far behind": {branch, 16, 1 << 31},
	} {
		t.Run(name, func(t *testing.T) {
			bad := slices.Clone(good)
			binary.NativeEndian.PutUint32(bad[lie.page*size+lie.at:], lie.value)
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, "ken.db.damaged")), os.WriteFile(path, bad, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, err := bolt.Open(t.Context(), dir, quiet())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			report, err := s.Check(t.Context())
			of := func(p store.Problem) bool { return p.Part == "pages" }
			if err != nil || !slices.ContainsFunc(report.Problems, of) {
				t.Errorf("the check finds %v, %v", report.Problems, err)
			}
		})
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, quiet())
	if report, err := s.Check(t.Context()); err != nil || report.Found > 0 {
		t.Errorf("the check of the good file finds %v, %v", report.Problems, err)
	}
}

// without opens the file of a closed store and deletes the keys of a bucket that pick accepts.
func without(t *testing.T, dir, bucket string, pick func(k, v []byte) bool) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		c, n := tx.Bucket([]byte(bucket)).Cursor(), 0
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if !pick(k, v) {
				continue
			}
			if n++; c.Delete() != nil {
				return errors.New("delete")
			}
		}
		if n == 0 {
			return fmt.Errorf("nothing to delete in %s", bucket)
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A claim that a damaged page no longer leads to is reported. It does not count as removed.
func TestALostClaimIsReported(t *testing.T) {
	dir, led := furnished(t)
	lost := ""
	for id, text := range led.texts {
		if text == "the port of service17 is 8017" {
			lost = id
		}
	}
	n := 0
	without(t, dir, "claims", func(_, v []byte) bool { n++; return n == 18 })
	s := open(t, dir, quiet())
	if _, err := s.Get(t.Context(), lost); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("get: %v", err)
	}
	if faults, _ := s.Faults(t.Context()); len(faults) != 1 || faults[0].Name != store.FaultDamaged {
		t.Errorf("faults %v", faults)
	}
	read, failed := 0, error(nil)
	for _, err := range s.Claims(t.Context()) {
		if failed = err; err == nil {
			read++
		}
	}
	if read != 119 || !errors.Is(failed, ken.ErrCorrupt) {
		t.Errorf("an export has %d claims and ends with %v", read, failed)
	}
}

// A claim without the list of its events is not one that was forgotten, so an export does not leave it out in silence.
func TestALostHistoryIsReported(t *testing.T) {
	dir, led := furnished(t)
	without(t, dir, "trail", func(_, _ []byte) bool { return true })
	s := open(t, dir, quiet())
	for id, text := range led.texts {
		chunk := text == "func main starts the server"
		if _, err := s.History(t.Context(), id); !errors.Is(err, ken.ErrCorrupt) && !chunk || chunk && !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("the history of %q: %v", text, err)
		}
	}
}

// A claim that is forgotten while all are read ends no reading.
func TestClaimsWhileOneIsForgotten(t *testing.T) {
	s := open(t, t.TempDir(), quiet())
	for i := range 3 {
		write(t, s, claim(t, fmt.Sprintf("the port of service%d is %d", i, 8000+i)))
	}
	n := 0
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n > 1 {
			continue
		}
		var other []ken.Claim
		for o, err := range s.Claims(t.Context()) {
			if err == nil && o.ID != c.ID {
				other = append(other, o)
			}
		}
		if _, err := s.Forget(t.Context(), other[0].ID, "", ken.Actor{}); err != nil {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d claims were read", n)
	}
}

// A page of rows leads twice to one row. The store is rebuilt from its log, and does not open without the row in between.
func TestARowThatIsReadTwice(t *testing.T) {
	const size = 4096
	dir, led := furnished(t)
	path := filepath.Join(dir, "ken.db")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	page := 0
	err = db.View(func(tx *bbolt.Tx) error {
		page = int(tx.Bucket([]byte("rows")).Root()) * size
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	leaf := file[int(binary.NativeEndian.Uint64(file[page+16+8:]))*size:]
	second, third := leaf[16+16:], leaf[16+32:]
	binary.NativeEndian.PutUint32(third[4:], binary.NativeEndian.Uint32(second[4:])-16)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, quiet())
	if served := led.compareTold(t, s, "a row read twice", true); served != len(led.texts) {
		t.Errorf("%d of %d claims are there", served, len(led.texts))
	}
}
