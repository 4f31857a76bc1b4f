package memory

import (
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/analysis"
	"github.com/kenlayer/ken/store"
)

// BM25's usual constants: how soon a repeated term stops counting, and how much
// a long text is held against it.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// postings is an inverted index: for each term, the records that hold it.
type postings struct {
	counts map[string]map[store.Ref]int
	terms  map[store.Ref]map[string]int // what set must take back
	length map[store.Ref]int            // terms of the record
	total  int                          // of all lengths
}

func newPostings() postings {
	return postings{counts: map[string]map[store.Ref]int{}, terms: map[store.Ref]map[string]int{}, length: map[store.Ref]int{}}
}

// set indexes a record anew.
func (p *postings) set(ref store.Ref, c *ken.Claim) {
	for term := range p.terms[ref] {
		delete(p.counts[term], ref)
		if len(p.counts[term]) == 0 {
			delete(p.counts, term)
		}
	}
	p.total -= p.length[ref]

	var tokens []analysis.Token
	for _, part := range slices.Concat([]string{c.Heading, c.Text, c.Domain, c.Aspect}, c.Tags, c.Entities) {
		tokens = analysis.Tokens(tokens, part)
	}
	own := make(map[string]int, len(tokens))
	for _, t := range tokens {
		// A term may share memory with the text, and a map key outlives it.
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

// search scores every record that holds any term of text, by BM25, and returns
// with the scores the most that a record could earn.
func (p *postings) search(text string) (scores map[store.Ref]float64, most float64) {
	scores = map[store.Ref]float64{}
	n := float64(len(p.length))
	mean := float64(p.total) / max(n, 1)
	for _, term := range analysis.Terms(text) {
		holders := p.counts[term]
		df := float64(len(holders))
		idf := math.Log1p((n - df + 0.5) / (df + 0.5))
		most += idf * (bm25K + 1)
		for ref, count := range holders {
			tf, size := float64(count), float64(p.length[ref])
			scores[ref] += idf * tf * (bm25K + 1) / (tf + bm25K*(1-bm25B+bm25B*size/mean))
		}
	}
	return scores, most
}
