package analysis

import (
	"hash/maphash"
	"sync/atomic"
)

// entry is what is known about a word.
type entry struct {
	word string // folded
	stem string
	stop bool
}

// cache remembers recent words, so that a frequent one costs neither stemming
// nor memory. A word may sit in either slot of its set, the newer one first. The
// size bounds it to about a megabyte, and no answer depends on what it holds.
var (
	cache [1 << 12][2]atomic.Pointer[entry]
	seed  = maphash.MakeSeed()
)

// lookup returns the entry of a folded word. It keeps no reference to word.
func lookup(word []byte) *entry {
	set := &cache[maphash.Bytes(seed, word)%uint64(len(cache))]
	first := set[0].Load()
	if first != nil && first.word == string(word) {
		return first
	}
	if e := set[1].Load(); e != nil && e.word == string(word) {
		return e
	}
	w := string(word)
	e := &entry{word: w, stem: Stem(w), stop: IsStopWord(w)}
	set[1].Store(first)
	set[0].Store(e)
	return e
}
