package reading

import "github.com/kenlayer/ken/internal/analysis"

// Common reports a word that is too common to be a name by itself, whatever is known:
// "go", "set", "main", "service". A name is spelled as analysis.Entity does. So are
// words of one letter, numbers, verbs, days and function words; names of several words
// never are. A noun that things are called by as well ("search", "orders") is not: it
// is a name once a record carries it.
func Common(name string) bool {
	if len(name) < 2 || number(name) {
		return true
	}
	e := lexicon()[name]
	if e.is(generic | function | finite | past | adjective | calendar | label) {
		return true
	}
	return e.is(verb) && !e.is(common) || !e.is(common) && analysis.IsStopWord(name)
}

// usual reports a word that is no name unless something else tells so: one that is
// Common, and nouns that stand in texts of every kind.
func usual(name string) bool { return Common(name) || lexicon()[name].is(common) }

// number reports digits with dots and commas between them, also 3rd and v2.
func number(s string) bool {
	if len(s) > 1 && s[0] == 'v' {
		s = s[1:]
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' || c == ',' || c == '%' || c == ':' || c == '$' || c == '+':
		default:
			if digits == 0 || len(s)-i > 2 {
				return false
			}
		}
	}
	return digits > 0
}
