package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

// memoryLog is a bolt.Replica in memory.
type memoryLog struct {
	mu       sync.Mutex // guards the rest
	last     uint64
	records  []bolt.Record
	snapshot []byte
	fail     error
}

func (l *memoryLog) Append(changes []byte) (bolt.LogMark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last += 3 // positions need not be dense
	at := bolt.LogMark{Position: l.last, ID: 7 * l.last}
	l.records = append(l.records, bolt.Record{LogMark: at, Changes: bytes.Clone(changes)})
	return at, l.fail
}

func (l *memoryLog) Failed(err error) error { return err }
func (l *memoryLog) Synced() error          { return nil }

func (l *memoryLog) Rewritten(_ context.Context, snapshot func(func(uint64, io.WriterTo) error) error) error {
	var b bytes.Buffer
	at := uint64(0)
	err := snapshot(func(position uint64, file io.WriterTo) error {
		at = position
		_, err := file.WriteTo(&b)
		return err
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshot = b.Bytes()
	l.records = slices.DeleteFunc(l.records, func(r bolt.Record) bool { return r.Position <= at })
	return nil
}

// follow makes a folder from the log.
func (l *memoryLog) follow(t *testing.T, dir string, o bolt.Options) *bolt.Lock {
	t.Helper()
	lock, err := bolt.Acquire(dir, o)
	must(t, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _, err := lock.Mark()
	must(t, err)
	if l.snapshot != nil && at.Position == 0 {
		must(t, lock.Restore(bytes.NewReader(l.snapshot), true))
		at, _, err = lock.Mark()
		must(t, err)
	}
	var rest []bolt.Record
	for _, r := range l.records {
		if r.Position > at.Position {
			rest = append(rest, r)
		}
	}
	must(t, lock.Apply(rest))
	return lock
}

// dump is what a file holds, by bucket and key.
func dump(t *testing.T, dir string) map[string]string {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "ken.db"), 0o600, &bbolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	out := map[string]string{}
	must(t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			out[string(name)] = ""
			return b.ForEach(func(k, v []byte) error {
				out[string(name)+"/"+string(k)] = string(v)
				return nil
			})
		})
	}))
	return out
}

// openReplicated opens a store, and checks when the test ends that its log reproduces
// an equal file.
func openReplicated(t *testing.T, o storetest.Options) *bolt.Store {
	t.Helper()
	l, dir := &memoryLog{}, t.TempDir()
	b := bolt.Options{Owner: o.Owner, Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true, Replica: l}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	t.Cleanup(func() {
		other := t.TempDir()
		must(t, l.follow(t, other, bolt.Options{Owner: o.Owner}).Release())
		want, got := dump(t, dir), dump(t, other)
		for k, v := range want {
			if have, ok := got[k]; !ok || have != v {
				t.Errorf("%q is %q in the file and %q (%v) in what the log makes", k, v, have, ok)
			}
		}
		if len(got) != len(want) {
			t.Errorf("the log makes %d values, the file has %d", len(got), len(want))
		}
	})
	return open(t, dir, b)
}

// What a store does is in its log: another folder that follows the log is equal.
func TestAReplicaIsEqual(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return openReplicated(t, o) })
	storetest.RunProjections(t, openReplicated)
	storetest.Shelf(t, func(t *testing.T) store.Shelf { return openReplicated(t, storetest.Options{}).Shelf() })
}

// After a failed append the store stops writing, because it is unknown whether the log
// has the write. A folder that follows the log continues.
func TestALogThatIsNotReached(t *testing.T) {
	l, dir := &memoryLog{}, t.TempDir()
	s := open(t, dir, bolt.Options{Replica: l})
	write(t, s, claim(t, "the port is 8080"))
	l.fail = errors.New("the network is down")
	if _, err := s.WriteClaim(t.Context(), claim(t, "the host is ada")); !errors.Is(err, l.fail) || !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("it says %v", err)
	}
	l.fail = nil
	if _, err := s.WriteClaim(t.Context(), claim(t, "the user is root")); err == nil {
		t.Error("it goes on although the log may have more than the file")
	}
	if got := texts(t, s, "host"); len(got) != 0 {
		t.Errorf("it shows %q", got)
	}
	must(t, s.Close())
	must(t, l.follow(t, dir, bolt.Options{}).Release())
	s = open(t, dir, bolt.Options{Replica: l})
	if got := texts(t, s, "host"); len(got) != 1 { // the log had it
		t.Errorf("it shows %q", got)
	}
	write(t, s, claim(t, "the user is root"))
}

// What was forgotten is in no record and no snapshot.
func TestForgettingReachesTheLog(t *testing.T) {
	l := &memoryLog{}
	s := open(t, t.TempDir(), bolt.Options{Replica: l})
	id := write(t, s, claim(t, "the password of the vault is xyzzy"))
	write(t, s, claim(t, "the port is 8080"))
	if _, err := s.Forget(t.Context(), id, "a secret", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(l.snapshot, []byte("xyzzy")) || len(l.snapshot) == 0 {
		t.Error("it is in the snapshot, or there is none")
	}
	for _, r := range l.records {
		if bytes.Contains(r.Changes, []byte("xyzzy")) {
			t.Errorf("it is in record %d", r.Position)
		}
	}
}

// Changes that are cut off are refused, and change nothing.
func TestChangesThatAreCutOff(t *testing.T) {
	l := &memoryLog{}
	s := open(t, t.TempDir(), bolt.Options{Replica: l})
	write(t, s, claim(t, "the port is 8080"))
	whole := l.records[len(l.records)-1].Changes
	lock, err := bolt.Acquire(t.TempDir(), bolt.Options{})
	must(t, err)
	defer lock.Release()
	must(t, lock.Apply(l.records[:1]))
	before, _, err := lock.Mark()
	must(t, err)
	refused := 0
	for n := 1; n < len(whole); n++ {
		if err := lock.Apply([]bolt.Record{{LogMark: bolt.LogMark{Position: before.Position + 1}, Changes: whole[:n]}}); err != nil {
			refused++
			if at, _, err := lock.Mark(); err != nil || at != before {
				t.Fatalf("cut at %d it moved the mark to %v, %v", n, at, err)
			}
			continue
		}
		must(t, lock.SetMark(before)) // it ended between two changes
	}
	if refused < len(whole)*9/10 {
		t.Errorf("%d of %d are refused", refused, len(whole))
	}
}

func FuzzApply(f *testing.F) {
	l := &memoryLog{}
	s, err := bolt.Open(f.Context(), f.TempDir(), bolt.Options{Replica: l})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	for _, r := range l.records {
		f.Add(r.Changes)
	}
	lock, err := bolt.Acquire(f.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = lock.Release() })
	f.Fuzz(func(t *testing.T, changes []byte) { // it must not panic
		_ = lock.Apply([]bolt.Record{{LogMark: bolt.LogMark{Position: 1}, Changes: changes}})
	})
}
