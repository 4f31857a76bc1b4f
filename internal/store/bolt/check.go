package bolt

import (
	"bytes"
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
	"github.com/kenlayer/ken/store"
)

// maxProblems bounds what one check lists.
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

// Check compares the file with itself: its pages, the log's hash chain, every value's
// checksum, and every claim with what the log says of it. It tells o.Progress, and writes
// nothing. Writers go on meanwhile. The error is ctx's; what is wrong is in the report.
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

// pages has bbolt check how its pages hang together. Writers wait meanwhile: beside one,
// it would see pages that are in use and not yet linked.
func (k *checker) pages(context.Context) error {
	k.s.dbMu.RLock()
	defer k.s.dbMu.RUnlock()
	transaction := func(fn func(*bbolt.Tx) error) error { return write(k.s.db, fn) }
	if k.s.o.readOnly {
		transaction = k.s.read
	}
	err := k.s.protect(func() error {
		return transaction(func(tx *bbolt.Tx) error {
			// bbolt checks on a goroutine of its own, where a page that is not there would end
			// the process.
			if _, err := tx.WriteTo(io.Discard); err != nil {
				k.problem("pages", "the file can't be read to its end: %v", err)
				return errNoChange
			}
			for err := range tx.Check() {
				k.problem("pages", "%v", err)
			}
			return errNoChange
		})
	})
	if errors.Is(err, errNoChange) {
		return nil
	}
	return closedOr(err)
}

// log computes the hash chain again.
func (k *checker) log(ctx context.Context) error {
	r, err := k.s.VerifyLog(ctx)
	k.report.Events, k.report.Head = r.Events, r.Head
	if err != nil && ctx.Err() == nil {
		k.problem("log", "%v", err)
	}
	return ctx.Err()
}

// values checks the checksums of what is served.
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

// claims folds what the log says of each claim and compares it with the claim.
func (k *checker) claims(ctx context.Context) error {
	s := k.s
	s.t.mu.RLock()
	type record struct {
		id  uuid.UUID
		ref store.Ref
	}
	var all []record
	for i := range s.t.rows {
		if r := &s.t.rows[i]; !r.gone() && r.flags&flagDocument == 0 {
			all = append(all, record{r.id, store.Ref(i)})
		}
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
				k.problem("claims", "%s is in the log, and its row is gone", r.id)
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
	return k.missing(ctx)
}

// missing looks for claims that the log has and the rows have not.
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

// folded is a claim as its events make it; nil when they make none.
func (k *checker) folded(tx *bbolt.Tx, id uuid.UUID) (*ken.Claim, error) {
	var now *ken.Claim
	cur := tx.Bucket(bTrail).Cursor()
	for key, _ := cur.Seek(id[:]); bytes.HasPrefix(key, id[:]); key, _ = cur.Next() {
		ev, err := eventAt(tx, key[16:])
		if err != nil {
			return nil, err
		}
		changed, err := store.Fold(func(other string) (*ken.Claim, error) {
			if other == id.String() {
				return now, nil
			}
			return &ken.Claim{ID: other}, nil // what it becomes is not asked here
		}, ev)
		if err != nil {
			return nil, err
		}
		for i := range changed {
			if changed[i].ID != id.String() {
				continue
			}
			if now = &changed[i]; now.Text == "" {
				now = nil
			}
		}
	}
	return now, nil
}

// sameClaim compares claims as they are stored: a time loses its zone by that.
func sameClaim(a, b *ken.Claim) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err != nil || err2 != nil {
		return false
	}
	var p, q any
	return json.Unmarshal(x, &p) == nil && json.Unmarshal(y, &q) == nil && reflect.DeepEqual(p, q)
}

// index compares how many records the keyword index has with how many there are.
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

// precheck holds a bbolt file's length against what its meta pages say, before
// bbolt maps it: reading past the end of a mapped file kills the process, and
// bbolt reads some pages in goroutines of its own, out of any recover's reach.
//
// A page starts with a header of 16 bytes; a meta page goes on with magic 4,
// version 4, page size 4, flags 4, root 16, freelist 8, pages 8, transaction 8,
// in the machine's byte order. There are two, and the later transaction counts.
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

// A store that is open reads everything in it once a day, so that damage is known before
// what is damaged is needed. It does so on the committer, between batches, scrubValues every
// releaseEvery: a million values take two hours.
const (
	scrubValues = 256
	scrubRest   = 24 * time.Hour
)

// sealedBuckets are those whose values have a checksum.
var sealedBuckets = [][]byte{bClaims, bRows, bClasses, bKeys, bAbout, bDocs, bShelf}

// scrubState is how far the reading has come. It belongs to the committer.
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
					s.report(damaged(fmt.Sprintf("read %s %x", name, k), err))
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
		s.report(damaged(fmt.Sprintf("read event %x", k), err))
		return
	}
	p.prev = ev.Hash
}
