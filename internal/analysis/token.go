package analysis

import "slices"

// Version names the behaviour of this package. An index records it and is
// rebuilt when it differs.
const Version = 2

// MaxTermBytes is the length of the longest term.
const MaxTermBytes = 64

// Token is one term of a text.
type Token struct {
	Term       string // valid UTF-8, 1 to MaxTermBytes bytes
	Start, End int    // byte offsets of what it was read from: text[Start:End]
	Pos        int    // word position from 1; the terms of one identifier share it, stop words leave gaps
}

// Tokens appends the index stream of text to dst and returns it. Tokens are in
// order of Pos, then Start; a whole identifier comes before its parts.
func Tokens(dst []Token, text string) []Token {
	s := scanner{text: text, out: dst}
	s.scan()
	return s.out
}

// Terms returns the distinct terms of text in order of first appearance, for
// queries. It never returns nil.
func Terms(text string) []string {
	var buf [48]Token
	tokens := Tokens(buf[:0], text)
	terms := make([]string, 0, len(tokens))
	if len(tokens) <= 32 { // a question: comparing beats hashing
		for _, t := range tokens {
			if !slices.Contains(terms, t.Term) {
				terms = append(terms, t.Term)
			}
		}
		return terms
	}
	seen := make(map[string]struct{}, len(tokens))
	for _, t := range tokens {
		if _, ok := seen[t.Term]; !ok {
			seen[t.Term] = struct{}{}
			terms = append(terms, t.Term)
		}
	}
	return terms
}
