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
	"github.com/kenlayer/ken/store"
)

// scanPage is how many records are looked at in one transaction: short ones, so
// that a slow reader doesn't hold pages back.
const scanPage = 2048

// Scan yields the claims that pass the filter and of which want says yes at a
// glance, oldest record first. Repository chunks are left out. The filter is run on
// the rows in memory and the glance on what is stored, so that a claim which is not
// wanted is never decoded: a hundred thousand of them take about 0.2 s. A filter
// without a time tests no expiry.
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

// passing are the claims that a filter lets in.
func (s *Store) passing(f *ken.Filter) []store.Ref {
	s.t.mu.RLock()
	defer s.t.mu.RUnlock()
	sv := s.t.sieve(f)
	var refs []store.Ref
	for i := range s.t.rows {
		if s.t.rows[i].flags&flagDocument == 0 && sv.accept(store.Ref(i)) {
			refs = append(refs, store.Ref(i))
		}
	}
	return refs
}

// scan reads the wanted claims of a page. One that went away meanwhile is skipped.
func (s *Store) scan(refs []store.Ref, want func(store.Glance) bool) (page []ken.Claim, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		cur := tx.Bucket(bClaims).Cursor()
		var k, v []byte
		key := key32(0)
		for i, ref := range refs {
			if i > 0 && k != nil { // the next one, mostly
				k, v = cur.Next()
			}
			if binary.BigEndian.PutUint32(key, ref); !bytes.Equal(k, key) {
				if k, v = cur.Seek(key); !bytes.Equal(k, key) {
					continue
				}
			}
			if want != nil && !want(glance(v)) { // it skips a checksum at its end
				continue
			}
			c, err := s.decodeClaim(ref, v)
			if err != nil {
				s.report(err)
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

// glance reads a few fields of a claim as plan.put wrote it, without decoding it:
// that would take fifty times as long. Behind confidence no field of a claim is
// free in its form, as body is before it, and within a string the quotes of such a
// name would be escaped; so the last place that reads like one is the field.
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

// Glances implements store.Served.
func (s *Store) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []store.Located, next store.Ref, done bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, false, err
	}
	next, done = s.passingFrom(f, from, n, func(ref store.Ref) { page = append(page, store.Located{Ref: ref}) })
	err = s.view(func(tx *bbolt.Tx) error {
		claims := tx.Bucket(bClaims)
		page = slices.DeleteFunc(page, func(l store.Located) bool { return claims.Get(key32(l.Ref)) == nil }) // gone meanwhile
		for i := range page {
			key := key32(page[i].Ref)
			v, err := s.unseal(bClaims, key, claims.Get(key))
			if err != nil { // whoever reads it hears so
				s.report(damaged(fmt.Sprintf("read record %d", page[i].Ref), err))
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
		sv = s.t.sieve(f)
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

// Records implements store.Served.
func (s *Store) Records(ctx context.Context, refs []store.Ref) ([]store.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]store.Record, 0, len(refs))
	err := s.view(func(tx *bbolt.Tx) error {
		for _, ref := range refs {
			c, err := s.claimAt(tx, ref)
			if err != nil {
				s.report(err)
			}
			if c != nil {
				out = append(out, store.Record{Ref: ref, Claim: *c})
			}
		}
		return nil
	})
	return out, err
}
