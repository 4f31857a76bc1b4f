package memory

import (
	"math"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
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
	for _, part := range append([]string{c.Heading, c.Text}, store.IndexTerms(c)...) {
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

// search scores every record that holds any term of text, by BM25, term by term,
// and returns with the scores what each term is of the whole query, 0..1.
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
