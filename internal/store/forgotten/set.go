package forgotten

import (
	"bytes"
	"sync"
	"time"

	"github.com/kenlayer/ken/store"
)

// Set holds everything that was forgotten in a store, in memory. A nil Set is empty. It
// is immutable and safe for concurrent use.
type Set struct {
	version string
	key     []byte
	ids     map[string]bool
	prints  []Print
	of      []int // index of the record of each print
	records []Record
	sizes   [shingle + 1]bool // the shingle lengths in use
	at      map[uint64][]place
	words   map[uint64]bool
	newest  time.Time
	erasing bool // some claims may not be deleted yet
}

// place identifies one shingle of a print.
type place struct{ print, shingle int }

// setCache caches the sets that were read last. A version is a hash over all changes,
// so it identifies the same set in every store.
var setCache struct {
	mu   sync.Mutex // guards the rest
	sets []*Set     // most recently used first
}

const maxRemembered = 64

// In returns what was forgotten in the store that r reads; nil if nothing was. It costs
// one Get as long as the version is the same.
func In(r store.ShelfReader) (*Set, error) {
	version := r.Get(keyVersion)
	if version == nil {
		return nil, nil
	}
	setCache.mu.Lock()
	for i, s := range setCache.sets {
		if s.version == string(version) {
			copy(setCache.sets[1:i+1], setCache.sets[:i])
			setCache.sets[0] = s
			setCache.mu.Unlock()
			return s, nil
		}
	}
	setCache.mu.Unlock()
	s, err := read(r, string(version))
	if err != nil {
		return nil, err
	}
	setCache.mu.Lock()
	defer setCache.mu.Unlock()
	setCache.sets = append([]*Set{s}, setCache.sets[:min(len(setCache.sets), maxRemembered-1)]...)
	return s, nil
}

func read(r store.ShelfReader, version string) (*Set, error) {
	s := &Set{version: version, key: bytes.Clone(r.Get(keyKey)), ids: map[string]bool{}, at: map[uint64][]place{}, words: map[uint64]bool{}}
	for key := range r.Scan(prefixID) {
		s.ids[key[len(prefixID):]] = true
	}
	var err error
	if s.records, err = All(r); err != nil {
		return nil, err
	}
	for i := range s.records {
		rec := &s.records[i]
		for _, p := range rec.Prints {
			s.prints, s.of = append(s.prints, p), append(s.of, i)
			if p.Words > 0 && p.Words <= shingle {
				s.sizes[p.Words] = true
			}
			for n, h := range p.Hashes {
				s.at[h] = append(s.at[h], place{len(s.prints) - 1, n})
			}
		}
		for _, h := range rec.Words {
			s.words[h] = true
		}
		if rec.DeletedAt.After(s.newest) {
			s.newest = rec.DeletedAt
		}
		s.erasing = s.erasing || rec.Pending != nil && rec.DeletedAt.IsZero()
	}
	return s, nil
}

// Has reports whether a claim was forgotten.
func (s *Set) Has(id string) bool { return s != nil && s.ids[id] }

// After reports whether everything forgotten was deleted before a time, so that no later
// turn could contain any of it.
func (s *Set) After(at time.Time) bool { return s == nil || !s.erasing && !at.Before(s.newest) }

// Worded returns the records of claims that were forgotten before a time and are still
// recognized by single words.
func (s *Set) Worded(before time.Time) (out []Record) {
	if s == nil {
		return nil
	}
	for i := range s.records {
		if r := &s.records[i]; len(r.Words) > 0 && r.Pending == nil && r.At.Before(before) {
			out = append(out, *r)
		}
	}
	return out
}

// Says reports whether a text contains the text of a forgotten claim.
func (s *Set) Says(text string) bool {
	if s == nil || len(s.prints) == 0 {
		return false
	}
	return len(s.Scan([]byte(text))) > 0
}

// Names reports whether a text contains a word that occurred only in forgotten claims.
func (s *Set) Names(text string) bool {
	if s == nil || len(s.words) == 0 {
		return false
	}
	found := false
	each([]byte(text), func(w []byte) { found = found || s.words[HashOf(s.key, string(w))] })
	return found
}

// Scan searches bytes, such as those of a file, and returns the ids of the forgotten
// claims whose texts they contain.
func (s *Set) Scan(b []byte) (ids []string) {
	if s == nil || len(s.prints) == 0 {
		return nil
	}
	sc := scan{s: s, seen: map[int]*printMatch{}}
	each(b, sc.word)
	done := map[int]bool{}
	for _, p := range sc.found {
		if rec := s.of[p]; !done[rec] {
			done[rec] = true
			ids = append(ids, s.records[rec].Claim)
		}
	}
	return ids
}

// scan is the state of one Scan.
type scan struct {
	s     *Set
	last  [shingle]string // words, the newest last
	n     int             // number of words so far
	seen  map[int]*printMatch
	found []int // indexes of prints
}

// printMatch holds the shingles of a print that were found close together.
type printMatch struct {
	upto     int // number of the word at which the last shingle was found
	shingles map[int]bool
	found    bool
}

// maxGap is the maximum number of words between two shingles of one text.
const maxGap = 64

func (c *scan) word(w []byte) {
	copy(c.last[:], c.last[1:])
	c.last[shingle-1] = string(w)
	c.n++
	for size := leastWords; size <= shingle; size++ {
		if !c.s.sizes[size] || c.n < size {
			continue
		}
		for _, p := range c.s.at[HashOf(c.s.key, c.last[shingle-size:]...)] {
			c.hit(p)
		}
	}
}

func (c *scan) hit(p place) {
	at := c.seen[p.print]
	if at == nil {
		at = &printMatch{shingles: map[int]bool{}}
		c.seen[p.print] = at
	}
	if at.found {
		return
	}
	if c.n-at.upto > maxGap {
		clear(at.shingles)
	}
	at.upto, at.shingles[p.shingle] = c.n, true
	if len(at.shingles) >= c.s.prints[p.print].minShingles() {
		at.found = true
		c.found = append(c.found, p.print)
	}
}
