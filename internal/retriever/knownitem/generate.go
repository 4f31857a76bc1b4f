package knownitem

import (
	"cmp"
	"context"
	"encoding/binary"
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

// Generate makes o.N questions from the claims in seq, or fewer if the claims don't allow as many.
// Kinds have equal shares, as have sources within a kind, and each claim is used for at most one
// question. Generate reads seq to its end, once, and keeps a sample of the claims and all terms.
// Claims without an id count as part of the collection but are not asked for. No question contains
// text that looks like a secret.
//
// It returns ErrInvalid for invalid options, the first error of seq, and ctx's error.
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
	m.makeAll()
	set := Set{Questions: interleave(m.made, o.Kinds), Read: c.read, Lacking: map[Kind]int{}}
	for i, k := range o.Kinds {
		if lack := o.share(i) - len(m.made[k]); lack > 0 {
			set.Lacking[k] = lack
		}
	}
	return set, ctx.Err()
}

// share returns the number of questions for the kind at index i.
func (o *Options) share(i int) int {
	n := o.N / len(o.Kinds)
	if i < o.N%len(o.Kinds) {
		n++
	}
	return n
}

// maker makes questions and records which claims and texts were used.
type maker struct {
	ctx           context.Context
	c             *collection
	o             *Options
	names         []string // names of the sources
	by            map[string][]kept
	made          map[Kind][]Question
	used          map[string]bool // claims that were used, by id
	said          map[string]bool // texts of the questions so far
	turn          map[Kind]int    // by kind, the index into names of the next source
	next          map[place]int   // index of the first claim not tried yet
	withoutAnswer map[Kind]*unanswered
}

// place is a kind and a source.
type place struct {
	kind   Kind
	source string
}

func newMaker(ctx context.Context, c *collection, o *Options) *maker {
	m := &maker{ctx: ctx, c: c, o: o, made: map[Kind][]Question{}, used: map[string]bool{}, said: map[string]bool{},
		turn: map[Kind]int{}, next: map[place]int{}}
	m.names, m.by = c.sources()
	m.withoutAnswer = map[Kind]*unanswered{KindAbsent: m.absent(), KindSmallTalk: m.smallTalk()}
	return m
}

// scarcity lists the kinds, with those that fewest claims are suitable for first, so that in a
// small collection the others leave some claims for them.
var scarcity = []Kind{KindHeading, KindQuestion, KindParaphrase, KindKeyword, KindAbsent, KindSmallTalk}

// makeAll makes questions of the kinds in turn until each has its share. Then it makes more of the
// kinds with an answer until there are o.N.
func (m *maker) makeAll() {
	want := map[Kind]int{}
	for i, k := range m.o.Kinds {
		want[k] = m.o.share(i)
	}
	have := m.rounds(func(k Kind) bool { return len(m.made[k]) < want[k] }, m.o.N)
	m.rounds(func(k Kind) bool { return want[k] > 0 && k.Answered() }, m.o.N-have)
}

// rounds makes up to n questions, in each round one of each kind for which wants returns true. It
// returns their number.
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

// one makes the next question of a kind, from the sources in turn.
func (m *maker) one(k Kind) (Question, bool) {
	if !k.Answered() {
		return m.withoutAnswer[k].next(m)
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

// from makes the next question of a kind from one source.
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

// maxChars is the maximum length of a question in bytes.
const maxChars = 240

// fits reports whether a question is valid and new, and records it if so.
func (m *maker) fits(q *Question) bool {
	if q.Text == "" || len(q.Text) > maxChars || m.said[q.Text] ||
		guardrail.Sanitize(q.Text) != q.Text || len(guardrail.Secrets(q.Text)) > 0 {
		return false
	}
	m.said[q.Text] = true
	return true
}

// interleave returns the questions with the kinds in turn.
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

// DefaultN is the number of questions if Options.N is 0.
const DefaultN = 200

// Options configures Generate. The zero value means the defaults.
type Options struct {
	N     int    // total number of questions; 0 means DefaultN
	Seed  uint64 // random seed for the choice of questions
	Kinds []Kind // in equal shares; nil means all kinds
	// Filter selects the claims that may be asked for; the zero value means the default filter of
	// recall. Other claims still count as part of the collection.
	Filter ken.Filter
}

func (o Options) withDefaults() (Options, error) {
	if o.N < 0 {
		return o, &ken.Error{Code: ken.CodeInvalid, Field: "n", Msg: "negative", Try: "Ask for one question or more."}
	}
	o.N = cmp.Or(o.N, DefaultN)
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

// Set is the result of Generate.
type Set struct {
	Questions []Question   `json:"questions"`        // kinds alternate, and within a kind the sources do
	Read      int          `json:"read"`             // number of claims that were read
	Lacking   map[Kind]int `json:"lacking,omitzero"` // by kind, how many questions are missing from its share; other kinds make up for them
}

const (
	maxSources = 64  // any further source counts as the last one
	minKept    = 100 // minimum number of claims kept of a source
	otherName  = "other"
)

// SourceOf returns the group of a claim, over which questions are balanced: its source type (with
// the extension of a file) or, without one, its kind.
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

// collection holds the number of claims that have each term, and a sample of the claims of each
// source. The sample consists of the claims with the smallest seeded hashes, so it does not depend
// on the order of reading.
type collection struct {
	seed   uint64
	keep   int // number of claims kept of each source
	read   int
	has    map[string]int // number of claims by term
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

// add counts a claim. If asked is set, the claim may also get into the sample.
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

// least returns the c.keep claims with the smallest hashes, sorted by hash.
func (c *collection) least(s []kept) []kept {
	slices.SortFunc(s, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.claim.ID, b.claim.ID))
	})
	s = slices.CompactFunc(s, func(a, b kept) bool { return a.claim.ID == b.claim.ID })
	for i := c.keep; i < len(s); i++ {
		s[i] = kept{} // to release its text
	}
	return s[:min(len(s), c.keep)]
}

// sources returns the names of the sources, and the sample of each, sorted by hash and without
// claims that say the same.
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

// idf returns a term's weight: the logarithm of its rarity.
func (c *collection) idf(term string) float64 {
	return math.Log((float64(c.read) + 1) / (float64(c.has[term]) + 0.5))
}

// hash combines the seed with an id and a purpose.
func (c *collection) hash(id string, purpose Kind) uint64 {
	h := fnv.New64a()
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], c.seed)
	for _, b := range [][]byte{seed[:], []byte(id), {0}, []byte(purpose)} {
		_, _ = h.Write(b) // writing to a hash never fails
	}
	x := h.Sum64() // FNV's upper bits hardly depend on the last bytes, so apply the final steps of splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rng returns a random source for one claim and one purpose, so that a claim's question does not
// depend on the claims before it.
func (c *collection) rng(id string, purpose Kind) *rand.Rand {
	h := c.hash(id, purpose)
	return rand.New(rand.NewPCG(h, c.seed))
}
