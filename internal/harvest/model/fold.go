package model

import (
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/analysis"
)

// folder spells text as quotes are compared: lower case, one space for any white
// space and none within scripts that are written without, plain quotation marks
// and dashes, and parentheses for the brackets that rendering may have changed.
type folder struct {
	b      strings.Builder
	at     []int // for each byte of b, where its character starts in the text; nil when not asked for
	places bool
}

// fold returns text as quotes are compared.
func fold(text string) string {
	f := folder{}
	f.run(text)
	return f.b.String()
}

func (f *folder) run(text string) {
	f.b.Grow(len(text))
	var last rune // that was written
	space := -1   // where white space began that was not written yet
	for i, r := range text {
		if unicode.IsSpace(r) {
			if space < 0 {
				space = i
			}
			continue
		}
		s, r := spelling(r)
		if s == "" {
			continue
		}
		if space >= 0 && last != 0 && !(analysis.Unspaced(last) && analysis.Unspaced(r)) {
			f.write(" ", space)
		}
		f.write(s, i)
		last, space = r, -1
	}
}

func (f *folder) write(s string, at int) {
	f.b.WriteString(s)
	if f.places {
		for range len(s) {
			f.at = append(f.at, at)
		}
	}
}

// spelling returns how a character is compared, and the character that counts as
// the neighbour of the next; "" for what is not compared.
func spelling(r rune) (string, rune) {
	switch r {
	case '’', '‘', '‛', '′', '`', '´', '＇':
		return "'", r
	case '“', '”', '„', '‟', '«', '»', '″', '＂':
		return `"`, r
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return "-", r
	case '…':
		return "...", r
	case '<', '[':
		return "(", r
	case '>', ']':
		return ")", r
	}
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
		return "", r
	}
	return string(unicode.ToLower(r)), r
}

// wording is the same for two facts that say the same in the same words.
func wording(text string) string {
	return strings.TrimRight(fold(text), " .!。！")
}
