package retriever

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// relatedWeight is the weight of a related word, relative to the word in the question.
const relatedWeight = 0.7

// relatedHits is how many of the first hits are checked for pieces of files. relatedDepth is the
// maximum number of hits for the related words.
const relatedHits, relatedDepth = 10, 200

// withRelated raises the scores of pieces of files that have words related to the question's, such
// as "conn" for "connection", and adds pieces that have only such words. For each term, a piece
// gets the highest value of the term and its related words; these count at most as much as the term
// does at its best. Shares do not change: a related word is no evidence that the question has an
// answer here.
func (l keywordSource) withRelated(ctx context.Context, q *Query, res store.Result) (store.Result, error) {
	f := *q.Filter
	words := l.relatedTo(&res)
	if len(words) == 0 || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, ken.KindDocument) {
		return res, nil
	}
	f.Kinds = []ken.Kind{ken.KindDocument}
	var text strings.Builder
	of := map[string][]int{} // by related term, the indices of the question's terms
	for i, list := range words {
		for _, w := range list {
			text.WriteString(w + "\n")
			for _, term := range analysis.Terms(w) {
				of[term] = append(of[term], i)
			}
		}
	}
	found, err := l.p.Keyword(ctx, text.String(), &f, relatedDepth)
	if err != nil {
		return res, err
	}
	most := make([]float32, len(res.Terms))
	at := make(map[store.Ref]int, len(res.Hits))
	for i := range res.Hits {
		at[res.Hits[i].Ref] = i
		for t, part := range res.Hits[i].Parts[:min(len(most), len(res.Hits[i].Parts))] {
			most[t] = max(most[t], part)
		}
	}
	hits := slices.Clone(res.Hits)
	worth := make([]float32, len(res.Terms))
	for _, h := range found.Hits {
		i, known := at[h.Ref]
		switch {
		case l.p.Form(h.Ref).Traits.Origin() == analysis.OriginNone, known && len(hits[i].Parts) != len(worth):
			continue
		case !known:
			i = len(hits)
			hits = append(hits, store.Hit{Ref: h.Ref, Parts: make([]float32, len(worth))})
		}
		copy(worth, hits[i].Parts)
		for k, part := range h.Parts[:min(len(h.Parts), len(found.Terms))] {
			for _, t := range of[found.Terms[k]] {
				if most[t] > 0 {
					part = min(part, most[t])
				}
				worth[t] = max(worth[t], relatedWeight*part)
			}
		}
		hits[i].Score = 0
		for _, part := range worth {
			hits[i].Score += float64(part)
		}
	}
	slices.SortFunc(hits, func(a, b store.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref)) })
	res.Hits = hits
	return res, nil
}

// relatedTo returns, for each term of a result, the related words that are not terms themselves;
// nil if none of the first hits is a piece of a file.
func (l keywordSource) relatedTo(res *store.Result) [][]string {
	first := res.Hits[:min(len(res.Hits), relatedHits)]
	if !slices.ContainsFunc(first, func(h store.Hit) bool { return l.p.Form(h.Ref).Traits.Origin() != analysis.OriginNone }) {
		return nil
	}
	out, some := make([][]string, len(res.Terms)), false
	for i, term := range res.Terms {
		for _, w := range analysis.Related(term) {
			if terms := analysis.Terms(w); len(terms) > 0 && !slices.Contains(res.Terms, terms[0]) {
				out[i], some = append(out[i], w), true
			}
		}
	}
	if !some {
		return nil
	}
	return out
}
