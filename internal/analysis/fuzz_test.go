package analysis

import (
	"slices"
	"testing"
	"unicode/utf8"
)

func FuzzTokens(f *testing.F) {
	for _, s := range []string{prose, code, "", "\x00\xff", "a'b’c'", "知識ｶﾞ", "e\u0301", "1,234.5:6", "__a__b__", "x.y.z.", "C++#", "שָׁלוֹם", "İıſK"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Tokens(nil, text)
		last := Token{Pos: 1}
		for i, tok := range tokens {
			switch {
			case tok.Start < 0 || tok.End > len(text) || tok.Start >= tok.End:
				t.Fatalf("token %d: [%d:%d] of %d bytes", i, tok.Start, tok.End, len(text))
			case tok.Pos < last.Pos || tok.Start < last.Start:
				t.Fatalf("token %d: %+v after %+v", i, tok, last)
			case tok.Term == "" || len(tok.Term) > MaxTermBytes || !utf8.ValidString(tok.Term):
				t.Fatalf("token %d: term %q", i, tok.Term)
			}
			last = tok
		}
		if !slices.Equal(tokens, Tokens(nil, text)) {
			t.Fatal("another stream the second time")
		}
		if terms := Terms(text); len(terms) > len(tokens) || len(tokens) > 0 && terms[0] != tokens[0].Term {
			t.Fatalf("terms %q of %d tokens", terms, len(tokens))
		}
		for _, p := range SplitIdentifier(text) {
			if p == "" || !utf8.ValidString(p) {
				t.Fatalf("part %q", p)
			}
		}
	})
}
