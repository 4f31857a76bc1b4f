package model

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// A quote proves that something was said, but not that it means the fact. So the numbers and
// names of a fact must have been said as well. Numbers must be in the quoted message or, since
// short answers omit them, right before it. Names may be anywhere in the session: a fact that
// is to be understood by itself names the project or the person that the session is about.

// shortAnswer is the maximum length, in characters, of a message that may answer the one
// before it.
const shortAnswer = 160

// supportWords holds the words that support a text.
type supportWords struct {
	folded  string
	numbers map[string]bool
	words   map[string]bool // folded
	terms   map[string]bool
}

func newSaid() *supportWords {
	return &supportWords{numbers: map[string]bool{}, words: map[string]bool{}, terms: map[string]bool{}}
}

func (s *supportWords) add(text string) {
	folded := fold(text)
	s.folded += " " + folded
	for _, n := range numbersIn(folded) {
		s.numbers[n] = true
	}
	before := ""
	for _, w := range wordsIn(folded) {
		s.words[w] = true
		if n, ok := numberWords[w]; ok {
			s.numbers[n] = true
			if m := numberWords[before]; m != "" && strings.HasPrefix(n, "100") { // "five hundred"
				s.numbers[m+strings.TrimPrefix(n, "1")] = true
			}
		}
		before = w
	}
	for _, t := range analysis.Terms(text) {
		s.terms[t] = true
	}
}

// supported reports whether message i, together with the one that it answers, contains the
// numbers and names of a text, and at least one of its content words.
func (l *factChecker) supported(i int, text, quote string) bool {
	m := &l.all[i]
	own := newSaid()
	own.add(m.text)
	for _, c := range m.calls {
		own.add(c)
	}
	short := utf8.RuneCountInString(m.text) <= shortAnswer
	if short {
		for j := i - 1; j >= 0; j-- {
			if l.all[j].who != tool {
				own.add(l.all[j].text)
				break
			}
		}
	}
	l.readSession()
	if !own.hasNumbers(text, m.day, l.spoken) || !own.hasNames(text, l.spoken) {
		return false
	}
	told := tellingTerms(text)
	if len(told) == 0 || strings.ContainsFunc(text, analysis.Unspaced) {
		return true
	}
	return slices.ContainsFunc(told, func(t string) bool { return own.terms[t] && (short || slices.Contains(analysis.Terms(quote), t)) })
}

// hasNumbers reports whether all numbers of a text were said. If the day of the message is
// known, a written date may be supported by a word such as "tomorrow", and a year near it or
// its own month and day need not be said. A number that belongs to a name, such as "Lindenhof
// 3", may be in near, which may be nil.
func (s *supportWords) hasNumbers(text, day string, near *supportWords) bool {
	folded := fold(text)
	if day != "" && relativeDay.MatchString(s.folded) {
		folded = writtenDate.ReplaceAllString(folded, " ")
	}
	return !slices.ContainsFunc(numbersIn(folded), func(n string) bool {
		return !s.numbers[n] && !ofDay(n, folded, day) && !near.hasNameWithNumber(folded, n)
	})
}

// ofDay reports whether n is a year near a day, or the day's month or day within a date of the
// text. The day is written as 2006-01-02.
func ofDay(n, text, day string) bool {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return false
	}
	if year, err := strconv.Atoi(n); err == nil && year >= at.Year()-1 && year <= at.Year()+2 {
		return true
	}
	if n != strconv.Itoa(int(at.Month())) && n != strconv.Itoa(at.Day()) {
		return false
	}
	return slices.ContainsFunc(writtenDate.FindAllString(text, -1), func(date string) bool { return slices.Contains(numbersIn(date), n) })
}

// hasNameWithNumber reports whether a number of a text is part of a name that was said: of one
// word with letters, or together with the word before it.
func (s *supportWords) hasNameWithNumber(text, number string) bool {
	if s == nil {
		return false
	}
	before := ""
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.Contains(numbersIn(word), number) {
			if strings.ContainsFunc(word, unicode.IsLetter) && indexWords(s.folded, word) >= 0 || before != "" && indexWords(s.folded, before+" "+word) >= 0 {
				return true
			}
		}
		before = word
	}
	return false
}

// hasNames reports whether all names of a text were said in s or in near, which may be nil.
func (s *supportWords) hasNames(text string, near *supportWords) bool {
	return !slices.ContainsFunc(namesIn(text), func(n string) bool { return !s.hasName(n) && (near == nil || !near.hasName(n)) })
}

// hasName reports whether a name was said, also in another case or with another ending.
func (s *supportWords) hasName(name string) bool {
	if indexWords(s.folded, name) >= 0 {
		return true
	}
	for _, w := range wordsIn(name) {
		if s.words[w] || s.terms[analysis.Stem(w)] {
			continue
		}
		if !s.inflected(w) {
			return false
		}
	}
	return true
}

// inflected reports whether a word that was said differs from this one only in its last
// letters.
func (s *supportWords) inflected(word string) bool {
	const stem, ending = 5, 3
	if len(word) < stem {
		return false
	}
	for w := range s.words {
		n := commonPrefix(w, word)
		if n >= stem && len(w)-n <= ending && len(word)-n <= ending {
			return true
		}
	}
	return false
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

var (
	number      = lazyregexp.New(`\d+(?:[.,:]\d+)*`)
	relativeDay = lazyregexp.New(`\b(?:today|tomorrow|yesterday|tonight|now|ago|(?:next|last|this|in|since|until|by|on) \S+|heute|morgen|gestern|nächste\w*|letzte\w*|hier|demain|aujourd'hui|mañana|ayer|hoy|ontem|amanhã|hoje)\b|今天|明天|昨天|今日|明日|昨日|下周|上周|来週|先週`)
	writtenDate = lazyregexp.New(`\b\d{4}-\d\d-\d\d\b|\b\d{1,2}(?:st|nd|rd|th)?\.? (?:` + months + `)\w*\.?,?(?: \d{4})?\b|\b(?:` + months + `)\w*\.? \d{1,2}(?:st|nd|rd|th)?\b(?:,? \d{4})?|\b(?:` + months + `)\w*,? \d{4}\b|\d{4} ?年|\d{1,2} ?月|\d{1,2} ?日`)
)

const months = `jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|ene|abr|ago|dic|fév|avr|aoû|déc|fev|set|out`

// numbersIn returns the numbers in a folded text, without separators of thousands.
func numbersIn(folded string) (out []string) {
	for _, n := range number.FindAllString(folded, -1) {
		parts := strings.FieldsFunc(n, func(r rune) bool { return r == ',' })
		if len(parts) > 1 && len(parts[len(parts)-1]) == 3 {
			n = strings.Join(parts, "")
		}
		out = append(out, strings.TrimLeft(n, "0"))
	}
	return out
}

var numberWords = map[string]string{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
	"eins": "1", "ein": "1", "eine": "1", "zwei": "2", "drei": "3", "vier": "4", "fünf": "5", "sechs": "6", "sieben": "7", "acht": "8", "neun": "9", "zehn": "10", "elf": "11", "zwölf": "12",
	"twenty": "20", "thirty": "30", "fifty": "50", "hundred": "100", "thousand": "1000", "hundert": "100", "tausend": "1000", "noon": "12", "midnight": "12", "twice": "2", "once": "1", "first": "1", "second": "2", "third": "3"}

// wordsIn returns the words of a folded text.
func wordsIn(folded string) []string {
	return strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// namesIn returns the names in a text, folded: capitalised words within a sentence, and words
// that are written like identifiers. In German every noun is capitalised, so only the latter
// count there.
func namesIn(text string) (out []string) {
	nouns := isGerman(text)
	for s := range sentences(text) {
		begins := true
		for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return unicode.IsSpace(r) || analysis.Unspaced(r) }) {
			word = strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
			if word == "" {
				continue
			}
			r, _ := utf8.DecodeRuneInString(word)
			if (unicode.IsUpper(r) && !begins && !nouns || isTechnical(word)) && !generic[strings.ToLower(word)] {
				out = append(out, fold(word))
			}
			begins = false
		}
	}
	return out
}

var germanWords = map[string]bool{"der": true, "die": true, "das": true, "und": true, "ist": true, "ein": true, "eine": true, "im": true, "den": true, "dem": true, "des": true, "für": true, "nicht": true,
	"von": true, "mit": true, "auf": true, "zu": true, "sind": true, "wird": true, "werden": true, "seit": true, "nur": true, "am": true, "vom": true, "zum": true}

// isGerman reports whether a text has two words that are common in German.
func isGerman(text string) bool {
	n := 0
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if germanWords[word] {
			n++
		}
	}
	return n > 1
}

// isTechnical reports whether a word has a capital, a sign or a digit after its first character.
func isTechnical(word string) bool {
	inner, letters := false, false
	for i, r := range word {
		inner = inner || i > 0 && unicode.IsUpper(r) || strings.ContainsRune("_/\\.@#", r)
		letters = letters || unicode.IsLetter(r)
	}
	return inner && letters
}

// generic holds words that name nothing and need no support.
var generic = map[string]bool{"i": true, "user": true, "the": true, "team": true, "agent": true, "assistant": true, "utc": true, "i.e": true, "e.g": true, "ok": true,
	"english": true, "german": true, "january": true, "february": true, "march": true, "april": true, "may": true, "june": true, "july": true, "august": true, "september": true,
	"october": true, "november": true, "december": true}

// tellingTerms returns the stems of a text that say what it is about. Stop words are left out,
// and verbs with which a summary says that somebody wants or does something.
func tellingTerms(text string) (out []string) {
	for _, t := range analysis.Terms(text) {
		if !reporting[t] && utf8.RuneCountInString(t) > 2 {
			out = append(out, t)
		}
	}
	return out
}

var reporting = stems("user team assistant agent project prefer want like need use say said tell decide require ask agree must should always never only want wish expect plan make keep run do does be is are was over instead rather than new now")

func stems(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[analysis.Stem(w)] = true
		for _, t := range analysis.Terms(w) {
			out[t] = true
		}
	}
	return out
}

// credential matches a sentence that contains a password or a key in words. Patterns for
// secrets only recognise formats.
var credential = lazyregexp.New(`\b(?:pass ?(?:word|phrase|code|wd)s?|passwort|kennwort|mot de passe|contraseña|senha|api[ _-]?keys?|access[ _-]?keys?|private[ _-]?keys?|secret(?: key)?|tokens?|credentials?|pin)\b` +
	"(?:[^.!?;]{0,40}?(?:\\bis\\b|\\bare\\b|\\bwas\\b|\\bist\\b|\\bes\\b|\\best\\b|\\bé\\b|=|:|set to|changed to))\\s*[\"'`(]*\\S*(?:\\d\\S*|[!@#$%^&*]\\S*)")

// tellsCredential reports whether a text contains a password or a key in words.
func tellsCredential(text string) bool {
	return credential.MatchString(plain(text)) || credentialChinese.MatchString(text)
}

var credentialChinese = lazyregexp.New(`(?:密码|口令|パスワード|暗証番号)(?:是|为|為|は|:|：)\s*\S*[0-9A-Za-z]\S*`)

// readSession reads the text of the whole session, once.
func (l *factChecker) readSession() {
	if l.session != nil {
		return
	}
	l.session, l.spoken = newSaid(), newSaid()
	for i := range l.all {
		m := &l.all[i]
		l.session.add(m.text)
		for _, c := range m.calls {
			l.session.add(c)
		}
		l.session.add(m.tool + " " + m.day)
		if m.who != tool {
			l.spoken.add(m.text)
		}
	}
	for name := range l.people {
		l.session.add(name)
		l.spoken.add(name)
	}
}

// summary removes from a model's summary the sentences that nobody said: names and numbers that
// are in no message, statements about the user that only a tool made, and passwords. It may
// return "".
func (l *factChecker) summary(text string) string {
	l.readSession()
	var b strings.Builder
	for s := range sentences(text) {
		if l.isSupported(s) {
			b.WriteString(s)
		}
	}
	return strings.TrimSpace(b.String())
}

// isSupported reports whether the session supports a sentence of a summary.
func (l *factChecker) isSupported(sentence string) bool {
	if tellsCredential(sentence) || holdsSecret(sentence) {
		return false
	}
	rests := l.session
	if ofUser(sentence) || decisionPattern.MatchString(plain(sentence)) {
		rests = l.spoken
	}
	if !rests.hasNumbers(sentence, "a day", nil) || !rests.hasNames(sentence, nil) {
		return false
	}
	told := tellingTerms(sentence)
	if rests == l.session || strings.ContainsFunc(sentence, analysis.Unspaced) || len(told) == 0 {
		return true
	}
	n := 0
	for _, t := range told {
		if rests.terms[t] {
			n++
		}
	}
	return 3*n >= len(told)
}

// decisionPattern matches sentences about a decision.
var decisionPattern = lazyregexp.New(`\b(?:decid\w+|decision|agreed|chose|chosen|settled|prefer\w*|want\w*|must|never|always)\b`)
