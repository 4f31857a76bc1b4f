package retriever

import "math"

// The floor of pieces of files. Chosen on 670 questions about 39 repositories, 130 of which have no
// answer there: docs/decisions/0048.
const (
	fileEvidence = 0.22 // of the turn's pieces; with less, all are left out
	fileWord     = 0.04 // of that, what each of the question's words is that one piece has
	fileShare    = 0.4  // of the best piece's score; a piece with less is left out
)

// fileFloor is what the pieces of files together say of a turn.
type fileFloor struct {
	best     float64 // score
	evidence float64 // that they bear on the question
}

// fileFloorOf returns it. A question of many words needs a smaller part of them than one of few,
// so the number of words that a piece has counts beside their part.
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

// admits reports whether a piece is above the floor. least is the turn's floor, as Options.Floor.
func (f *fileFloor) admits(e *entry, least float64) bool {
	return f.evidence >= fileEvidence*least/DefaultFloor && e.rank.score >= fileShare*f.best
}
