package memory

import (
	"context"
	"iter"
	"math"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/outline"
	"github.com/kenlayer/ken/store"
)

// BM25's usual constants: how soon a repeated term stops counting, and how much a long
// text lowers the score.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// postings is an inverted index: for each term, the records that hold it.
type postings struct {
	counts map[string]map[store.Ref]int
	terms  map[store.Ref]map[string]int // the terms that set must remove when it replaces a record
	length map[store.Ref]int            // number of terms in the record
	total  int                          // sum of all lengths
}

func newPostings() postings {
	return postings{counts: map[string]map[store.Ref]int{}, terms: map[store.Ref]map[string]int{}, length: map[store.Ref]int{}}
}

// set indexes a record, and replaces its earlier terms.
func (p *postings) set(ref store.Ref, c *ken.Claim) {
	for term := range p.terms[ref] {
		delete(p.counts[term], ref)
		if len(p.counts[term]) == 0 {
			delete(p.counts, term)
		}
	}
	p.total -= p.length[ref]

	var tokens []analysis.Token
	for _, part := range append([]string{c.Heading, c.Text}, engine.IndexTerms(c)...) {
		tokens = analysis.Tokens(tokens, part)
	}
	own := make(map[string]int, len(tokens))
	for _, t := range tokens {
		// A term may share memory with the text, and the map key would keep the text in
		// memory.
		term := strings.Clone(t.Term)
		own[term]++
		if p.counts[term] == nil {
			p.counts[term] = map[store.Ref]int{}
		}
		p.counts[term][ref]++
	}
	p.terms[ref], p.length[ref] = own, len(tokens)
	p.total += len(tokens)
}

// search scores every record that contains any term of text, by BM25. It returns the
// scores by term, and the share of each term in the whole query, 0..1.
func (p *postings) search(text string) (parts map[store.Ref][]float32, values []float32, terms []string) {
	parts = map[store.Ref][]float32{}
	n := float64(len(p.length))
	mean := float64(p.total) / max(n, 1)
	terms = analysis.Terms(text)
	values = make([]float32, len(terms))
	whole := float32(0)
	for i, term := range terms {
		holders := p.counts[term]
		df := float64(len(holders))
		idf := math.Log1p((n - df + 0.5) / (df + 0.5))
		values[i] = float32(idf)
		whole += values[i]
		for ref, count := range holders {
			if parts[ref] == nil {
				parts[ref] = make([]float32, len(terms))
			}
			tf, size := float64(count), float64(p.length[ref])
			parts[ref][i] = float32(idf * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*size/mean)))
		}
	}
	for i := range values {
		values[i] /= whole
	}
	return parts, values, terms
}

// node is a treap: a search tree by key and a heap by priority, which keeps it about
// balanced. Nodes are immutable, so that a tree is a snapshot; nil is the empty tree. A
// change copies the nodes on the path to the key and shares the others.
type node struct {
	key         string
	value       []byte
	priority    uint64 // a hash of the key
	left, right *node
}

func (n *node) get(key string) *node {
	for n != nil && n.key != key {
		if key < n.key {
			n = n.left
		} else {
			n = n.right
		}
	}
	return n
}

// scan calls yield for every key with the prefix, in order, until yield returns false.
// It computes no end key, so a prefix that ends in 0xff needs no special case.
func (n *node) scan(prefix string, yield func(*node) bool) bool {
	switch {
	case n == nil:
		return true
	case n.key < prefix:
		return n.right.scan(prefix, yield)
	case !n.left.scan(prefix, yield):
		return false
	case !strings.HasPrefix(n.key, prefix):
		return true // it is after all keys with the prefix, and so is its right subtree
	}
	return yield(n) && n.right.scan(prefix, yield)
}

// put returns the tree with m added; m's children must not be set.
func (n *node) put(m *node) *node {
	switch {
	case n == nil:
		return m
	case m.key == n.key:
		return &node{m.key, m.value, m.priority, n.left, n.right}
	case m.priority > n.priority: // an equal key would have an equal priority, so it is not below
		left, right := n.split(m.key)
		return &node{m.key, m.value, m.priority, left, right}
	case m.key < n.key:
		return &node{n.key, n.value, n.priority, n.left.put(m), n.right}
	}
	return &node{n.key, n.value, n.priority, n.left, n.right.put(m)}
}

// remove returns the tree without a key.
func (n *node) remove(key string) *node {
	switch {
	case n.get(key) == nil:
		return n
	case key < n.key:
		return &node{n.key, n.value, n.priority, n.left.remove(key), n.right}
	case key > n.key:
		return &node{n.key, n.value, n.priority, n.left, n.right.remove(key)}
	}
	return n.left.join(n.right)
}

// split returns the tree before a key and the tree after it.
func (n *node) split(key string) (before, behind *node) {
	if n == nil {
		return nil, nil
	}
	if n.key < key {
		before, behind = n.right.split(key)
		return &node{n.key, n.value, n.priority, n.left, before}, behind
	}
	before, behind = n.left.split(key)
	return before, &node{n.key, n.value, n.priority, behind, n.right}
}

// join returns the tree of n and m; all keys of m must be greater than those of n.
func (n *node) join(m *node) *node {
	switch {
	case n == nil:
		return m
	case m == nil:
		return n
	case n.priority > m.priority:
		return &node{n.key, n.value, n.priority, n.left, n.right.join(m)}
	}
	return &node{m.key, m.value, m.priority, n.join(m.left), m.right}
}

// structure is the index for a caller that holds the store's lock.
type structure struct{ s *memStore }

// Known implements store.Structure.
func (t structure) Known(names []string) []bool {
	out := make([]bool, len(names))
	f := ken.Filter{Now: t.s.env.Now()}
	links := outline.Links(&f)
	for i, name := range names {
		out[i] = t.s.about.Known(name, func(ref store.Ref) bool {
			facts := t.s.records[ref].row.Facts
			return f.Reject(facts) == "" || links.Reject(facts) == ""
		})
	}
	return out
}

// Outlines implements store.Structure.
func (t structure) Outlines(_ context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	return t.s.about.Outlines(names, t.pass(f), o), nil
}

// Names implements store.Structure.
func (t structure) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return engine.AllNames(ctx, f, t.after)
}

func (t structure) after(_ context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error) {
	page, more := t.s.about.Names(t.pass(f), after, n)
	return page, more, nil
}

func (t structure) pass(f *ken.Filter) outline.Pass {
	links := outline.Links(f)
	return outline.Pass{
		Claim: func(ref store.Ref) bool { return f.Reject(t.s.records[ref].row.Facts) == "" },
		Link:  func(ref store.Ref) bool { return links.Reject(t.s.records[ref].row.Facts) == "" },
	}
}

// Known implements store.Structure.
func (s *memStore) Known(names []string) []bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return structure{s}.Known(names)
}

// Outlines implements store.Structure.
func (s *memStore) Outlines(ctx context.Context, names []string, f *ken.Filter, o store.OutlineOptions) ([]store.Outline, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return structure{s}.Outlines(ctx, names, f, o)
}

// Names implements store.Structure.
func (s *memStore) Names(ctx context.Context, f *ken.Filter) iter.Seq2[store.NameCount, error] {
	return engine.AllNames(ctx, f, func(ctx context.Context, f *ken.Filter, after string, n int) ([]store.NameCount, bool, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return structure{s}.after(ctx, f, after, n)
	})
}
