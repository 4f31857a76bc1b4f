package knownitem

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
)

// Generate makes o.N questions of the claims in seq, or fewer where they do not
// give as many. Kinds have equal shares, sources within a kind too, and a claim
// gives one question at most. It reads seq to its end, once, keeping a sample of
// it and every term: hand it Pick of a large collection. Claims without an id
// count as being there, but nobody asks for them. What looks like a secret is in
// no question.
//
// Errors: ErrInvalid for options that make no sense, the first error of seq, and
// the context's own.
func Generate(ctx context.Context, seq iter.Seq2[ken.Claim, error], o Options) (Set, error) {
	o, err := o.withDefaults()
	if err != nil {
		return Set{}, err
	}
	c := newCollection(&o)
	for claim, err := range seq {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Set{}, fmt.Errorf("read claims: %w", err)
		}
		c.add(&claim, o.Filter.Reject(claim.Facts()) == "")
	}
	m := newMaker(ctx, c, &o)
	m.deal()
	set := Set{Questions: interleave(m.made, o.Kinds), Read: c.read, Lacking: map[Kind]int{}}
	for i, k := range o.Kinds {
		if lack := o.share(i) - len(m.made[k]); lack > 0 {
			set.Lacking[k] = lack
		}
	}
	return set, ctx.Err()
}

// share is how many questions the kind at index i should have.
func (o *Options) share(i int) int {
	n := o.N / len(o.Kinds)
	if i < o.N%len(o.Kinds) {
		n++
	}
	return n
}

// maker makes questions and remembers what was used.
type maker struct {
	ctx   context.Context
	c     *collection
	o     *Options
	names []string // of the sources
	by    map[string][]kept
	made  map[Kind][]Question
	used  map[string]bool // claims by id
	said  map[string]bool // texts of questions
	turn  map[Kind]int    // whose turn it is: an index into names
	next  map[place]int   // the first claim not tried yet
	quiet map[Kind]*unanswered
}

// place is where a kind stands in a source.
type place struct {
	kind   Kind
	source string
}

func newMaker(ctx context.Context, c *collection, o *Options) *maker {
	m := &maker{ctx: ctx, c: c, o: o, made: map[Kind][]Question{}, used: map[string]bool{}, said: map[string]bool{},
		turn: map[Kind]int{}, next: map[place]int{}}
	m.names, m.by = c.sources()
	m.quiet = map[Kind]*unanswered{KindAbsent: m.absent(), KindSmallTalk: m.smallTalk()}
	return m
}

// scarcity lists the kinds, those that fewest claims can serve first, so that the
// others leave them something in a small collection.
var scarcity = []Kind{KindHeading, KindQuestion, KindParaphrase, KindKeyword, KindAbsent, KindSmallTalk}

// deal lets the kinds take turns until each has its share, and then those with an
// answer until there are as many as asked for.
func (m *maker) deal() {
	want := map[Kind]int{}
	for i, k := range m.o.Kinds {
		want[k] = m.o.share(i)
	}
	have := m.rounds(func(k Kind) bool { return len(m.made[k]) < want[k] }, m.o.N)
	m.rounds(func(k Kind) bool { return want[k] > 0 && k.Answered() }, m.o.N-have)
}

// rounds makes up to n questions, one of each kind that still wants some a round,
// and returns how many.
func (m *maker) rounds(wants func(Kind) bool, n int) int {
	have := 0
	for grown := true; grown; {
		grown = false
		for _, k := range scarcity {
			if have == n || m.ctx.Err() != nil {
				return have
			}
			if !wants(k) {
				continue
			}
			if q, ok := m.one(k); ok {
				m.made[k] = append(m.made[k], q)
				have++
				grown = true
			}
		}
	}
	return have
}

// one makes the next question of a kind, sources taking turns.
func (m *maker) one(k Kind) (Question, bool) {
	if !k.Answered() {
		return m.quiet[k].next(m)
	}
	for range m.names {
		source := m.names[m.turn[k]%len(m.names)]
		m.turn[k]++
		if q, ok := m.from(k, source); ok {
			return q, true
		}
	}
	return Question{}, false
}

// from makes the next question of a kind out of one source.
func (m *maker) from(k Kind, source string) (Question, bool) {
	claims := m.by[source]
	at := place{k, source}
	for m.next[at] < len(claims) && m.ctx.Err() == nil {
		claim := &claims[m.next[at]].claim
		m.next[at]++
		if m.used[claim.ID] {
			continue
		}
		text, hidden := rules[k](m.c, claim, m.c.rng(claim.ID, k))
		q := Question{Text: oneLine(text), Want: claim.ID, Kind: k, Source: source, Hidden: hidden}
		if m.fits(&q) {
			m.used[claim.ID] = true
			return q, true
		}
	}
	return Question{}, false
}

// maxChars is the length of the longest question, in bytes.
const maxChars = 240

// fits reports whether a question may be asked, and remembers it then.
func (m *maker) fits(q *Question) bool {
	if q.Text == "" || len(q.Text) > maxChars || m.said[q.Text] ||
		guardrail.Sanitize(q.Text) != q.Text || len(guardrail.Secrets(q.Text)) > 0 {
		return false
	}
	m.said[q.Text] = true
	return true
}

// interleave lets the kinds take turns.
func interleave(made map[Kind][]Question, kinds []Kind) []Question {
	var out []Question
	for i, more := 0, true; more; i++ {
		more = false
		for _, k := range kinds {
			if i < len(made[k]) {
				out = append(out, made[k][i])
				more = true
			}
		}
	}
	return out
}

// DefaultN is how many questions a zero Options asks for.
const DefaultN = 200

// Options tunes Generate. The zero value is the default.
type Options struct {
	N     int    // questions in all; 0 means DefaultN
	Seed  uint64 // another seed, other questions
	Kinds []Kind // which kinds, in equal shares; nil means all
	// Filter says which claims may be asked for; zero is what recall sees by
	// default. What it refuses still counts as being in the collection.
	Filter ken.Filter
	// Has reports whether a term of package analysis occurs in the collection. Set
	// it when Generate does not see the whole collection; nil goes by the claims
	// that were read.
	Has func(term string) bool
}

func (o Options) withDefaults() (Options, error) {
	if o.N < 0 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "n", Msg: "negative", Try: "Ask for one question or more."}
	}
	if o.N == 0 {
		o.N = DefaultN
	}
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	for i, k := range o.Kinds {
		if !slices.Contains(Kinds(), k) {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: "kinds", Msg: fmt.Sprintf("unknown kind %q", k),
				Try: fmt.Sprintf("Use some of %v.", Kinds())}
		}
		if slices.Contains(o.Kinds[:i], k) {
			return o, &ken.Error{Code: ken.CodeInvalid, Field: "kinds", Msg: fmt.Sprintf("%q twice", k), Try: "Name each kind once."}
		}
	}
	return o, nil
}

// Set is what Generate made.
type Set struct {
	Questions []Question   `json:"questions"`        // kinds take turns, and within a kind the sources do
	Read      int          `json:"read"`             // claims that were looked at
	Lacking   map[Kind]int `json:"lacking,omitzero"` // how many fewer than its share a kind has; other kinds fill up
}

// Pick yields n claims chosen at random out of total, for collections that are too
// large to be read whole: at reads the claim of one number in 0..total-1, and only
// as many are read as are yielded, or found missing. A claim that at reports as
// not found is skipped; any other error is yielded and ends the sequence. Where n
// is total or more, all are yielded, in a random order.
func Pick(total, n int, seed uint64, at func(i int) (ken.Claim, error)) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		rng := rand.New(rand.NewPCG(seed, 0x5eed))
		moved := map[int]int{} // a shuffle of which only the start is made
		place := func(i int) int {
			if v, ok := moved[i]; ok {
				return v
			}
			return i
		}
		for i := 0; i < total && n > 0; i++ {
			j := i + rng.IntN(total-i)
			number := place(j)
			moved[j] = place(i)
			delete(moved, i)
			c, err := at(number)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
			n--
		}
	}
}

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
	for _, t := range analysis.Terms(claim.Heading + "\n" + claim.Text) {
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
