package knownitem

import (
	"cmp"
	_ "embed"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// rule makes a question from a claim. It returns the question's text, "" if the claim is not
// suitable, and the passage that the question copies.
type rule func(*collection, *ken.Claim, *rand.Rand) (text, hidden string)

var rules = map[Kind]rule{KindKeyword: keyword, KindHeading: heading, KindQuestion: question, KindParaphrase: paraphrase}

// word is one word or identifier of a text.
type word struct {
	text   string // as in the text
	term   string // as in the index
	weight float64
	at     int // index among the words
}

// words returns the distinct indexed words of text, in order, with identifiers unsplit. It leaves
// out what nobody would type: hashes, long numbers, markup.
func (c *collection) words(text string) []word {
	var out []word
	seen := map[string]int{}
	pos := 0
	for _, t := range analysis.Tokens(nil, text) {
		if t.Pos == pos { // a part of the previous identifier
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

// typed reports whether a person may type a word into a search.
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

// byWeight sorts words by weight, the most distinctive first.
func byWeight(words []word) []word {
	out := slices.Clone(words)
	slices.SortStableFunc(out, func(a, b word) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// identifies reports whether the words of a question identify a claim: if words were distributed at
// random, less than one other claim would have all of them.
func (c *collection) identifies(text string) bool {
	sum := 0.0
	for _, t := range analysis.Terms(text) {
		if c.has[t] > 0 {
			sum += c.idf(t)
		}
	}
	return sum >= math.Log(float64(c.read)+1)
}

// minWords is the minimum number of words of a text from which a keyword question is made.
const minWords = 6

// keyword returns a few of the most distinctive words in another order, as typed into a search box:
// in lower case, with identifiers sometimes split.
func keyword(c *collection, claim *ken.Claim, rng *rand.Rand) (text, hidden string) {
	text, _, _ = strings.Cut(claim.Text, "\nFiles: ") // the list of files of a commit
	words := c.words(remark.ReplaceAllString(text, ""))
	if len(words) < minWords {
		return "", ""
	}
	best := byWeight(words)
	best = best[:min(len(best), 10)]
	n := min(3+rng.IntN(3), len(best)-1)
	chosen := []word{best[rng.IntN(min(3, len(best)))]} // always one of the rarest
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
		out = append(out, asTyped(w.text))
	}
	text = strings.Join(out, " ")
	if !c.identifies(text) {
		return "", ""
	}
	return text, ""
}

// asTyped returns a word as people type it: in lower case, except for identifiers, which they copy.
func asTyped(w string) string {
	if strings.ContainsFunc(w[1:], unicode.IsUpper) && strings.ContainsFunc(w, unicode.IsLower) {
		return w
	}
	return strings.ToLower(w)
}

// numbered reports whether any part of an identifier is a number.
func numbered(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return p[0] >= '0' && p[0] <= '9' })
}

// draw returns a random word, with a probability proportional to its weight.
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

// infinitive returns the infinitive of a past form; false for other words.
func infinitive(past string) (string, bool) {
	past = strings.ToLower(past)
	if past == "was" || past == "were" || past == "had" || past == "did" {
		return map[string]string{"was": "be", "were": "be", "had": "have", "did": "do"}[past], past == "had" || past == "did"
	}
	if base, ok := irregularPast()[past]; ok {
		return base, true
	}
	stem, ok := strings.CutSuffix(past, "ed")
	if !ok || len(stem) < 2 || !strings.ContainsAny(stem, "aeiouy") {
		return "", false
	}
	last := stem[len(stem)-1]
	switch {
	case strings.HasSuffix(stem, "i"):
		return stem[:len(stem)-1] + "y", true
	case doubled(stem) && !strings.ContainsRune("lsz", rune(last)):
		return stem[:len(stem)-1], true
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "iv"), strings.HasSuffix(stem, "ov"), strings.HasSuffix(stem, "ang"),
		strings.HasSuffix(stem, "uc"), strings.HasSuffix(stem, "as"), strings.HasSuffix(stem, "us"), strings.HasSuffix(stem, "os"),
		strings.HasSuffix(stem, "is"), strings.HasSuffix(stem, "iz"), strings.HasSuffix(stem, "ar"), strings.HasSuffix(stem, "ir"),
		strings.HasSuffix(stem, "ur"), strings.HasSuffix(stem, "in") && !strings.HasSuffix(stem, "ain"), strings.HasSuffix(stem, "av"),
		strings.HasSuffix(stem, "ak"), strings.HasSuffix(stem, "ac"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "ag"),
		strings.HasSuffix(stem, "ot"), strings.HasSuffix(stem, "ut"), strings.HasSuffix(stem, "nc"), strings.HasSuffix(stem, "lv"), strings.HasSuffix(stem, "rg"), strings.HasSuffix(stem, "dg"):
		return stem + "e", true
	}
	return stem, true
}

func doubled(s string) bool { return len(s) > 2 && s[len(s)-1] == s[len(s)-2] }

// base is a word and an ending, "", s, ed or ing, that together give another word.
type base struct{ word, ending string }

// bases returns the possible base forms of a word in lower case, the word itself first.
func bases(w string) []base {
	out := []base{{w, ""}}
	if past, ok := infinitive(w); ok {
		out = append(out, base{past, "ed"})
		if stem, ok := strings.CutSuffix(w, "ed"); ok {
			out = append(out, base{stem, "ed"}, base{stem + "e", "ed"})
		}
	}
	if stem, ok := strings.CutSuffix(w, "ing"); ok && len(stem) > 2 {
		out = append(out, base{stem, "ing"}, base{stem + "e", "ing"})
		if doubled(stem) {
			out = append(out, base{stem[:len(stem)-1], "ing"})
		}
	}
	if stem, ok := strings.CutSuffix(w, "s"); ok && len(stem) > 2 && !strings.HasSuffix(stem, "s") {
		if y, ok := strings.CutSuffix(stem, "ie"); ok {
			out = append(out, base{y + "y", "s"})
		} else if es, ok := strings.CutSuffix(stem, "e"); ok {
			out = append(out, base{stem, "s"}, base{es, "s"})
		} else {
			out = append(out, base{stem, "s"})
		}
	}
	return out
}

// singular removes the ending of a plural, so that the word differs from the text. Other words stay
// unchanged.
func singular(w string) string {
	if len(w) < 5 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"), strings.HasSuffix(w, "ys"):
		return w
	case strings.HasSuffix(w, "s"):
		return w[:len(w)-1]
	}
	return w
}

// inflect adds an ending to a base form: s, ed or ing, by the rules of spelling. In a phrase it
// inflects the first word.
func inflect(base, ending string) string {
	first, rest, phrase := strings.Cut(base, " ")
	if phrase {
		return inflect(first, ending) + " " + rest
	}
	if ending == "ed" {
		if past, ok := pastOf()[base]; ok {
			return past
		}
		switch base {
		case "set", "put", "cut", "shut", "let", "hit", "read":
			return base
		}
	}
	last := base[len(base)-1]
	consonantY := last == 'y' && len(base) > 1 && !strings.ContainsRune("aeiou", rune(base[len(base)-2]))
	switch ending {
	case "s":
		switch {
		case plurals[base] != "":
			return plurals[base]
		case consonantY:
			return base[:len(base)-1] + "ies"
		case strings.HasSuffix(base, "ch"), strings.HasSuffix(base, "sh"), last == 's', last == 'x', last == 'z':
			return base + "es"
		}
		return base + "s"
	case "ed":
		switch {
		case consonantY:
			return base[:len(base)-1] + "ied"
		case last == 'e':
			return base + "d"
		case doubles(base):
			return base + string(last) + "ed"
		}
		return base + "ed"
	case "ing":
		switch {
		case last == 'e' && !strings.HasSuffix(base, "ee"):
			return base[:len(base)-1] + "ing"
		case doubles(base):
			return base + string(last) + "ing"
		}
		return base + "ing"
	}
	return base
}

var plurals = map[string]string{"child": "children", "man": "men", "woman": "women"}

// doubles reports whether a short word doubles its last letter, such as stop, drop and run.
func doubles(base string) bool {
	n := len(base)
	if n < 3 || n > 4 || strings.ContainsRune("aeiouywx", rune(base[n-1])) {
		return false
	}
	return strings.ContainsRune("aeiou", rune(base[n-2])) && !strings.ContainsRune("aeiou", rune(base[n-3]))
}

// irregularPast maps past forms to their verbs.
var irregularPast = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	words := strings.Fields(irregularVerbs)
	for i := 0; i+1 < len(words); i += 2 {
		m[words[i+1]] = words[i]
	}
	return m
})

var pastOf = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for past, base := range irregularPast() {
		m[base] = past
	}
	return m
})

// A verb and its past form, alternating. Only past forms that are no other words.
const irregularVerbs = `become became begin began break broke bring brought build built buy bought catch caught choose chose come came
	dig dug draw drew drink drank drive drove eat ate fall fell feed fed feel felt fight fought find found fly flew forget forgot
	get got give gave go went grow grew hear heard hide hid hold held keep kept know knew learn learnt leave left lend lent
	lose lost make made mean meant meet met pay paid ride rode ring rang run ran say said see saw sell sold send sent
	shake shook show shown sing sang sit sat sleep slept speak spoke spend spent spin spun stand stood steal stole
	stick stuck swim swam take took teach taught tell told think thought throw threw understand understood wake woke wear wore
	win won write wrote overwrite overwrote rebuild rebuilt`

//go:embed synonyms.txt
var synonymLines string

// synonyms maps each word of synonyms.txt to the words of its line. A line has words that can
// replace each other, in their base form; an underscore stands for a space. No word is in two
// lines.
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

// paraphrase rewrites a sentence with other words. It uses synonyms from the table and other
// endings, and leaves out function words and the less distinctive other words.
func paraphrase(c *collection, claim *ken.Claim, rng *rand.Rand) (text, hidden string) {
	who, list := said(claim)
	for _, i := range rng.Perm(len(list)) {
		words := c.words(list[i])
		if len(words) < 5 || len(words) > 30 || looksLikeCode(list[i]) {
			continue
		}
		keep := map[int]bool{} // the most distinctive words, and those with a synonym
		replaced := 0
		for n, w := range byWeight(words) {
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
				out = append(out, singular(low))
			}
		}
		if replaced == 0 || len(out) < 3 {
			continue
		}
		if who != "" {
			out = append([]string{who}, out...)
		}
		text = openings[rng.IntN(len(openings))] + strings.Join(out, " ")
		if c.identifies(text) {
			return text, ""
		}
	}
	return "", ""
}

var openings = []string{"", "", "", "", "where do we ", "anything about ", "how do I ", "what about "}

// replace returns a synonym of a word in the same form; "" if there is none.
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
