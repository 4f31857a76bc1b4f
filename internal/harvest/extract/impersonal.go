package extract

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// impersonal returns the number of words before what is forbidden or required in a sentence whose "it" stands for
// nothing: "It is forbidden to push to main." It is 0 for another sentence.
func impersonal(words []word) int {
	i := 1
	switch low(words, 0) {
	case "it's":
	case "it":
		if low(words, 1) != "is" {
			return 0
		}
		i = 2
	default:
		return 0
	}
	for low(words, i) == "not" || low(words, i) == "strictly" || low(words, i) == "also" {
		i++
	}
	if next := low(words, i+1); permissions[low(words, i)] && (next == "to" || next == "that") {
		return i + 2
	}
	return 0
}

var permissions = analysis.Set("forbidden prohibited banned mandatory required compulsory obligatory allowed permitted agreed policy")

// needsContext reports whether a sentence starts with a pronoun that stands for something. That of "Il est interdit de …"
// and "Es ist verboten, … zu …" stands for nothing.
func (c *cues) needsContext(text string) bool {
	form := c.form(text)
	if !c.starts(form, c.pointing) {
		return false
	}
	if c.starts(form, c.requests) {
		return true
	}
	for _, p := range c.impersonal {
		if rest, ok := strings.CutPrefix(form, " "+p+" "); ok {
			if p == "es müssen" && !c.has(form, c.rules) && !numbered(rest) {
				return true // "Es müssen die Lampen getauscht werden."
			}
			return !namesAll(p, strings.Fields(rest), rest)
		}
	}
	return true
}

// namesAll reports whether the words after an impersonal phrase name what they are about, and are no task for now.
func namesAll(phrase string, words []string, rest string) bool {
	if len(words) < 2 || pointsBack(words) {
		return false
	}
	switch {
	case phrase == "il y a" || phrase == "es gibt":
		return len(words) > 2
	case phrase == "il faut": // "il faut corriger le test" is a task
		return strings.Contains(" "+rest, " avant de ") || strings.Contains(" "+rest, " avant toute ") || len(words) > 3 && (numbered(words[0]) || frenchNumbers[words[0]]) ||
			slices.ContainsFunc(words, func(w string) bool { return frenchLasting[w] })
	case phrase == "il ne faut":
		return words[0] != "que" && (words[0] != "plus" || words[1] != "que")
	case strings.HasPrefix(phrase, "il est"), strings.HasPrefix(phrase, "il n'est"):
		return slices.ContainsFunc(words, func(w string) bool {
			return w == "de" || w == "que" || strings.HasPrefix(w, "d'") || strings.HasPrefix(w, "qu'")
		})
	case strings.HasPrefix(phrase, "es ist"):
		return slices.ContainsFunc(words, func(w string) bool {
			return w == "zu" || w == "dass" || strings.HasSuffix(w, "en") && strings.Index(w, "zu") > 1
		})
	}
	return true
}

// pointsBack reports whether words refer to what was said before or to now: "il faut le faire", "es ist verboten, das
// zu tun".
func pointsBack(words []string) bool {
	for i, w := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		object := i == 0 || beforeClitics[words[i-1]] // where the object of a French verb stands
		switch {
		case backward[w], w == "das" && next == "zu", object && clitics[w] && isInfinitive(next):
			return true
		case object && next != "" && strings.HasPrefix(w, "l'") && isInfinitive(w):
			return true
		}
	}
	return false
}

// isInfinitive reports whether a French word may be an infinitive.
func isInfinitive(w string) bool {
	return len(w) > 3 && (strings.HasSuffix(w, "er") || strings.HasSuffix(w, "ir") || strings.HasSuffix(w, "re"))
}

// Words after an impersonal phrase. backward holds those that refer to the sentence before or to now, and verbs
// that calm somebody: "il ne faut pas s'inquiéter".
var (
	backward = analysis.Set(`il elle ils elles qu'il qu'elle qu'ils qu'elles ça cela ceci lui celui-ci celle-ci là-dessus aujourd'hui demain maintenant vite s'inquiéter exagérer hésiter oublier paniquer rêver
		ihn ihm ihr sie es er dies dieses diese davon damit dazu dafür darin dabei dort heute morgen jetzt gerade grund probleme`)
	clitics       = analysis.Set("le la les y en leur")
	beforeClitics = analysis.Set("de pas jamais plus toujours rien absolument surtout ne")
	frenchLasting = analysis.Set("toujours jamais chaque systématiquement obligatoirement")
	frenchNumbers = analysis.Set("deux trois quatre cinq six sept huit neuf dix vingt trente")
)
