package retriever

import (
	"cmp"
	"math"
	"slices"

	"github.com/kenlayer/ken/internal/analysis"
)

// fileFeatures are the features of a piece of a file, in the order of fileWeights.
type fileFeatures [7]float64

// fileFeaturesOf returns the features of a piece after words and likeness were computed. most is
// the highest cosine of a piece in the turn.
func fileFeaturesOf(k *ranking, most float64) fileFeatures {
	f := fileFeatures{0: k.keyword, 1: k.content, 2: k.cosine, 4: k.prior, 5: math.Log1p(float64(k.form.Words))}
	if most > 0 {
		f[3] = k.cosine / most
	}
	if k.prior < 1 && k.form.Traits.Origin() == analysis.OriginDocument { // and the question does not ask for documents
		f[6] = 1
	}
	return f
}

// weighFiles sorts the pieces of files among themselves by fileWeights. These were learned from
// questions and combine words, likeness and length: docs/decisions/0048. The pieces exchange
// scores, so that records which are not from files keep their places.
func weighFiles(pool []*entry) {
	var files []*entry
	most := 0.0
	for _, e := range pool {
		if e.ofFile() {
			files = append(files, e)
			most = math.Max(most, e.rank.cosine)
		}
	}
	scores := make([]float64, len(files))
	for i, e := range files {
		scores[i] = e.rank.score
		for j, x := range fileFeaturesOf(&e.rank, most) {
			e.rank.learned += fileWeights[j] * x
		}
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	slices.SortFunc(files, func(a, b *entry) int { return cmp.Or(cmp.Compare(b.rank.learned, a.rank.learned), byFusion(a, b)) })
	for i, e := range files {
		e.rank.score = scores[i]
	}
}
