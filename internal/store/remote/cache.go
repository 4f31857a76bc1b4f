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
	// cacheFor is how long cached rows are valid after the server's last answer with the
	// same commit. Every answer within a turn, such as to a search, extends it.
	cacheFor = time.Second
	// maxSeen is the number of cached rows above which the cache is cleared. maxRead
	// bounds the cached claims.
	maxSeen = 1 << 16
	maxRead = 4096
	// maxSearches bounds the entries of cache.whole.
	maxSearches = 256
)

// cache holds a client's rows, neighbours and claims of records, as of one commit of the
// server.
type cache struct {
	classes *codec.Reader // decodes the classes in the holder's sights; nil for the same build

	mu        sync.Mutex // guards the rest
	store     string     // id of the store
	commit    uint64
	refreshed time.Time // when the last answer with this commit came
	rows      map[store.Ref]seenRow
	links     map[store.Ref]neighbourRow
	whole     map[string]bool // searches whose rows are all cached for commit
	// dropped holds the records whose rows were cached for earlier commits, and when
	// those rows were last valid. When a row of them is needed again, the others are
	// requested with it.
	dropped map[store.Ref]time.Time
	// read holds claims, independent of the commit. A claim is valid while its row has
	// the same version.
	read map[store.Ref]readClaim
}

type readClaim struct {
	version uint64
	claim   ken.Claim
}

func newCache() *cache {
	return &cache{rows: map[store.Ref]seenRow{}, links: map[store.Ref]neighbourRow{}, read: map[store.Ref]readClaim{}, dropped: map[store.Ref]time.Time{}, whole: map[string]bool{}}
}

// invalidate records the commit of an answer. If it is newer than the cache's commit,
// invalidate drops the cached rows. It reports whether the answer is at least as new as the
// cache.
func (c *cache) invalidate(commit uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.invalidateLocked(commit)
}

func (c *cache) invalidateLocked(commit uint64) bool {
	if commit < c.commit { // a newer answer came first
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

// drop adds the keys of rows to c.dropped. The caller must hold c.mu.
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

// seen returns the commit for which all rows of a search are cached, 0 for none. search is
// a key of c.whole.
func (c *cache) seen(search string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole[search] {
		return 0
	}
	return c.commit
}

// applyPrefetch adds the rows and neighbours in an answer's sight to the cache. search is
// the search whose rows the sight holds completely, "" for none. An error means that the
// sight is invalid.
func (c *cache) applyPrefetch(commit uint64, search string, sight []byte) error {
	if len(sight) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := c.invalidateLocked(commit)
	rows, links := map[store.Ref]seenRow{}, map[store.Ref]neighbourRow{}
	if newest {
		c.room()
		rows, links = c.rows, c.links
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

// room clears the cached rows if there are more than maxSeen. The caller must hold c.mu.
func (c *cache) room() {
	if len(c.rows) > maxSeen {
		clear(c.rows)
		clear(c.links)
		clear(c.whole)
	}
}

// put adds rows and links as of a commit, unless the cache is newer.
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

// fresh reports whether cached rows are still valid. The caller must hold c.mu.
func (c *cache) fresh() bool { return time.Since(c.refreshed) < cacheFor }

// row returns the cached row of a record, and false if there is no valid one.
func (c *cache) row(ref store.Ref) (seenRow, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.rows[ref]
	return r, ok && c.fresh()
}

// around returns the n neighbours to each side from the cache. ok is false if one of them
// is not cached.
func (c *cache) around(ref store.Ref, n int) (before, after []store.Ref, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh() {
		return nil, nil, false
	}
	return around(c.links, ref, n)
}

// around returns the n neighbours to each side from links, nearest first. ok is false if
// one of them is not in links.
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

// claim returns a cached claim, and false if it is not cached or may have changed.
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

// keep caches the claims of an answer whose sight was applied before. It skips claims
// without a cached row, and does nothing if the cache has another commit.
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

// others returns the records to request when the row of ref is not cached: ref first, and
// then records that were cached together with it for an earlier commit. It returns at most
// most records.
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

// unread returns the refs whose claims are not cached.
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

// of clears the cache if it holds another store than id.
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
