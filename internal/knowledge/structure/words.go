package structure

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Bounds of what names are looked for in.
const (
	headWords = 600 // of a long text, from its beginning
	tailWords = 400 // and from its end
	maxNgram  = 4   // words of a name
	maxRunes  = 8   // of a name in a script without spaces
)

// token is a word of a text, with what is around it.
type token struct {
	text     string
	name     string // as analysis.Entity spells it
	code     bool   // between backticks
	capital  bool   // begins with a capital
	opens    bool   // first of a sentence
	closes   bool   // a clause ends behind it
	sentence int
}

// text adds the names that may stand in a text, and returns how many words it has.
func (ms *mentions) text(text string) int {
	tokens := tokenize(text)
	titles := titled(tokens)
	for i := range tokens {
		t := &tokens[i]
		from := FromText
		if t.code {
			from = FromCode
		}
		ms.spelled(t.text, from, i, t.code || t.capital && !t.opens && !titles[t.sentence])
		if unspaced(t.text) {
			ms.runs(t.text, i)
		}
		ms.phrases(tokens[i:], i)
	}
	return len(tokens)
}

// phrases adds the names of several words that may begin with the first of the tokens.
// What one is without its first article, or its head, are names of fewer words.
func (ms *mentions) phrases(tokens []token, at int) {
	first := &tokens[0]
	name, code := first.name, first.code
	for n := 1; n < maxNgram && n < len(tokens) && !tokens[n-1].closes && name != ""; n++ {
		t := &tokens[n]
		if t.name == "" {
			return
		}
		if n == 1 && reading.Common(first.name) {
			ms.typed(first.name, t.name, at)
		}
		name, code = name+" "+t.name, code && t.code
		from := FromText
		if code {
			from = FromCode
		}
		ms.add(mention{name: name, from: from, words: n + 1, at: at})
	}
}

// tokenize splits a text at white space.
func tokenize(text string) []token {
	var out []token
	code, opens, sentence := false, true, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") { // a fence, and not a word
			code, opens = !code, true
			continue
		}
		fields := strings.Fields(line)
		for i, f := range fields {
			ticks := strings.Count(f, "`")
			t := token{code: code || ticks > 0, opens: opens, sentence: sentence}
			if ticks%2 == 1 {
				code = !code
			}
			if ticks > 0 {
				f = strings.ReplaceAll(f, "`", "")
			}
			end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(f, "\"'”’»)]}>*_"))
			opens = strings.ContainsRune(".!?:", end) || i == len(fields)-1
			t.closes = opens || end == ',' || end == ';'
			t.text = strings.TrimRight(strings.Trim(f, "\"'“”‘’«»()[]{}<>*_"), ".,;:!?…")
			t.name = analysis.Entity(t.text)
			r, _ := utf8.DecodeRuneInString(t.text)
			t.capital = unicode.IsUpper(r)
			if opens {
				sentence++
			}
			if t.name != "" {
				out = append(out, t)
			} else if n := len(out); n > 0 && t.closes {
				out[n-1].closes = true
			}
		}
	}
	if len(out) > headWords+tailWords {
		out[headWords-1].closes = true
		out = append(out[:headWords], out[len(out)-tailWords:]...)
	}
	return out
}

// titled tells the sentences most of whose words have capitals, which mean nothing
// there.
func titled(tokens []token) map[int]bool {
	out := map[int]bool{}
	for i := 0; i < len(tokens); {
		words, capitals, s := 0, 0, tokens[i].sentence
		for ; i < len(tokens) && tokens[i].sentence == s; i++ {
			if words++; tokens[i].capital {
				capitals++
			}
		}
		if 2*capitals > words && words > 2 {
			out[s] = true
		}
	}
	return out
}

// unspaced reports a word in a script that puts no spaces between words.
func unspaced(word string) bool { return strings.ContainsFunc(word, analysis.Unspaced) }

// runs adds the parts of an unspaced text that may be names.
func (ms *mentions) runs(text string, at int) {
	runes := []rune(text)
	runes = runes[:min(len(runes), headWords)]
	for i := range runes {
		for n := 2; n <= maxRunes && i+n <= len(runes); n++ {
			ms.add(mention{name: analysis.Entity(string(runes[i : i+n])), from: FromText, words: 1, at: at})
		}
	}
}
