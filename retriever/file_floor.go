package retriever

import (
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/store"
)

// The floor for pieces of files. Chosen on 670 questions about 39 repositories, of which 130 have
// no answer there: docs/decisions/0048.
const (
	fileEvidence = 0.25 // minimum evidence of the turn's pieces; with less, all are left out
	fileWord     = 0.04 // evidence for each word of the question that one piece has
	fileShare    = 0.4  // minimum score of a piece, as a part of the best piece's
	fileUnknown  = 0.6  // factor of the evidence if nothing that was found has a name that the question asks for
)

// fileFloor holds values of all pieces of files of a turn.
type fileFloor struct {
	best     float64 // the highest score of a piece
	evidence float64 // that the pieces are relevant to the question
}

// fileFloorOf computes the fileFloor of a pool. A long question needs a smaller part of its words
// than a short one, so the number of words that a piece has counts in addition to their part.
func fileFloorOf(pool []*entry, found []answer, asked *ken.Signals, vector bool) (out fileFloor) {
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
			if namesUnknown(asked, &a.res) {
				out.evidence *= fileUnknown
			}
		}
	}
	return out
}

// namesUnknown reports whether the question has a name made of several words, such as maxRetries, of which no hit has
// all words. Pieces with one of the words are then found, and they are about something else.
func namesUnknown(asked *ken.Signals, res *store.Result) bool {
	return slices.ContainsFunc(asked.Symbols, func(name string) bool {
		terms := analysis.Terms(name[strings.LastIndexAny(name, ".:#/")+1:])
		if len(terms) < 2 || !strings.Contains(asked.Question, name) {
			return false
		}
		var words []int // their indices in res.Terms; the first of terms is the whole name
		for _, t := range terms[1:] {
			if i := slices.Index(res.Terms, t); i >= 0 {
				words = append(words, i)
			}
		}
		return len(words) > 0 && !slices.ContainsFunc(res.Hits, func(h store.Hit) bool {
			return !slices.ContainsFunc(words, func(i int) bool { return i < len(h.Parts) && h.Parts[i] == 0 })
		})
	})
}

// admits reports whether a piece is above the floor. least is Options.Floor.
func (f *fileFloor) admits(e *entry, least float64) bool {
	return f.evidence >= fileEvidence*least/DefaultFloor && e.rank.score >= fileShare*f.best
}
