package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// scanPage is the number of records that are read in one transaction. Transactions are
// short so that a slow reader doesn't keep old pages from being freed.
const scanPage = 2048

// Scan yields the claims that pass the filter and whose glance want accepts, oldest
// first. Repository chunks are left out. The filter runs on the rows in memory, and the
// glance is read from the stored bytes, so that a rejected claim is never decoded: a
// hundred thousand of them take about 0.2 s. A filter without a time tests no expiry.
func (s *Store) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		refs := s.passing(f)
		for len(refs) > 0 {
			n := min(len(refs), scanPage)
			page, err := s.scan(refs[:n], want)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(ken.Claim{}, err)
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			refs = refs[n:]
		}
	}
}

// passing returns the claims that pass a filter.
func (s *Store) passing(f *ken.Filter) []store.Ref {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	sv := s.t.filterFor(f)
	var refs []store.Ref
	for i := range s.t.rows {
		if s.t.rows[i].flags&flagDocument == 0 && sv.accept(store.Ref(i)) {
			refs = append(refs, store.Ref(i))
		}
	}
	return refs
}

// scan reads the wanted claims of a page. Claims that were removed meanwhile are
// skipped.
func (s *Store) scan(refs []store.Ref, want func(store.Glance) bool) (page []ken.Claim, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		cur := tx.Bucket(bClaims).Cursor()
		var k, v []byte
		key := key32(0)
		for i, ref := range refs {
			if i > 0 && k != nil { // usually the next key
				k, v = cur.Next()
			}
			if binary.BigEndian.PutUint32(key, ref); !bytes.Equal(k, key) {
				if k, v = cur.Seek(key); !bytes.Equal(k, key) {
					continue
				}
			}
			if want != nil && !want(glance(v)) { // glance ignores the checksum at the end
				continue
			}
			c, err := s.decodeClaim(ref, v)
			if err != nil {
				s.noteDamage(err)
				continue
			}
			page = append(page, *c)
		}
		return nil
	})
	return page, err
}

var (
	confidenceField   = []byte(`"confidence":`)
	supersededByField = []byte(`"superseded_by":"`)
	archivedAtField   = []byte(`"archived_at":`)
	expiresAtField    = []byte(`"expires_at":`)
	candidateField    = []byte(`"rule_candidate":true`)
)

// glance reads a few fields of a claim as plan.put wrote it. Decoding the claim would
// take fifty times as long. After confidence, no field of a claim holds free text (body
// comes before it), and quotes inside a string are escaped; so the last match of the
// field's name is the field.
func glance(v []byte) (g store.Glance) {
	at := bytes.LastIndex(v, confidenceField)
	if at < 0 {
		return g
	}
	rest := v[at+len(confidenceField):]
	if n := bytes.IndexAny(rest, ",}"); n >= 0 {
		g.Confidence, _ = strconv.ParseFloat(string(rest[:n]), 64)
	}
	if _, by, ok := bytes.Cut(rest, supersededByField); ok {
		by, _, _ = bytes.Cut(by, []byte(`"`))
		g.SupersededBy = string(by)
	}
	g.Archived = bytes.Contains(rest, archivedAtField)
	g.Candidate = bytes.Contains(rest, candidateField)
	g.Expires = bytes.Contains(rest, expiresAtField)
	return g
}

// Glances implements engine.Served.
func (s *Store) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []engine.Located, next store.Ref, done bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, false, err
	}
	next, done = s.passingFrom(f, from, n, func(ref store.Ref) { page = append(page, engine.Located{Ref: ref}) })
	err = s.view(func(tx *bbolt.Tx) error {
		claims := tx.Bucket(bClaims)
		page = slices.DeleteFunc(page, func(l engine.Located) bool { return claims.Get(key32(l.Ref)) == nil }) // removed meanwhile
		for i := range page {
			key := key32(page[i].Ref)
			v, err := s.unseal(bClaims, key, claims.Get(key))
			if err != nil { // a caller that reads the claim gets the error
				s.noteDamage(damaged(fmt.Sprintf("read record %d", page[i].Ref), err))
			}
			page[i].Glance = glance(v)
		}
		return nil
	})
	return page, next, done, err
}

// passingFrom yields up to n claims from a ref on that pass the filter.
func (s *Store) passingFrom(f *ken.Filter, from store.Ref, n int, yield func(store.Ref)) (next store.Ref, done bool) {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	var sv rowFilter
	if f != nil {
		sv = s.t.filterFor(f)
	}
	at := int(from)
	for ; at < len(s.t.rows) && n > 0; at++ {
		if r := &s.t.rows[at]; r.gone() || r.flags&flagDocument != 0 || f != nil && !sv.accept(store.Ref(at)) {
			continue
		}
		yield(store.Ref(at))
		n--
	}
	return store.Ref(at), at >= len(s.t.rows)
}

// Records implements engine.Served.
func (s *Store) Records(ctx context.Context, refs []store.Ref) ([]engine.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]engine.Record, 0, len(refs))
	err := s.view(func(tx *bbolt.Tx) error {
		for _, ref := range refs {
			c, err := s.claimAt(tx, ref)
			if err != nil {
				s.noteDamage(err)
			}
			if c != nil {
				out = append(out, engine.Record{Ref: ref, Claim: *c})
			}
		}
		return nil
	})
	return out, err
}
