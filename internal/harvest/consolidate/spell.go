package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// contracted takes "doesn't", "it's" and "Ana's" apart; i is the apostrophe.
func (t *text) contracted(s string, i int, cut byte) {
	head, tail := lower(s[:i]), lower(s[i+1:])
	put := func(w, raw string, cut byte) {
		e, ok := lexicon()[w]
		if !ok {
			e.norm = w
		}
		t.add(e, raw, cut)
	}
	switch tail {
	case "t":
		if stem, ok := strings.CutSuffix(head, "n"); ok {
			switch stem {
			case "ca":
				stem = "can"
			case "wo":
				stem = "will"
			case "sha":
				stem = "shall"
			}
			if stem != "" {
				put(stem, s, cut)
				put("not", s, 0)
				return
			}
		}
	case "re":
		put(head, s[:i], cut)
		put("are", s, 0)
		return
	case "m":
		put(head, s[:i], cut)
		put("am", s, 0)
		return
	case "ll", "d":
		put(head, s[:i], cut)
		put(map[string]string{"ll": "will", "d": "would"}[tail], s, 0)
		return
	case "ve":
		put(head, s[:i], cut)
		put("have", s, 0)
		return
	case "s":
		switch head {
		case "it", "he", "she", "that", "what", "there", "here", "who", "where":
			put(head, s[:i], cut)
			put("is", s, 0)
			return
		}
		t.word(s[:i], cut)
		t.words[len(t.words)-1].is |= owner
		return
	}
	t.add(entry{lower(s), name}, s, cut) // O'Brien
}

// number appends a number, its unit apart: "30s", "10am", "v1.2", "15th", "1,000".
func (t *text) number(s, low string, cut byte) {
	digits := low
	if low[0] == 'v' {
		digits = low[1:]
	}
	end := len(digits)
	for end > 0 && !isDigit(digits[end-1]) {
		end--
	}
	head, tail := digits[:end], digits[end:]
	if strings.ContainsFunc(head, unicode.IsLetter) {
		t.add(entry{s, name | exact | number}, s, cut) // a hash, 8080/tcp
		return
	}
	head = thousands(head)
	switch tail {
	case "", "st", "nd", "rd", "th":
		is := number
		if tail != "" {
			is |= timely
		}
		t.add(entry{head, is}, s, cut)
		return
	}
	if e, ok := lexicon()[tail]; ok && e.is&(unit|timely) != 0 {
		t.add(entry{head, number}, s, cut)
		t.add(e, s, 0)
		return
	}
	t.add(entry{head + tail, number | exact}, s, cut)
}

// thousands drops the commas of 1,000,000.
func thousands(s string) string {
	parts := strings.Split(s, ",")
	for i, p := range parts {
		if i > 0 && (len(p) < 3 || len(p) > 3 && p[3] != '.' || strings.Trim(p[:3], "0123456789") != "") {
			return s
		}
	}
	return strings.Join(parts, "")
}

// lower folds case and compatibility forms.
func lower(s string) string {
	ascii, up := true, false
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
		up = up || 'A' <= s[i] && s[i] <= 'Z'
	}
	switch {
	case ascii && !up:
		return s
	case ascii:
		return strings.ToLower(s)
	}
	s = norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))
	if s == "" {
		return "\uFFFD"
	}
	return s
}

// identifier reports a word whose case or signs are part of what it names: a path,
// a flag, a getUser. GitHub is a name that people also write in lower case.
func identifier(s string) bool {
	small, hump := false, false
	for i, r := range s {
		switch {
		case r == '_' || r == '/' || r == '.' || r == '@' || r == '\\' || r == ':' || r == '#' || r == '$' || r == '~' || r == '+' && i > 0,
			r == '-' && i == 0, unicode.IsDigit(r):
			return true
		case unicode.IsUpper(r):
			hump = hump || i > 0
		case unicode.IsLower(r):
			small = true
		}
	}
	first, _ := utf8.DecodeRuneInString(s)
	return small && hump && unicode.IsLower(first)
}

// capitals reports words that are something else in capitals: US is a country, and
// MIT is not German.
func capitals(s string, e entry) bool {
	if s == "US" || s == "IT" || s == "WHO" {
		return true
	}
	return e.is&(foreign|negates) == foreign && len(s) > 1 && s == strings.ToUpper(s)
}

// plainParts reports a hyphenated word that may as well be written apart.
func plainParts(s string) bool {
	for p := range strings.SplitSeq(s, "-") {
		if len(p) < 2 || strings.ContainsFunc(p, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return false
		}
	}
	return true
}
