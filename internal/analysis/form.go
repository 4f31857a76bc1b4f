package analysis

import (
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Form describes how a text is worded, as far as ranking needs it. It is small
// enough to be kept in memory for every record.
type Form struct {
	Speaker uint32 // Name of the speaker if the text begins with "Name: "; else 0
	Words   uint16 // number of words separated by spaces, at most formWords
	Traits  Traits
}

// Traits are properties of a text, as a set of bits.
type Traits uint8

// FirstPerson and FirstPersonOften together are a count of 0 to 3.
const (
	Asks             Traits = 1 << iota // it asks something
	Dated                               // it has a time: a date, a weekday, "yesterday", "two weeks ago"
	Instructs                           // it says how to act from now on: "always …", "I prefer …"
	FirstPerson                         // low bit of the count of I, me, my, we
	FirstPersonOften                    // high bit of that count

	originShift = iota // the higher bits hold the Origin
)

// Self returns how much a text is about its author, 0..1.
func (t Traits) Self() float64 {
	return float64(t/FirstPerson&3) / 3
}

const (
	formWords = 1<<16 - 1
	selfWords = 40 // first words in which the first person is counted
	openWords = 60 // first words in which an instruction is recognised
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
	f.Traits |= Traits(min(self, 3)) * FirstPerson
	return f
}

// Name returns a number for a speaker's name, by its first word in lower case; 0 for
// none. Two names have the same number with a probability of one in four billion.
func Name(name string) uint32 {
	name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
	if name == "" {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(name)))
	return max(h.Sum32(), 1)
}

// cutSpeaker splits "Ada Byron: hello" into the name and the rest.
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

// plain returns a word in lower case without the punctuation around it. It returns
// "" for a word that is too long to be in any list.
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

// Set returns the words of a list, which white space separates.
func Set(words string) map[string]bool {
	m := make(map[string]bool, strings.Count(words, " ")+1)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	isSelf = Set("i i'm i've i'd i'll my me mine myself we we're we've we'll our ours us")

	timeWords = Set(`yesterday today tonight tomorrow ago since recently lately weekend weekends day days week weeks month months year
		years january february march april june july august september october november december monday tuesday wednesday
		thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec`)
	timeUnits = Set("night morning afternoon evening summer winter spring autumn fall quarter semester")
	timeLeads = Set("last next this past")

	orders = Set("always never whenever")
	likes  = Set("prefer always")
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

// AsksWhen reports whether a question asks for a time.
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

var whenNouns = Set("date day month year time week weekday")

// connectorLength returns the length of the connector at i if it joins the run that began at
// start to the text after it, else 0. Connectors are the dot of log.go, the slash of
// a path, the hyphen of a kebab-case word or a date, the colons of std::vector, the
// at sign of an address, the colon of a time, and the comma of 1,234.
func connectorLength(text string, start, i int) int {
	if i == start || i+1 >= len(text) {
		return 0
	}
	switch text[i] {
	case '.', '-', '/', '@':
		if starts(text, i+1) {
			return 1
		}
	case ':':
		switch {
		case text[i+1] == ':' && starts(text, i+2):
			return 2
		case isDigit(text, i-1) && isDigit(text, i+1):
			return 1
		}
	case ',':
		// Three digits after, at most three before.
		if isDigit(text, i-1) && isDigit(text, i+1) && isDigit(text, i+2) && isDigit(text, i+3) && !isDigit(text, i+4) &&
			!(i-4 >= start && isDigit(text, i-2) && isDigit(text, i-3) && isDigit(text, i-4)) {
			return 1
		}
	}
	return 0
}

// starts reports whether a word could start at i.
func starts(text string, i int) bool {
	c, _ := classAt(text, i)
	return c == lower || c == upper || c == digit || c == under
}

func isDigit(text string, i int) bool {
	return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9'
}

// plusPlus returns the end of a name such as C++ or C# with the letters
// text[start:i]. It returns i if there is none.
func plusPlus(text string, start, i int) int {
	end := i
	switch {
	case i+1 < len(text) && text[i] == '+' && text[i+1] == '+':
		end = i + 2
	case i == start+1 && i < len(text) && text[i] == '#' && ascii[text[start]] == upper:
		end = i + 1
	}
	if end > i && starts(text, end) {
		return i
	}
	return end
}

// pairs emits the overlapping pairs of characters of the run that starts at i, or
// its only character. It returns the run's end.
func (s *scanner) pairs(i int) int {
	prev, alone := -1, true
	for {
		c, n := classAt(s.text, i)
		if c != unspace {
			if prev >= 0 && alone {
				s.pos++
				s.emit(s.pair(prev, i), prev, i)
			}
			return i
		}
		next := i + n
		for c, n = classAt(s.text, next); c == mark; c, n = classAt(s.text, next) {
			next += n // marks belong to the character before them
		}
		if prev >= 0 {
			s.pos++
			s.emit(s.pair(prev, next), prev, next)
			alone = false
		}
		prev, i = i, next
	}
}

// pair returns one or two characters of an unspaced script as a term. Half-width
// kana and syllables written as their letters become the common form.
func (s *scanner) pair(a, b int) string {
	t := s.text[a:b]
	if len(t) > MaxTermBytes {
		t = string(cut([]byte(t)))
	}
	for _, r := range t {
		if !isOwnForm(r) {
			return string(cut(norm.NFKC.Bytes([]byte(t))))
		}
	}
	return t
}

// isOwnForm reports whether a character is its own normal form in every context.
func isOwnForm(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 || r >= 0x30A1 && r <= 0x30FC || r >= 0xAC00 && r <= 0xD7A3
}
