package taint

import "iter"

// known is what of the arguments was said by somebody who may say it.
type known struct {
	words  []bool // by place in the arguments
	tokens map[uint64]bool
}

// knownWords is how many words in a row make them known: two may stand together by
// chance.
const knownWords = 3

// learn reads the trusted texts for what the spans and tokens hold.
func learn(t *text, runs []run, hits []hit, trusted iter.Seq[string]) known {
	k := known{words: make([]bool, len(t.words)), tokens: map[uint64]bool{}}
	places := map[uint64][]int{} // of three words of a span
	for _, r := range runs {
		for i := r.from; i+knownWords <= r.to; i++ {
			g := gram(t.words[i:])
			if have := places[g]; len(have) == 0 || have[len(have)-1] < i {
				places[g] = append(have, i)
			}
		}
	}
	wanted := map[uint64]bool{}
	for _, h := range hits {
		wanted[h.token.hash] = true
		for _, w := range h.token.within {
			wanted[w] = true
		}
	}
	for s := range trusted {
		theirs := read(s)
		for i := 0; i+knownWords <= len(theirs.words); i++ {
			for _, at := range places[gram(theirs.words[i:])] {
				k.words[at], k.words[at+1], k.words[at+2] = true, true, true
			}
		}
		for _, tok := range theirs.tokens {
			if tok.sort != parent && wanted[tok.hash] {
				k.tokens[tok.hash] = true
			}
		}
	}
	return k
}

// names reports whether a token, or what it lies in, was said.
func (k *known) names(t *token) bool {
	if k.tokens[t.hash] {
		return true
	}
	for _, w := range t.within {
		if k.tokens[w] {
			return true
		}
	}
	return false
}
