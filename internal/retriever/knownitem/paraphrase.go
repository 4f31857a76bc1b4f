package knownitem

import (
	_ "embed"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

//go:embed synonyms.txt
var synonymLines string

// synonyms maps each word of synonyms.txt to the words of its line. A line is
// words that can stand for each other, in their base form; an underscore is a
// space. No word stands in two lines.
var synonyms = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(synonymLines) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		group := strings.Fields(line)
		for i := range group {
			group[i] = strings.ReplaceAll(group[i], "_", " ")
		}
		for _, w := range group {
			m[w] = group
		}
	}
	return m
})

// paraphrase says a sentence with other words: synonyms where the table has one,
// other endings elsewhere, function words and the less telling of the rest left
// out.
func paraphrase(c *collection, claim *ken.Claim, rng *rand.Rand) (text, hidden string) {
	who, list := said(claim)
	for _, i := range rng.Perm(len(list)) {
		words := c.words(list[i])
		if len(words) < 5 || len(words) > 30 || looksLikeCode(list[i]) {
			continue
		}
		keep := map[int]bool{} // the most telling ones, and what has a synonym
		replaced := 0
		for n, w := range telling(words) {
			if n < 6 {
				keep[w.at] = true
			}
		}
		var out []string
		for _, w := range words {
			low := strings.ToLower(w.text)
			if other := replace(low, rng); other != "" && (keep[w.at] || replaced < 3) {
				out = append(out, other)
				replaced++
			} else if keep[w.at] {
				if low != w.text { // a name or an identifier
					low = strings.Join(analysis.SplitIdentifier(w.text), " ")
				}
				out = append(out, bend(low))
			}
		}
		if replaced == 0 || len(out) < 3 {
			continue
		}
		if who != "" {
			out = append([]string{who}, out...)
		}
		text = openings[rng.IntN(len(openings))] + strings.Join(out, " ")
		if c.singles(text) {
			return text, ""
		}
	}
	return "", ""
}

var openings = []string{"", "", "", "", "where do we ", "anything about ", "how do I ", "what about "}

// replace returns a synonym of a word in the same form, and "" when there is none.
func replace(w string, rng *rand.Rand) string {
	for _, b := range bases(w) {
		group := synonyms()[b.word]
		if group == nil {
			continue
		}
		i := rng.IntN(len(group) - 1)
		if i >= slices.Index(group, b.word) {
			i++
		}
		return inflect(group[i], b.ending)
	}
	return ""
}
