package knownitem

import (
	"strings"
	"sync"
)

// infinitive leads a past form back to its verb, and reports false for a word
// that is no past form.
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

// base is what a word may be a form of, and the ending that it then has: "", s, ed
// or ing.
type base struct{ word, ending string }

// bases lists what a word in lower case may be a form of, the word itself first.
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

// bend takes the ending off a plural, so that the word differs from what stands
// in the text; any other word stays.
func bend(w string) string {
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

// inflect gives a base form an ending: s, ed or ing, by the rules of spelling. A
// phrase is bent at its first word.
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

// doubles reports short words that double their last letter: stop, drop, run.
func doubles(base string) bool {
	n := len(base)
	if n < 3 || n > 4 || strings.ContainsRune("aeiouywx", rune(base[n-1])) {
		return false
	}
	return strings.ContainsRune("aeiou", rune(base[n-2])) && !strings.ContainsRune("aeiou", rune(base[n-3]))
}

// irregularPast maps past forms to their verb.
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

// A verb and its past form in turn, those whose past form is no other word's.
const irregularVerbs = `become became begin began break broke bring brought build built buy bought catch caught choose chose come came
	dig dug draw drew drink drank drive drove eat ate fall fell feed fed feel felt fight fought find found fly flew forget forgot
	get got give gave go went grow grew hear heard hide hid hold held keep kept know knew learn learnt leave left lend lent
	lose lost make made mean meant meet met pay paid ride rode ring rang run ran say said see saw sell sold send sent
	shake shook show shown sing sang sit sat sleep slept speak spoke spend spent spin spun stand stood steal stole
	stick stuck swim swam take took teach taught tell told think thought throw threw understand understood wake woke wear wore
	win won write wrote overwrite overwrote rebuild rebuilt`
