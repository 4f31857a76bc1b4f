package knownitem

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

const (
	maxSources = 64  // further ones share the last
	minKept    = 100 // claims of a source, at least
	otherName  = "other"
)

// SourceOf names the sort of a claim, over which questions are balanced: where it
// came from (a file's extension as well), or else its kind.
func SourceOf(c *ken.Claim) string {
	if c.SourceType == "" {
		return string(c.Kind)
	}
	for _, e := range c.Evidence {
		if e.Kind == ken.EvidenceFile {
			if ext := strings.ToLower(path.Ext(e.Path)); ext != "" {
				return c.SourceType + " " + ext
			}
			break
		}
	}
	return c.SourceType
}

// collection is what was read: how many claims have a term, and a sample of each
// source. The sample is those claims whose seeded hash is least, so that it does
// not depend on the order of reading.
type collection struct {
	seed   uint64
	keep   int // claims kept of each source
	read   int
	has    map[string]int // claims by term
	source map[string][]kept
}

// kept is a claim in the sample.
type kept struct {
	hash  uint64
	claim ken.Claim
}

func newCollection(o *Options) *collection {
	return &collection{seed: o.Seed, keep: max(minKept, 3*o.N), has: map[string]int{}, source: map[string][]kept{}}
}

// add counts a claim, and considers it for the sample if it may be asked for.
func (c *collection) add(claim *ken.Claim, asked bool) {
	c.read++
	for _, t := range analysis.Terms(store.EmbedText(claim)) {
		c.has[strings.Clone(t)]++
	}
	if !asked || claim.ID == "" {
		return
	}
	name := SourceOf(claim)
	if _, ok := c.source[name]; !ok && len(c.source) >= maxSources {
		name = otherName
	}
	s := append(c.source[name], kept{c.hash(claim.ID, ""), *claim})
	if len(s) >= 2*c.keep {
		s = c.least(s)
	}
	c.source[name] = s
}

// least returns the claims of least hash, in that order.
func (c *collection) least(s []kept) []kept {
	slices.SortFunc(s, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.claim.ID, b.claim.ID))
	})
	s = slices.CompactFunc(s, func(a, b kept) bool { return a.claim.ID == b.claim.ID })
	for i := c.keep; i < len(s); i++ {
		s[i] = kept{} // so that its text can go
	}
	return s[:min(len(s), c.keep)]
}

// sources returns the names of the sources, and each one's sample in the order of
// its hashes, without claims that say the same.
func (c *collection) sources() ([]string, map[string][]kept) {
	names := slices.Sorted(maps.Keys(c.source))
	said := map[string]bool{}
	for _, n := range names {
		c.source[n] = slices.DeleteFunc(c.least(c.source[n]), func(k kept) bool {
			text := oneLine(k.claim.Text)
			again := said[text]
			said[text] = true
			return again
		})
	}
	return names, c.source
}

// idf is a term's weight: the logarithm of how rare it is, never below 0.
func (c *collection) idf(term string) float64 {
	return math.Log((float64(c.read) + 1) / (float64(c.has[term]) + 0.5))
}

// hash mixes the seed with an id and a purpose.
func (c *collection) hash(id string, purpose Kind) uint64 {
	h := fnv.New64a()
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], c.seed)
	for _, b := range [][]byte{seed[:], []byte(id), {0}, []byte(purpose)} {
		_, _ = h.Write(b) // a hash never fails
	}
	x := h.Sum64() // FNV's upper bits hardly depend on the last bytes: finish as splitmix64 does
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rng is a source of randomness of a claim's own for one purpose, so that a
// claim's question does not depend on the claims before it.
func (c *collection) rng(id string, purpose Kind) *rand.Rand {
	h := c.hash(id, purpose)
	return rand.New(rand.NewPCG(h, c.seed))
}
