package remote

import (
	"maps"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

const (
	// cacheFor is how long what is known of records counts without a word from the
	// server: a turn takes at most its deadline, and each of its searches is a word.
	cacheFor = time.Second
	// maxSeen bounds how many records are known of, maxRead how many claims are kept.
	maxSeen = 1 << 16
	maxRead = 4096
	// maxSearches bounds of how many searches it is known that all is known.
	maxSearches = 256
)

// cache is what a client knows of records, as of one commit of the server.
type cache struct {
	classes *codec.Reader // of the holder's sights

	mu        sync.Mutex // guards the rest
	store     string     // id of the store
	commit    uint64
	refreshed time.Time // when the server last said that this is its commit
	rows      map[store.Ref]seenRow
	links     map[store.Ref]neighbourRow
	whole     map[string]bool // searches of which all is known as of commit
	// dropped are the records that were known as of commits before, and until when:
	// who asks for one will ask for the others.
	dropped map[store.Ref]time.Time
	// read are claims, whatever the commit: a claim is as it was as long as its row
	// has the same version.
	read map[store.Ref]readClaim
}

type readClaim struct {
	version uint64
	claim   ken.Claim
}

func newCache() *cache {
	return &cache{rows: map[store.Ref]seenRow{}, links: map[store.Ref]neighbourRow{}, read: map[store.Ref]readClaim{}, dropped: map[store.Ref]time.Time{}, whole: map[string]bool{}}
}

// invalidate notes the commit that an answer carries, and reports whether what the answer
// says is the newest there is.
func (c *cache) invalidate(commit uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.invalidateLocked(commit)
}

func (c *cache) invalidateLocked(commit uint64) bool {
	if commit < c.commit { // it was overtaken by another answer
		return false
	}
	if commit > c.commit {
		c.drop(c.rows)
		c.commit, c.rows, c.links = commit, map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
		clear(c.whole)
	}
	c.refreshed = time.Now()
	return true
}

// drop remembers of rows only which they are; c.mu is held.
func (c *cache) drop(rows map[store.Ref]seenRow) {
	if len(rows) == 0 {
		return
	}
	for ref, at := range c.dropped {
		if time.Since(at) > cacheFor {
			delete(c.dropped, ref)
		}
	}
	if len(c.dropped)+len(rows) > maxSeen {
		clear(c.dropped)
	}
	for ref := range rows {
		c.dropped[ref] = c.refreshed
	}
}

// seen is the commit as of which all is known that a search brings; 0 for none.
func (c *cache) seen(search string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole[search] {
		return 0
	}
	return c.commit
}

// applyPrefetch adds what an answer says of records. search names the one that it is all of,
// "" for none.
func (c *cache) applyPrefetch(commit uint64, search string, sight []byte) error {
	if len(sight) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := c.invalidateLocked(commit)
	rows, links := c.rows, c.links
	if !newest {
		rows, links = map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
	}
	if newest {
		c.room()
	}
	err := readSight(c.classes, sight, rows, links)
	switch {
	case !newest:
		c.drop(rows)
	case err == nil && search != "" && len(c.whole) < maxSearches:
		c.whole[search] = true
	}
	return err
}

// room forgets what is known of records when it is too much; c.mu is held.
func (c *cache) room() {
	if len(c.rows) > maxSeen {
		clear(c.rows)
		clear(c.links)
		clear(c.whole)
	}
}

// put adds what is known as of a commit.
func (c *cache) put(commit uint64, rows map[store.Ref]seenRow, links map[store.Ref]neighbourRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.invalidateLocked(commit) {
		return
	}
	c.room()
	maps.Copy(c.rows, rows)
	for ref, l := range links {
		have := c.links[ref]
		if l.flags&linkBefore != 0 {
			have.before = l.before
		}
		if l.flags&linkAfter != 0 {
			have.after = l.after
		}
		have.flags |= l.flags
		c.links[ref] = have
	}
}

// fresh reports whether what is known counts; c.mu is held.
func (c *cache) fresh() bool { return time.Since(c.refreshed) < cacheFor }

// row returns what is known of a record.
func (c *cache) row(ref store.Ref) (seenRow, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.rows[ref]
	return r, ok && c.fresh()
}

// around follows the links; false when one is not known.
func (c *cache) around(ref store.Ref, n int) (before, after []store.Ref, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh() {
		return nil, nil, false
	}
	return around(c.links, ref, n)
}

// around follows links to both sides; false when one is not known.
func around(links map[store.Ref]neighbourRow, ref store.Ref, n int) (before, after []store.Ref, ok bool) {
	switch l, known := links[ref]; {
	case !known:
		return nil, nil, false
	case l.flags&linkNone != 0:
		return nil, nil, true
	}
	if before, ok = walk(links, ref, n, linkBefore, linkFirst); !ok {
		return nil, nil, false
	}
	after, ok = walk(links, ref, n, linkAfter, linkLast)
	return before, after, ok
}

func walk(links map[store.Ref]neighbourRow, ref store.Ref, n int, known, end uint8) (out []store.Ref, ok bool) {
	out = []store.Ref{}
	for range n {
		l := links[ref]
		switch {
		case l.flags&end != 0:
			return out, true
		case l.flags&known == 0:
			return nil, false
		case known == linkBefore:
			ref = l.before
		default:
			ref = l.after
		}
		out = append(out, ref)
	}
	return out, true
}

// claim returns a claim that was read and has not changed since.
func (c *cache) claim(ref store.Ref) (ken.Claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.rows[ref]
	if !ok || r.gone || !c.fresh() {
		return ken.Claim{}, false
	}
	have, ok := c.read[ref]
	return have.claim, ok && have.version == r.row.Version
}

// keep keeps claims of an answer whose sight has their rows.
func (c *cache) keep(commit uint64, records []engine.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if commit != c.commit {
		return
	}
	for i := range records {
		r, ok := c.rows[records[i].Ref]
		if !ok || r.gone {
			continue
		}
		if len(c.read) >= maxRead {
			for victim := range c.read {
				delete(c.read, victim)
				break
			}
		}
		c.read[records[i].Ref] = readClaim{r.row.Version, records[i].Claim}
	}
}

// others returns the records to ask for beside one that is not known: those that
// were known until the last commit.
func (c *cache) others(ref store.Ref, most int) []store.Ref {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []store.Ref{ref}
	if _, was := c.dropped[ref]; !was {
		return out
	}
	for r, at := range c.dropped {
		if len(out) == most {
			break
		}
		if _, known := c.rows[r]; !known && r != ref && time.Since(at) < cacheFor {
			out = append(out, r)
		}
	}
	return out
}

// unread returns those whose claims are not at hand.
func (c *cache) unread(refs []store.Ref) (out []store.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range refs {
		r, known := c.rows[ref]
		have, ok := c.read[ref]
		if !known || !ok || !c.fresh() || have.version != r.row.Version {
			out = append(out, ref)
		}
	}
	return out
}

// of starts over for another store.
func (c *cache) of(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == id {
		return
	}
	c.store, c.commit, c.refreshed = id, 0, time.Time{}
	clear(c.rows)
	clear(c.links)
	clear(c.whole)
	clear(c.read)
	clear(c.dropped)
}
