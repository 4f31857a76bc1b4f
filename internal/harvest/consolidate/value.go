package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// valueShape is the form in which a value is written.
type valueShape uint8

const (
	plainValue  valueShape = iota // words in lower case
	namedValue                    // a name
	numberValue                   // a number, perhaps with a unit
	dateValue                     // a date or a time
	regionValue                   // a cloud region: eu-west-1
	mixedValue                    // none of these alone
)

// maxValue is the maximum number of words of a value that is compared with another.
const maxValue = 5

func shapeOf(words []word) valueShape {
	names, numbers, timelies := 0, 0, 0
	for i := range words {
		w := &words[i]
		switch {
		case region(w.norm):
			return regionValue
		case w.has(timely), w.has(number) && strings.Contains(w.norm, ":"):
			timelies++
		case w.has(number):
			numbers++
		case w.has(name):
			names++
		}
	}
	switch {
	case timelies > 0, isoDate(words[0].norm):
		return dateValue
	case names > 0 && names+numbers == len(words), kindOf(words) > 0:
		return namedValue
	case words[0].has(number):
		return numberValue
	case names == 0 && numbers == 0:
		return plainValue
	}
	return mixedValue
}

// region reports whether s looks like the name of a cloud region: us-east-1,
// europe-west4.
func region(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) < 2 || len(parts) > 4 {
		return false
	}
	last := parts[len(parts)-1]
	if last == "" || !isDigit(last[len(last)-1]) || parts[0] == "" {
		return false
	}
	for i, p := range parts {
		for j := range len(p) {
			if (p[j] < 'a' || p[j] > 'z') && (i < len(parts)-1 || !isDigit(p[j])) {
				return false
			}
		}
	}
	return true
}

// isoDate reports whether s looks like 2026-05-01 or 2026/05/01.
func isoDate(s string) bool {
	if len(s) < 8 || len(s) > 10 {
		return false
	}
	for i := range len(s) {
		if !isDigit(s[i]) && s[i] != '-' && s[i] != '/' {
			return false
		}
	}
	return strings.Count(s, "-") == 2 || strings.Count(s, "/") == 2
}

// kindOf returns the line of kinds with a name, 0 for none.
func kindOf(words []word) int {
	if len(words) == 1 {
		return kinds()[lower(words[0].norm)]
	}
	var b strings.Builder
	for i := range words {
		if words[i].has(number) && i > 0 {
			break // a version
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(lower(words[i].norm))
	}
	return kinds()[b.String()]
}

// alternatives reports whether x and y are values of one attribute that exclude
// each other: both dates, both numbers with one unit, or both names of one kind. If
// known is set, the kind must be a known one. A value that is part of the other is
// no alternative.
func alternatives(x, y []word, known bool) bool {
	if len(x) == 0 || len(y) == 0 || len(x) > maxValue || len(y) > maxValue || within(x, y) || within(y, x) {
		return false
	}
	for _, words := range [][]word{x, y} {
		for i := range words {
			if words[i].has(negates | limits | modal | joins | pronoun | verb | be | prep | sign) {
				return false
			}
			if words[i].has(counts) {
				return false
			}
		}
	}
	if (x[0].is^y[0].is)&(article|definite) != 0 {
		return false
	}
	shape := shapeOf(x)
	if shape != shapeOf(y) {
		return false
	}
	switch shape {
	case regionValue:
		return len(x) == len(y)
	case numberValue, dateValue:
		return sameForm(x, y)
	case namedValue:
		if versions(x, y) {
			return true
		}
		return kindOf(x) == kindOf(y) && (!known || kindOf(x) > 0)
	case plainValue:
		if kindOf(x) > 0 || kindOf(y) > 0 {
			return kindOf(x) == kindOf(y)
		}
		return !known && len(x) == 1 && len(y) == 1
	}
	return false
}

// within reports whether x is a part of y, as Google is of Google Cloud.
func within(x, y []word) bool {
	for i := 0; i+len(x) <= len(y); i++ {
		if equalWords(x, y[i:i+len(x)]) {
			return true
		}
	}
	return false
}

// sameForm reports whether two values differ only in numbers, months and weekdays,
// each in the same place. Units must be equal.
func sameForm(x, y []word) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		a, b := &x[i], &y[i]
		switch {
		case a.equals(b):
		case a.has(number) && b.has(number) && !a.has(exact) && !b.has(exact) && isoDate(a.norm) == isoDate(b.norm):
		case a.has(timely) && b.has(timely) && isMonth[a.norm] == isMonth[b.norm] && dayPart(a.norm) == dayPart(b.norm):
		default:
			return false
		}
	}
	return true
}

func dayPart(s string) bool { return s == "am" || s == "pm" || s == "today" || s == "tomorrow" }

// versions reports whether two values are the same name with different numbers: Go
// 1.25 and Go 1.26.
func versions(x, y []word) bool {
	if len(x) != len(y) || len(x) < 2 || !x[0].has(name|exact) && kindOf(x[:1]) == 0 {
		return false
	}
	for i := range x[:len(x)-1] {
		if !x[i].equals(&y[i]) {
			return false
		}
	}
	return x[len(x)-1].has(number) && y[len(y)-1].has(number)
}

// contracted appends the words of a contraction such as "doesn't", "it's" or
// "Ana's". i is the index of the apostrophe in s.
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

// number appends a number and its unit as separate words: "30s", "10am", "v1.2",
// "15th", "1,000".
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

// thousands removes the commas of a number such as 1,000,000.
func thousands(s string) string {
	parts := strings.Split(s, ",")
	for i, p := range parts {
		if i > 0 && (len(p) < 3 || len(p) > 3 && p[3] != '.' || strings.Trim(p[:3], "0123456789") != "") {
			return s
		}
	}
	return strings.Join(parts, "")
}

// lower returns s in lower case, with compatibility forms normalised.
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

// identifier reports whether the case or the signs of a word are part of the name:
// a path, a flag, getUser. GitHub is a name that people also write in lower case.
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

// capitals reports whether a word has another meaning in capitals: US is a country,
// and MIT is not German.
func capitals(s string, e entry) bool {
	if s == "US" || s == "IT" || s == "WHO" {
		return true
	}
	return e.is&(foreign|negates) == foreign && len(s) > 1 && s == strings.ToUpper(s)
}

// plainParts reports whether a hyphenated word may as well be written as separate
// words.
func plainParts(s string) bool {
	for p := range strings.SplitSeq(s, "-") {
		if len(p) < 2 || strings.ContainsFunc(p, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return false
		}
	}
	return true
}
