package tokenizer

import "unicode/utf8"

// wordPiece cuts a word greedily: the longest token that it begins with, then
// the longest continuation of what is left. A word that can't be cut to its end
// is unknown as a whole.
type wordPiece struct {
	starts, continuations *trie
	unknown               int32 // -1: none
	keep                  bool  // writes the unknown token
	maxRunes              int   // longer words are unknown
}

func (w *wordPiece) cut(_ *viterbi, word []byte, ids []int32) []int32 {
	before := len(ids)
	if utf8.RuneCount(word) > w.maxRunes {
		return w.appendUnknown(ids)
	}
	t := w.starts
	for len(word) > 0 {
		token, n := t.longest(word)
		if n == 0 {
			return w.appendUnknown(ids[:before])
		}
		if token != w.unknown || w.keep {
			ids = append(ids, token)
		}
		word, t = word[n:], w.continuations
	}
	return ids
}

func (w *wordPiece) appendUnknown(ids []int32) []int32 {
	if w.keep && w.unknown >= 0 {
		ids = append(ids, w.unknown)
	}
	return ids
}
