package analysis

import (
	"strings"
	"unicode"
)

// maxEntity bounds a spelled name, in runes: what is longer is a sentence.
const maxEntity = 120

// Entity spells the name of a thing in the one way that it is compared in: case
// folded, words apart by single spaces, where hyphens and underscores count as
// spaces, without an article in front, a possessive behind, and marks around.
// "The Payments-Service" and "payments_service" are one; so are "C++" and "c++".
// Slashes and dots stay: paths and versions are names too. The empty string means
// that nothing was left, or too much.
func Entity(name string) string {
	folded := string(fold(nil, name))
	words := strings.FieldsFunc(folded, func(r rune) bool {
		return r == '-' || r == '_' || r == '‐' || r == '‑' || r == '–' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
	for i := range words {
		words[i] = bare(words[i])
	}
	words = compact(words)
	for n := len(words); n > 0; n = len(words) {
		if words[n-1] = owner(words[n-1]); words[n-1] != "" {
			break
		}
		words = words[:n-1]
	}
	for len(words) > 1 && article(words[0]) {
		words = words[1:]
	}
	s := strings.Join(words, " ")
	if n := 0; s != "" {
		for range s {
			n++
		}
		if n > maxEntity {
			return ""
		}
	}
	return s
}

// bare is a word without the marks around it, and without full stops behind it.
func bare(w string) string {
	for {
		next := strings.TrimRight(strings.TrimFunc(w, aside), ".")
		if next == w {
			return w
		}
		w = next
	}
}

// owner is a last word without its possessive.
func owner(w string) string {
	for {
		next := bare(strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"))
		if next == w {
			return w
		}
		w = next
	}
}

func compact(words []string) []string {
	kept := words[:0]
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// aside reports a mark that is around a name rather than part of it.
func aside(r rune) bool {
	return strings.ContainsRune("`\"'“”‘’«»()[]{}<>,;:!?…*|~", r)
}

func article(w string) bool {
	switch w {
	case "the", "a", "an", "our", "my", "your", "their", "its", "his", "her", "this", "that", "these", "those":
		return true
	}
	return false
}
