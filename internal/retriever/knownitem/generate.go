package knownitem

import (
	"context"
	"fmt"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
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
