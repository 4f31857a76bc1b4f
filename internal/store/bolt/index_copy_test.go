package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// A snapshot includes the keyword index. A snapshot with a damaged index, or opened by an older
// program as a plain file, can still be opened.
func TestASnapshotHasTheIndex(t *testing.T) {
	race.SkipLong(t)
	l, src := &memoryLog{}, synth.New(1)
	s := open(t, t.TempDir(), bolt.Options{NoSync: true, Replica: l})
	const claims = 3000
	for range 3 {
		in := make([]store.Incoming, claims/3)
		for i := range in {
			in[i].Claim = src.Claim()
		}
		for _, o := range s.Import(t.Context(), in) {
			must(t, o.Err)
		}
	}
	must(t, l.Rewritten(t.Context(), s.Snapshot))
	late, err := ken.NewClaim("the ledger closes at noon", ken.FromUserStatement("s", "m"))
	must(t, err)
	_, err = s.WriteClaim(t.Context(), late)
	must(t, err)
	whole := l.snapshot
	damaged := bytes.Clone(whole)
	for i := len(damaged) - 40_000; i < len(damaged)-16; i++ {
		damaged[i] ^= 0x55
	}
	wrong := append(bytes.Clone(whole[:len(whole)-8]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	for name, c := range map[string]struct {
		snapshot []byte
		index    bool
		asFile   bool
		most     int // records that are indexed anew
	}{
		"with its index":           {whole, true, false, claims - 1},
		"without":                  {whole, false, false, claims + 1},
		"as a file":                {whole, false, true, claims + 1},
		"whose index is damaged":   {damaged, true, false, claims + 1},
		"whose trailer is damaged": {wrong, true, false, claims + 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, indexed := t.TempDir(), 0
			l.snapshot = c.snapshot
			o := bolt.Options{Progress: func(stage string, _, total int) {
				if stage == "index" {
					indexed = total
				}
			}}
			if c.asFile {
				must(t, os.WriteFile(filepath.Join(dir, "ken.db"), c.snapshot, 0o600))
				l = &memoryLog{records: l.records, snapshot: whole}
			}
			lock, err := bolt.Acquire(dir, o)
			must(t, err)
			if !c.asFile {
				must(t, lock.Restore(bytes.NewReader(c.snapshot), c.index))
			}
			at, _, err := lock.Mark()
			must(t, err)
			for _, r := range l.records {
				if r.Position > at.Position {
					must(t, lock.Apply([]bolt.Record{r}))
				}
			}
			got, err := lock.Open(context.Background())
			must(t, err)
			defer got.Close()
			for _, question := range []string{"when does the ledger close", src.Question()} {
				want, err := s.Keyword(t.Context(), question, &ken.Filter{}, 10)
				must(t, err)
				have, err := got.Keyword(t.Context(), question, &ken.Filter{}, 10)
				if err != nil || len(have.Hits) == 0 || len(have.Hits) != len(want.Hits) || have.Hits[0].Ref != want.Hits[0].Ref {
					t.Errorf("%q finds %v, not %v; %v", question, have.Hits, want.Hits, err)
				}
			}
			if indexed > c.most || c.most > claims && indexed != c.most {
				t.Errorf("%d of %d records are indexed anew", indexed, claims)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*restore*"))
			for _, path := range left {
				if filepath.Base(path) != "restored" {
					t.Errorf("left: %s", path)
				}
			}
		})
	}
}

// An index in a snapshot may come from anyone, so it must create no file outside of its folder.
func FuzzRestore(f *testing.F) {
	s, err := bolt.Open(context.Background(), f.TempDir(), bolt.Options{})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.Snapshot(func(_ uint64, file io.WriterTo) error { _, err := file.WriteTo(&b); return err }); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	file, archive := b.Bytes(), b.Bytes()[:len(b.Bytes())-16]
	begin := binary.BigEndian.Uint64(file[len(file)-8:])
	file, archive = file[:begin], archive[begin:]
	f.Add(archive)
	f.Add(archive[:1000])
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := t.TempDir()
		lock, err := bolt.Acquire(filepath.Join(dir, "ada"), bolt.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		whole := append(append(bytes.Clone(file), archive...), "ken+idx1"...)
		if err := lock.Restore(bytes.NewReader(binary.BigEndian.AppendUint64(whole, begin)), true); err != nil {
			t.Errorf("the file is whole: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// A process that is killed while it copies its index leaves words behind. Who opens the store next
// removes them.
func TestCopiesOfAnIndexAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]")
	must(t, os.Mkdir(dir, 0o700))
	closeStore(t, open(t, dir, quiet()))
	left := filepath.Join(dir, "snapshot-index-123", "store")
	must(t, os.MkdirAll(left, 0o700))
	must(t, os.WriteFile(filepath.Join(left, "words"), []byte("brandywhistle"), 0o600))
	closeStore(t, open(t, dir, quiet()))
	if _, err := os.Stat(filepath.Dir(left)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
