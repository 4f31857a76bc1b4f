package classify

import (
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/analysis"
)

// What an aspect may be. A model that makes one for every fact files nothing.
const (
	mostWords   = 3
	mostRunes   = 40
	mostAspects = 32 // of an entity; beyond, no new ones
)

// vague are names that sort nothing.
var vague = []string{"other", "others", "misc", "miscellaneous", "general", "generic", "none", "null", "unknown", "n/a", "na", "attribute", "attributes",
	"constraint", "constraints", "fact", "facts", "info", "information", "aspect", "aspects", "detail", "details", "thing", "things", "new", "true", "false"}

// spellAspect spells the name of an aspect in the one way that aspects are compared
// in; "" for what is none.
func spellAspect(raw string) string {
	s := analysis.Entity(raw)
	words := strings.Fields(s)
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != ' ' && r != '/'
	}
	if len(words) == 0 || len(words) > mostWords || len([]rune(s)) > mostRunes || strings.ContainsFunc(s, odd) || slices.Contains(vague, s) ||
		!strings.ContainsFunc(s, unicode.IsLetter) {
		return ""
	}
	return s
}

// aspects are those that facts of an entity may be filed under.
type aspects struct {
	have      []string // the entity's
	suggested []string
	names     []string // of the entity itself
	added     int      // new ones, by this answer
}

// take returns the aspect that a model's word stands for, and "" when it stands for
// none: one that is there already, or nearly, else a new one.
func (a *aspects) take(raw string) string {
	s := spellAspect(raw)
	if s == "" || slices.Contains(a.names, s) {
		return ""
	}
	for _, list := range [][]string{a.have, a.suggested} {
		if slices.Contains(list, s) {
			return s
		}
	}
	for _, list := range [][]string{a.have, a.suggested} {
		for _, o := range list {
			if alike(s, o) {
				return o
			}
		}
	}
	if len(a.have) >= mostAspects {
		return ""
	}
	a.have = append(a.have, s)
	a.added++
	return s
}

// alike reports two spellings of one aspect: the same stems in any order, or one
// letter that differs in a word long enough for that to be a slip.
func alike(a, b string) bool {
	if slices.Equal(stems(a), stems(b)) {
		return true
	}
	const long = 8
	return len(a) >= long && len(b) >= long && nearly([]rune(a), []rune(b))
}

func stems(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '/' })
	for i := range words {
		words[i] = analysis.Stem(words[i])
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// nearly reports at most one letter left out, added or replaced. A digit is never a
// slip.
func nearly(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if i < len(b) && (unicode.IsDigit(b[i]) || i < len(a) && unicode.IsDigit(a[i])) {
		return false
	}
	if len(a) == len(b) {
		return i == len(a) || slices.Equal(a[i+1:], b[i+1:])
	}
	return slices.Equal(a[i:], b[i+1:])
}
