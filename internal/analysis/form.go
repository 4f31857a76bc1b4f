package analysis

import (
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Form is how a text speaks, as far as ranking asks: small enough to be kept in
// memory for every record.
type Form struct {
	Speaker uint32 // Name of who speaks, when the text begins with "Name: "; else 0
	Words   uint16 // separated by spaces, at most formWords
	Traits  Traits
}

// Traits are what a text does, a bit each.
type Traits uint8

// Traits. FirstPerson and FirstPersonOften are a count of 0 to 3 together.
const (
	Asks             Traits = 1 << iota // it asks something
	Dated                               // it says when: a date, a weekday, "yesterday", "two weeks ago"
	Instructs                           // it says how to act from now on: "always …", "I prefer …"
	FirstPerson                         // it speaks of I, me, my, we: once or three times
	FirstPersonOften                    // twice or three times
)

// Self is how much a text speaks of who wrote it, 0..1.
func (t Traits) Self() float64 {
	n := 0.0
	if t&FirstPerson != 0 {
		n++
	}
	if t&FirstPersonOften != 0 {
		n += 2
	}
	return n / 3
}

const (
	formWords = 1<<16 - 1
	selfWords = 40 // among so many first words the first person is counted
	openWords = 60 // among so many first words an instruction is looked for
	formBytes = 16 << 10
)

// FormOf reads the first 16 KiB of text.
func FormOf(text string) Form {
	var f Form
	name, rest, _ := cutSpeaker(text)
	f.Speaker = Name(name)
	if len(rest) > formBytes {
		rest = rest[:formBytes]
	}
	n, self, before := 0, 0, ""
	for word := range strings.FieldsSeq(rest) {
		if strings.IndexByte(word, '?') >= 0 && !strings.Contains(word, "://") {
			f.Traits |= Asks
		}
		w := plain(word)
		if n < selfWords && isSelf[w] {
			self++
		}
		if n < openWords && instructs(before, w, n) {
			f.Traits |= Instructs
		}
		if saysWhen(before, w) {
			f.Traits |= Dated
		}
		before = w
		n++
	}
	f.Words = uint16(min(n, formWords))
	switch {
	case self == 1:
		f.Traits |= FirstPerson
	case self == 2:
		f.Traits |= FirstPersonOften
	case self > 2:
		f.Traits |= FirstPerson | FirstPersonOften
	}
	return f
}

// Name is a number for a speaker's name, by its first word in lower case; 0 for
// none. Different names may share a number, about once in four billion.
func Name(name string) uint32 {
	name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
	if name == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(name)))
	return max(h.Sum32(), 1)
}

// cutSpeaker splits "Ada Byron: hello" into the name and what is said.
func cutSpeaker(text string) (name, rest string, ok bool) {
	const longest = 40
	i := strings.IndexByte(text[:min(len(text), longest)], ':')
	if i < 2 || i+1 >= len(text) || text[i+1] != ' ' {
		return "", text, false
	}
	words := strings.Fields(text[:i])
	if len(words) == 0 || len(words) > 2 {
		return "", text, false
	}
	for _, w := range words {
		first, size := utf8.DecodeRuneInString(w)
		if !unicode.IsUpper(first) || strings.ContainsFunc(w[size:], func(r rune) bool {
			return !unicode.IsLetter(r) && r != '\'' && r != '-' && r != '.'
		}) {
			return "", text, false
		}
	}
	return text[:i], text[i+2:], true
}

// plain is a word in lower case without the punctuation around it; "" for one
// that is too long to be in any list.
func plain(word string) string {
	const longest = 24
	word = strings.Trim(word, ".,;:!?()[]{}\"'*_“”‘’`")
	if len(word) > longest {
		return ""
	}
	for i := range len(word) {
		if c := word[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.ReplaceAll(strings.ToLower(word), "’", "'")
		}
	}
	return word
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	isSelf = set("i i'm i've i'd i'll my me mine myself we we're we've we'll our ours us")

	timeWords = set(`yesterday today tonight tomorrow ago since recently lately weekend weekends day days week weeks month months year
		years january february march april june july august september october november december monday tuesday wednesday
		thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec`)
	timeUnits = set("night morning afternoon evening summer winter spring autumn fall quarter semester")
	timeLeads = set("last next this past")

	orders = set("always never whenever")
	likes  = set("prefer always")
)

func saysWhen(before, w string) bool {
	switch {
	case timeWords[w]:
		return true
	case timeUnits[w]:
		return timeLeads[before]
	case len(w) == 4 && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20")):
		return '0' <= w[2] && w[2] <= '9' && '0' <= w[3] && w[3] <= '9'
	}
	return false
}

// instructs reports whether word number n, after before, makes a text a standing
// instruction: "Always …" and "Don't …" at the start, "I prefer" near it.
func instructs(before, w string, n int) bool {
	switch {
	case n == 0 && (orders[w] || w == "don't" || w == "remember"):
		return true
	case n == 1 && before == "please" && orders[w], n == 1 && before == "do" && w == "not", n == 1 && before == "make" && w == "sure":
		return true
	}
	return likes[w] && (before == "i" || before == "i'd" || before == "we") || w == "prefer" && before == "would"
}

// AsksWhen reports whether a question wants to know a time.
func AsksWhen(question string) bool {
	before, last := "", ""
	for word := range strings.FieldsSeq(question) {
		w := plain(word)
		switch {
		case w == "when":
			return true
		case last == "how" && w == "long", (last == "what" || last == "which") && whenNouns[w],
			before == "how" && last == "many" && timeWords[w]:
			return true
		}
		before, last = last, w
	}
	return false
}

var whenNouns = set("date day month year time week weekday")
