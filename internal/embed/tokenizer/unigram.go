package tokenizer

import (
	"math"
	"unicode/utf8"
)

// unknownPenalty is the difference in log probability between the rarest token and an
// unknown character: sentencepiece's value.
const unknownPenalty = 10

// unigram splits a text into the most likely sequence of tokens, with the Viterbi
// algorithm. Unknown characters are left out, or a sequence of them becomes the unknown
// token.
type unigram struct {
	tokens       *trie
	scores       []float64 // log probabilities, by token
	unknown      int32     // -1 for none
	keep         bool      // emit the unknown token
	unknownScore float64
}

// viterbi is the working memory of one split: for each position, the best way to it.
type viterbi struct {
	steps []step
	back  []int32
}

type step struct {
	score float64
	start int32 // start of the step to this position; -1 if not reached
	token int32 // -1: an unknown character
}

func (u *unigram) cut(w *viterbi, text []byte, ids []int32) []int32 {
	if cap(w.steps) <= len(text) {
		w.steps = make([]step, len(text)+1)
	}
	steps := w.steps[:len(text)+1]
	for i := range steps {
		steps[i] = step{start: -1}
	}
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRune(text[at:])
		from := steps[at].score
		single := false // a token is exactly this character
		n := int32(0)
		for i, b := range text[at:] {
			if n = u.tokens.child(n, b); n == 0 {
				break
			}
			if token := u.tokens.nodes[n].token; token >= 0 {
				score := from + u.scores[token]
				if end := &steps[at+i+1]; end.start < 0 || score > end.score {
					*end = step{score, int32(at), token}
				}
				single = single || i+1 == size
			}
		}
		if !single {
			score := from + u.unknownScore
			if end := &steps[at+size]; end.start < 0 || score > end.score {
				*end = step{score, int32(at), -1}
			}
		}
		at += size
	}
	w.back = w.back[:0]
	for at := len(text); at > 0; at = int(steps[at].start) {
		token := steps[at].token
		if token < 0 {
			token = u.unknown
		}
		if token != u.unknown {
			w.back = append(w.back, token)
		} else if n := len(w.back); u.keep && token >= 0 && (n == 0 || w.back[n-1] != token) {
			w.back = append(w.back, token)
		}
	}
	for i := len(w.back) - 1; i >= 0; i-- {
		ids = append(ids, w.back[i])
	}
	return ids
}

// setScores sets the scores, and computes the score of an unknown character.
func (u *unigram) setScores(scores []float64) {
	lowest := math.Inf(1)
	for _, s := range scores {
		lowest = min(lowest, s)
	}
	u.scores, u.unknownScore = scores, lowest-unknownPenalty
}
