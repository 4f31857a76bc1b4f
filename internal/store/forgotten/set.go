package forgotten

import (
	"bytes"
	"sync"
	"time"

	"github.com/kenlayer/ken/store"
)

// Set is all that was forgotten in a store, at hand. A nil Set has nothing. It does not
// change, and is safe for concurrent use.
type Set struct {
	version string
	key     []byte
	ids     map[string]bool
	prints  []Print
	of      []int // the record of each print
	records []Record
	sizes   [shingle + 1]bool // lengths of shingles
	at      map[uint64][]place
	words   map[uint64]bool
	newest  time.Time
	going   bool // some claims may still be there
}

// place is one shingle of a print.
type place struct{ print, shingle int }

// remembered are the sets that were read last. Versions are hashes over all changes, so
// that one names the same set in every store.
var remembered struct {
	mu   sync.Mutex // guards the rest
	sets []*Set     // the last used first
}

const maxRemembered = 64

// In is what was forgotten in the store that r reads, nil for nothing. It costs one Get
// as long as nothing more was forgotten.
func In(r store.ShelfReader) (*Set, error) {
	version := r.Get(keyVersion)
	if version == nil {
		return nil, nil
	}
	remembered.mu.Lock()
	for i, s := range remembered.sets {
		if s.version == string(version) {
			copy(remembered.sets[1:i+1], remembered.sets[:i])
			remembered.sets[0] = s
			remembered.mu.Unlock()
			return s, nil
		}
	}
	remembered.mu.Unlock()
	s, err := read(r, string(version))
	if err != nil {
		return nil, err
	}
	remembered.mu.Lock()
	defer remembered.mu.Unlock()
	remembered.sets = append([]*Set{s}, remembered.sets[:min(len(remembered.sets), maxRemembered-1)]...)
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
		if rec.Gone.After(s.newest) {
			s.newest = rec.Gone
		}
		s.going = s.going || rec.Pending != nil && rec.Gone.IsZero()
	}
	return s, nil
}

// Has reports whether a claim was forgotten.
func (s *Set) Has(id string) bool { return s != nil && s.ids[id] }

// After reports whether all that was forgotten was gone at a time, so that no turn from
// then on was given any of it.
func (s *Set) After(at time.Time) bool { return s == nil || !s.going && !at.Before(s.newest) }

// Worded are the records of what was forgotten before a time and is still recognised by
// single words.
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

// Says reports whether a text says what a forgotten claim said.
func (s *Set) Says(text string) bool {
	if s == nil || len(s.prints) == 0 {
		return false
	}
	return len(s.Scan([]byte(text))) > 0
}

// Names reports whether a text has a word that only a forgotten claim had.
func (s *Set) Names(text string) bool {
	if s == nil || len(s.words) == 0 {
		return false
	}
	found := false
	each([]byte(text), func(w []byte) { found = found || s.words[hashOf(s.key, string(w))] })
	return found
}

// Scan looks through bytes, such as those of a file, and returns the ids of the forgotten
// claims whose words are there.
func (s *Set) Scan(b []byte) (ids []string) {
	if s == nil || len(s.prints) == 0 {
		return nil
	}
	sc := scan{s: s, seen: map[int]*sighting{}}
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

// scan is a Scan on its way.
type scan struct {
	s     *Set
	last  [shingle]string // words, the newest last
	n     int             // words so far
	seen  map[int]*sighting
	found []int // prints
}

// sighting is what was found of a print since its words ended last.
type sighting struct {
	upto     int // the word at which the last shingle was found
	shingles map[int]bool
	found    bool
}

// apart is how many words may stand between two shingles of one text.
const apart = 64

func (c *scan) word(w []byte) {
	copy(c.last[:], c.last[1:])
	c.last[shingle-1] = string(w)
	c.n++
	for size := leastWords; size <= shingle; size++ {
		if !c.s.sizes[size] || c.n < size {
			continue
		}
		for _, p := range c.s.at[hashOf(c.s.key, c.last[shingle-size:]...)] {
			c.hit(p)
		}
	}
}

func (c *scan) hit(p place) {
	at := c.seen[p.print]
	if at == nil {
		at = &sighting{shingles: map[int]bool{}}
		c.seen[p.print] = at
	}
	if at.found {
		return
	}
	if c.n-at.upto > apart {
		clear(at.shingles)
	}
	at.upto, at.shingles[p.shingle] = c.n, true
	if len(at.shingles) >= c.s.prints[p.print].need() {
		at.found = true
		c.found = append(c.found, p.print)
	}
}
