package retriever

import "math"

// The floor for pieces of files. Chosen on 670 questions about 39 repositories, of which 130 have
// no answer there: docs/decisions/0048.
const (
	fileEvidence = 0.25 // minimum evidence of the turn's pieces; with less, all are left out
	fileWord     = 0.04 // evidence for each word of the question that one piece has
	fileShare    = 0.4  // minimum score of a piece, as a part of the best piece's
)

// fileFloor holds values of all pieces of files of a turn.
type fileFloor struct {
	best     float64 // the highest score of a piece
	evidence float64 // that the pieces are relevant to the question
}

// fileFloorOf computes the fileFloor of a pool. A long question needs a smaller part of its words
// than a short one, so the number of words that a piece has counts in addition to their part.
func fileFloorOf(pool []*entry, found []answer, vector bool) (out fileFloor) {
	content := 0.0
	for _, e := range pool {
		if !e.ofFile() {
			continue
		}
		cosine, has := e.rank.cosine, math.Max(e.rank.content, e.rank.named)
		if !vector {
			cosine = absentCosine
		}
		out.best, content = math.Max(out.best, e.rank.score), math.Max(content, has)
		out.evidence = math.Max(out.evidence, e.rank.prior*evidence(has, cosine))
	}
	for _, a := range found {
		if a.name == SourceKeyword {
			out.evidence += fileWord * content * float64(len(a.res.Terms))
		}
	}
	return out
}

// admits reports whether a piece is above the floor. least is Options.Floor.
func (f *fileFloor) admits(e *entry, least float64) bool {
	return f.evidence >= fileEvidence*least/DefaultFloor && e.rank.score >= fileShare*f.best
}
