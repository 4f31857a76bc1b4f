package bolt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// maxProblems is the maximum number of problems that one check reports.
const maxProblems = 100

// checker holds the state of one check.
type checker struct {
	s      *Store
	report store.CheckReport
}

func (k *checker) problem(part, format string, args ...any) {
	if len(k.report.Problems) < maxProblems {
		k.report.Problems = append(k.report.Problems, store.Problem{Part: part, What: fmt.Sprintf(format, args...)})
	}
	k.report.Found++
}

// Check compares the file with itself: its pages, the hash chain of the log, the checksum of
// every value, and every claim with the events about it. It reports progress to o.Progress
// and writes nothing. Writers continue meanwhile. The error is that of ctx; the problems
// found are in the report.
func (s *Store) Check(ctx context.Context) (store.CheckReport, error) {
	k := &checker{s: s, report: store.CheckReport{Owner: s.o.Owner}}
	for _, part := range []func(context.Context) error{k.pages, k.log, k.values, k.claims, k.index} {
		if err := part(ctx); err != nil {
			if ctx.Err() != nil {
				return k.report, ctx.Err()
			}
			k.problem("pages", "%v", err)
		}
	}
	return k.report, nil
}

// pages checks the structure of the file's pages. Writers wait meanwhile: during a write,
// the check would see pages that are in use and not linked yet.
func (k *checker) pages(context.Context) error {
	k.s.dbMu.RLock()
	defer k.s.dbMu.RUnlock()
	transaction := func(fn func(*bbolt.Tx) error) error { return write(k.s.db, fn) }
	if k.s.o.readOnly {
		transaction = k.s.read
	}
	err := k.s.protect(func() error {
		return transaction(func(tx *bbolt.Tx) error {
			problem := func(format string, args ...any) { k.problem("pages", format, args...) }
			return cmp.Or(checkPages(tx, filepath.Join(k.s.dir, dbFile), problem), errNoChange)
		})
	})
	if errors.Is(err, errNoChange) {
		return nil
	}
	return closedOr(err)
}

// log verifies the hash chain.
func (k *checker) log(ctx context.Context) error {
	r, err := k.s.VerifyLog(ctx)
	k.report.Events, k.report.Head = r.Events, r.Head
	if err != nil && ctx.Err() == nil {
		k.problem("log", "%v", err)
	}
	return ctx.Err()
}

// values verifies the checksums of all values in sealedBuckets.
func (k *checker) values(ctx context.Context) error {
	for _, bucket := range sealedBuckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := k.s.view(func(tx *bbolt.Tx) error {
			return tx.Bucket(bucket).ForEach(func(key, v []byte) error {
				if _, err := k.s.unseal(bucket, key, v); err != nil {
					k.problem(string(bucket), "%x: %v", key, err)
				}
				k.report.Values++
				return nil
			})
		})
		if err != nil {
			k.problem(string(bucket), "%v", err)
		}
	}
	return nil
}

// claims rebuilds each claim from its events and compares it with the stored claim.
func (k *checker) claims(ctx context.Context) error {
	s := k.s
	type record struct {
		id  uuid.UUID
		ref store.Ref
	}
	var all []record
	s.t.mu.RLock()
	for _, ref := range s.t.claims() {
		all = append(all, record{s.t.rows[ref].id, ref})
	}
	s.t.mu.RUnlock()
	for i, r := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i%1000 == 0 {
			s.o.Progress("check", i, len(all))
		}
		err := s.view(func(tx *bbolt.Tx) error {
			have, err := s.claimAt(tx, r.ref)
			if err != nil {
				return err
			}
			want, err := k.folded(tx, r.id)
			switch {
			case err != nil:
				return err
			case have == nil && want != nil:
				k.problem("claims", "%s is in the log, but has no row", r.id)
			case have != nil && want == nil:
				k.problem("claims", "%s has a row, and the log does not know it", r.id)
			case have != nil && !sameClaim(have, want):
				k.problem("claims", "%s is not what the log says of it", r.id)
			}
			k.report.Claims++
			return nil
		})
		if err != nil {
			k.problem("claims", "%s: %v", r.id, err)
		}
	}
	s.o.Progress("check", len(all), len(all))
	return k.missing(ctx)
}

// missing looks for claims that are in the log but have no row.
func (k *checker) missing(ctx context.Context) error {
	written, gone := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for ev, err := range k.s.Events(ctx, 1) {
		if err != nil {
			return err
		}
		switch ev.Type {
		case ken.EventWritten:
			written[ev.Claim] = !ev.Erased()
		case ken.EventForgotten:
			gone[ev.Claim] = true
		}
	}
	for id, readable := range written {
		if _, _, ok := k.s.find(id); !ok && readable && !gone[id] {
			k.problem("claims", "%s is in the log, and has no row", id)
		}
	}
	return nil
}

// folded rebuilds a claim from its events. It returns nil when the events yield no claim.
func (k *checker) folded(tx *bbolt.Tx, id uuid.UUID) (*ken.Claim, error) {
	var now *ken.Claim
	err := trail(tx, id, func(ev *store.Event) error {
		changed, err := engine.Fold(func(other string) (*ken.Claim, error) {
			if other == id.String() {
				return now, nil
			}
			return &ken.Claim{ID: other}, nil // the state of the other claim does not matter here
		}, ev)
		for i := range changed {
			if changed[i].ID != id.String() {
				continue
			}
			if now = &changed[i]; now.Text == "" {
				now = nil
			}
		}
		return err
	})
	return now, err
}

// sameClaim compares claims in their stored form, in which a time has no zone.
func sameClaim(a, b *ken.Claim) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err != nil || err2 != nil {
		return false
	}
	var p, q any
	return json.Unmarshal(x, &p) == nil && json.Unmarshal(y, &q) == nil && reflect.DeepEqual(p, q)
}

// index compares the number of records in the keyword index with the number of records in
// the store.
func (k *checker) index(context.Context) error {
	x := k.s.index.Load()
	if x == nil {
		return nil
	}
	s := k.s
	before := s.shown.Load()
	have, want, mark := int(x.Count()), s.Len(), x.Watermark()
	if s.shown.Load() == before && mark == before && have != want {
		k.problem("index", "it has %d records of %d", have, want)
	}
	return nil
}

// precheck compares the length of a bbolt file with what its meta pages say, before bbolt
// maps it. Reading past the end of a mapped file kills the process, and bbolt reads some
// pages in goroutines of its own, where no recover catches the fault.
//
// A page starts with a header of 16 bytes. A meta page continues with magic 4, version 4,
// page size 4, flags 4, root 16, freelist 8, pages 8, transaction 8, in the byte order of
// the machine. There are two meta pages; the one with the higher transaction number is
// valid.
func precheck(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() == 0 {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), indexDir)); err == nil {
			return errors.New("the file is empty, but there is an index of what it held")
		}
		return nil
	}
	pageSize, pages, found := uint32(0), uint64(0), false
	var newest uint64
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		b := make([]byte, 80)
		if _, err := f.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		const magic = 0xED0CDAED
		if binary.NativeEndian.Uint32(b[16:]) != magic {
			continue
		}
		if tx := binary.NativeEndian.Uint64(b[64:]); !found || tx > newest {
			found, newest = true, tx
			pageSize, pages = binary.NativeEndian.Uint32(b[24:]), binary.NativeEndian.Uint64(b[56:])
		}
	}
	switch {
	case !found:
		return errors.New("it is not a bbolt file")
	case pages > uint64(fi.Size())/uint64(max(pageSize, 1)):
		return fmt.Errorf("the file is cut short: %d bytes, and it says %d pages of %d", fi.Size(), pages, pageSize)
	}
	return nil
}

// An open store reads all its values once a day, so that damage is found before the damaged
// data is needed. The committer does this between batches: scrubValues values every
// releaseEvery. A million values take two hours.
const (
	scrubValues = 256
	scrubRest   = 24 * time.Hour
)

// sealedBuckets are the buckets whose values have a checksum.
var sealedBuckets = [][]byte{bClaims, bRows, bClasses, bKeys, bAbout, bDocs, bShelf}

// scrubState is the progress of the daily scrub. Only the committer uses it.
type scrubState struct {
	bucket int               // of sealedBuckets; len(sealedBuckets) is the log
	next   []byte            // the first key that was not read
	prev   [sha256.Size]byte // the hash of the event before next
	loose  bool              // the event before next can't be read
	after  time.Time         // when to begin again
}

// scrub reads some of the file, and reports what is damaged.
func (s *Store) scrub() {
	p := &s.scrubbed
	if s.o.Now().Before(p.after) {
		return
	}
	err := s.view(func(tx *bbolt.Tx) error {
		name := bEvents
		if p.bucket < len(sealedBuckets) {
			name = sealedBuckets[p.bucket]
		}
		c := tx.Bucket(name).Cursor()
		k, v := c.Seek(p.next)
		for range scrubValues {
			if k == nil {
				break
			}
			if p.bucket < len(sealedBuckets) {
				if _, err := s.unseal(name, k, v); err != nil {
					s.noteDamage(damaged(fmt.Sprintf("read %s %x", name, k), err))
				}
			} else {
				s.scrubEvent(k, v)
			}
			k, v = c.Next()
		}
		if p.next = bytes.Clone(k); k == nil {
			p.bucket++
		}
		return nil
	})
	if err != nil || p.bucket > len(sealedBuckets) { // a page that makes no sense was reported
		*p = scrubState{after: s.o.Now().Add(scrubRest)}
	}
}

// scrubEvent checks an event, and that it follows the one before it.
func (s *Store) scrubEvent(k, v []byte) {
	p := &s.scrubbed
	ev, err := decodeEvent(k, v)
	if err == nil && !p.loose {
		err = ev.Verify(p.prev)
	}
	if p.loose = err != nil; p.loose {
		s.noteDamage(damaged(fmt.Sprintf("read event %x", k), err))
		return
	}
	p.prev = ev.Hash
}
