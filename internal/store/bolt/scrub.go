package bolt

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// A store that is open reads everything in it once a day, so that damage is known before
// what is damaged is needed. It does so on the committer, between batches, scrubValues every
// releaseEvery: a million values take two hours.
const (
	scrubValues = 256
	scrubRest   = 24 * time.Hour
)

// sealedBuckets are those whose values have a checksum.
var sealedBuckets = [][]byte{bClaims, bRows, bClasses, bKeys, bAbout, bDocs, bShelf}

// scrubbing is how far the reading has come. It belongs to the committer.
type scrubbing struct {
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
		*p = scrubbing{after: s.o.Now().Add(scrubRest)}
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
