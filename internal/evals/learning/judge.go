package learning

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Verdict is the rating of a claim.
type Verdict string

// The verdicts. Half is a claim from a sentence worth keeping that lacks a required part.
// Unsaid is a claim that came from no sentence of a user.
const (
	Good   Verdict = "good"
	Spare  Verdict = "fine"
	Bad    Verdict = "junk"
	Half   Verdict = "half"
	Unsaid Verdict = "unsaid"
)

// Kept is a harvested claim with its verdict.
type Kept struct {
	Text      string   `json:"text"`
	Kind      ken.Kind `json:"kind"`
	Sentence  string   `json:"sentence,omitempty"` // the sentence that it came from
	Verdict   Verdict  `json:"verdict"`
	Why       string   `json:"why,omitempty"` // why the sentence is junk, or what the claim lacks
	Rule      string   `json:"rule,omitempty"`
	Candidate bool     `json:"rule_candidate,omitempty"`
	Reads     string   `json:"reads,omitempty"` // the sentence's label: direct, indirect or ""
	Thing     string   `json:"thing,omitempty"` // the claim's primary entity
	About     []string `json:"about,omitempty"` // the names in the sentence's About
}

// Minimum shares of words that a claim and its sentence have in common.
const (
	cameFrom = 0.5 // share of the claim's words in the sentence, or of the sentence's in the claim
	holds    = 0.8 // share of a further sentence's words in a claim that also states it
)

// judge finds the sentences that a claim came from, and rates the claim by them.
func judge(c *ken.Claim, said []*Sentence) Kept {
	k := Kept{Text: c.Text, Kind: c.Kind, Verdict: Unsaid, Candidate: c.RuleCandidate}
	if c.Constraint {
		k.Rule = "rule"
	}
	if len(c.Entities) > 0 {
		k.Thing = c.Entities[0]
	}
	told := analysis.WithoutPastNotes(c.Text)
	if _, answer, joined := strings.Cut(told, " Answer: "); joined { // after the question that it answers
		told = answer
	}
	words := grams(told)
	var from []*Sentence
	var best *Sentence
	most := 0.0
	for _, s := range said {
		own := grams(s.Text)
		claims, theirs := share(words, own), share(own, words)
		if score := max(claims, theirs*float64(min(len(own), 6))/6); score >= cameFrom && score > most {
			best, most = s, score
		}
		if theirs >= holds && len(own) >= 3 {
			from = append(from, s)
		}
	}
	if best == nil {
		// A model changes the wording: a claim with everything that a sentence must say comes
		// from that sentence.
		for _, s := range said {
			if s.Is == Keep && len(s.Must) > 1 && hasAll(c.Text, s.Must) {
				best = s
				break
			}
		}
	}
	if best == nil {
		return k
	}
	if !slices.Contains(from, best) {
		from = append(from, best)
	}
	k.Sentence, k.Reads, k.About = best.Text, best.Rule, best.About
	k.Verdict = Bad
	for _, s := range from {
		switch {
		case s.Is == Keep && hasAll(c.Text, s.Must):
			k.Verdict, k.Sentence, k.Reads, k.About = Good, s.Text, s.Rule, s.About
			return k
		case s.Is == Keep:
			k.Verdict, k.Why = Half, "lacks "+strings.Join(lacks(c.Text, s.Must), ", ")
		case s.Is == Fine && k.Verdict != Half:
			k.Verdict = Spare
		case k.Verdict == Bad && k.Why == "":
			k.Why = s.Why
		}
	}
	return k
}

// hasAll reports whether a text contains all the given strings, ignoring case.
func hasAll(text string, want []string) bool { return len(lacks(text, want)) == 0 }

// lacks returns the strings that a text doesn't contain, ignoring case. For a|b, one of both is
// enough. A string that begins with re: is a regular expression.
func lacks(text string, want []string) (out []string) {
	text = strings.ToLower(text)
	for _, w := range want {
		if expr, ok := strings.CutPrefix(w, patternPrefix); ok {
			if re, err := compile(expr); err != nil || !re.MatchString(text) {
				out = append(out, w)
			}
		} else if !slices.ContainsFunc(strings.Split(strings.ToLower(w), "|"), func(a string) bool { return strings.Contains(text, strings.TrimSpace(a)) }) {
			out = append(out, w)
		}
	}
	return out
}

const patternPrefix = "re:"

var patterns sync.Map // compiled regular expressions by their source

// compile returns a regular expression that ignores case.
func compile(expr string) (*regexp.Regexp, error) {
	if re, ok := patterns.Load(expr); ok {
		return re.(*regexp.Regexp), nil
	}
	re, err := regexp.Compile("(?i)" + expr)
	if err == nil {
		patterns.Store(expr, re)
	}
	return re, err
}

// grams returns the words of a text, and pairs of characters for scripts without spaces.
func grams(text string) map[string]bool {
	out := map[string]bool{}
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out[string(word)] = true
		}
		word = word[:0]
	}
	var before rune
	for _, r := range strings.ToLower(text) {
		unspaced := analysis.Unspaced(r)
		switch {
		case unspaced:
			flush()
			if before != 0 {
				out[string([]rune{before, r})] = true
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			word = append(word, r)
		default:
			flush()
		}
		if before = 0; unspaced {
			before = r
		}
	}
	flush()
	return out
}

// share returns the share of a's words that are in b.
func share(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
