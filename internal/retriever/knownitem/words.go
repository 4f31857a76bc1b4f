package knownitem

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// rule makes a question of a claim: its text, empty when the claim does not lend
// itself to the rule, and the passage that the question copies.
type rule func(*collection, *ken.Claim, *rand.Rand) (text, hidden string)

var rules = map[Kind]rule{KindKeyword: keyword, KindHeading: heading, KindQuestion: question, KindParaphrase: paraphrase}

// word is one word or identifier of a text.
type word struct {
	text   string // as it stands there
	term   string // as it is indexed
	weight float64
	at     int // place among the words
}

// words lists the distinct indexed words of text in their order, identifiers
// whole, and leaves out what nobody would type: hashes, long numbers, markup.
func (c *collection) words(text string) []word {
	var out []word
	seen := map[string]int{}
	pos := 0
	for _, t := range analysis.Tokens(nil, text) {
		if t.Pos == pos { // a part of the identifier before it
			continue
		}
		pos = t.Pos
		if i, ok := seen[t.Term]; ok {
			if i >= 0 {
				out[i].weight++
			}
			continue
		}
		seen[t.Term] = -1
		if w := text[t.Start:t.End]; typed(w) {
			seen[t.Term] = len(out)
			out = append(out, word{text: w, term: t.Term, weight: 1, at: len(out)})
		}
	}
	for i := range out {
		out[i].weight = (1 + math.Log(out[i].weight)) * c.idf(out[i].term)
	}
	return out
}

// typed reports words that a person may type into a search.
func typed(w string) bool {
	letters, digits := 0, 0
	for _, r := range w {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return len(w) <= 32 && letters >= 2 && digits <= 4 && digits <= letters || letters == 0 && digits == 4 || letters == 1 && len(w) > 1 && len(w) <= 6
}

// telling sorts words by weight, the most telling first.
func telling(words []word) []word {
	out := slices.Clone(words)
	slices.SortStableFunc(out, func(a, b word) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// singles reports whether the words of a question single a claim out: were words
// spread at random, fewer than one other claim would have them all.
func (c *collection) singles(text string) bool {
	sum := 0.0
	for _, t := range analysis.Terms(text) {
		if c.has[t] > 0 {
			sum += c.idf(t)
		}
	}
	return sum >= math.Log(float64(c.read)+1)
}

// minWords is how many words a text must have for a few of them to be a question.
const minWords = 6

// keyword is a few of the most telling words in another order, as typed into a
// search box: lower case, identifiers sometimes apart.
func keyword(c *collection, claim *ken.Claim, rng *rand.Rand) (text, hidden string) {
	text, _, _ = strings.Cut(claim.Text, "\nFiles: ") // the list of a commit
	words := c.words(remark.ReplaceAllString(text, ""))
	if len(words) < minWords {
		return "", ""
	}
	best := telling(words)
	best = best[:min(len(best), 10)]
	n := min(3+rng.IntN(3), len(best)-1)
	chosen := []word{best[rng.IntN(min(3, len(best)))]} // one of the rarest, always
	for len(chosen) < n {
		w := draw(best, rng)
		if !slices.ContainsFunc(chosen, func(o word) bool { return o.at == w.at }) {
			chosen = append(chosen, w)
		}
	}
	rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	if slices.IsSortedFunc(chosen, func(a, b word) int { return a.at - b.at }) {
		slices.Reverse(chosen)
	}
	var out []string
	for _, w := range chosen {
		if parts := analysis.SplitIdentifier(w.text); len(parts) > 1 && !strings.ContainsAny(w.text, "'’") && len(out)+len(parts) <= 7 && !numbered(parts) && rng.IntN(2) == 0 {
			out = append(out, parts...)
			continue
		}
		out = append(out, spelt(w.text))
	}
	text = strings.Join(out, " ")
	if !c.singles(text) {
		return "", ""
	}
	return text, ""
}

// spelt is a word as one types it: in lower case, but for identifiers, which one
// copies.
func spelt(w string) string {
	if strings.ContainsFunc(w[1:], unicode.IsUpper) && strings.ContainsFunc(w, unicode.IsLower) {
		return w
	}
	return strings.ToLower(w)
}

// numbered reports whether any part of an identifier is a number.
func numbered(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return p[0] >= '0' && p[0] <= '9' })
}

// draw picks a word with a chance in proportion to its weight.
func draw(words []word, rng *rand.Rand) word {
	sum := 0.0
	for _, w := range words {
		sum += w.weight + 0.1
	}
	at := rng.Float64() * sum
	for _, w := range words {
		if at -= w.weight + 0.1; at < 0 {
			return w
		}
	}
	return words[len(words)-1]
}
