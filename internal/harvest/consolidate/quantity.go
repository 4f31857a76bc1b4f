package consolidate

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// valueType is the type of a value. Only values of one type can replace each other.
type valueType uint8

const (
	weekdayType valueType = iota
	clockType
	dateType
	moneyType
	percentType
	amountType // a number with a unit or with what it counts
	numberType // a number without either
)

// mention is a value in a text, with its position.
type mention struct {
	span
	kind valueType
	norm string // digits, or a word in lower case
	unit string // unit of an amount, in lower case and singular
}

// same reports whether two mentions have the same value.
func (m *mention) same(o *mention) bool {
	switch {
	case m.norm != o.norm:
		return false
	case m.kind == dateType && o.kind == dateType:
		return m.unit == "" || o.unit == "" || m.unit == o.unit
	}
	return m.kind == o.kind && sameUnit(m.unit, o.unit) || m.kind == numberType || o.kind == numberType
}

// replaces reports whether m can be a new value of the thing that o gives a value to. A number without a
// unit can replace one that counts something.
func (m *mention) replaces(o *mention) bool {
	switch {
	case m.same(o):
		return false
	case m.kind == dateType:
		return o.kind == dateType
	case m.kind == o.kind:
		return sameUnit(m.unit, o.unit) || m.kind == numberType && (m.unit == "" || o.unit == "")
	}
	return m.kind == numberType && o.kind == amountType && m.unit == "" && !measures[o.unit]
}

// sameUnit reports whether two units are the same. One may be an abbreviation of the other.
func sameUnit(a, b string) bool {
	if a == b {
		return true
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "" && strings.HasPrefix(b, a) && (len(b) > 2 || a == "k" && b == "km")
}

const (
	dayNames = `(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?|` +
		`lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|(?:segunda|terça|quarta|quinta|sexta)(?:s|-feiras?)?`
	monthNames = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|avr|juin|juil|août|ene|abr|ago|dic|fev|set|out)\pL*`
)

// valuePatterns find values, the more specific ones first. Go's \b handles only ASCII letters; mentions
// checks the characters around a match.
var valuePatterns = []struct {
	kind valueType
	re   *lazyregexp.Regexp
}{
	{dateType, lazyregexp.New(`(?i)\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th|\.)? (?:of |de )?` + monthNames + `|` + monthNames + ` \d{1,2}(?:st|nd|rd|th)?|\d{1,2}月\d{1,2}[日号]|[一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[号日]|(?:am|vom|zum|bis) \d{1,2}\.|\d{1,2}(?:st|nd|rd|th)`)},
	{weekdayType, lazyregexp.New(`(?i)` + dayNames + `|[月火水木金土日]曜日?|(?:周|星期)[一二三四五六日天]`)},
	{clockType, lazyregexp.New(`(?i)\d{1,2}[:h]\d{2}|\d{1,2}\.\d{2} uhr|\d{1,2} ?(?:am|pm|uhr|h|o'clock|horas)|\d{1,2}時(?:半|\d{1,2}分)?|[一二三四五六七八九十]{1,3}点半?`)},
	{moneyType, lazyregexp.New(`(?i)(?:[$€£¥]|r\$|eur|usd|chf) ?\d(?:[\d.,]*\d)?k?|\d[\d.,]*k? ?(?:euros?|€|dollars?|reais|eur|usd|chf|pounds?|francs?|franken|pesos?|yen)|\d[\d.,]*[万億]?[元円]|[一二三四五六七八九十]+万[一二三四五六七八九]?千?|` + numberWordsPattern + ` (?:dollars|euros|pounds|reais)`)},
	{percentType, lazyregexp.New(`(?i)\d[\d.,]* ?(?:%|percent|prozent|pour cent|por ciento|por cento)`)},
	{amountType, lazyregexp.New(`(?i)\d+[\d.,]*-?\pL{1,4}|\d(?:[\d.,]*\d)?[ -]\pL[\pL-]*|` + numberWordsPattern + `[ -]\pL[\pL-]*|\d+[分秒人台個件回名枚天个周次年]`)},
	{numberType, lazyregexp.New(`\d(?:[\d.,]*\d)?`)},
}

const numberWordsPattern = `(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|deux|trois|quatre|cinq|sept|huit|neuf|dix|douze|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|dois|duas|três|quatro|sete|oito|nove|dez|doze)`

var numberNames = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(`2 two zwei deux dos dois duas
		3 three drei trois tres três
		4 four vier quatre cuatro quatro
		5 five fünf cinq cinco
		6 six sechs seis
		7 seven sieben sept siete sete
		8 eight acht huit ocho oito
		9 nine neun neuf nueve nove
		10 ten zehn dix diez dez
		11 eleven
		12 twelve zwölf douze doce doze`) {
		f := strings.Fields(line)
		for _, w := range f[1:] {
			m[w] = f[0]
		}
	}
	return m
})

// mentions returns the values in a text, in their order. Values within a note on a change and values
// before one are left out.
func mentions(text string) (out []mention) {
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsDigit(r) || r > 0x7f }) && !hasNumberWord(text) {
		return nil
	}
	notes := analysis.PastNotes(text)
	taken := func(from, to int) bool {
		for _, n := range notes {
			if from < n[1] && to > n[0]-1 {
				return true
			}
		}
		for i := range out {
			if from < out[i].to && to > out[i].from {
				return true
			}
		}
		return false
	}
	for _, p := range valuePatterns {
		for _, at := range p.re.FindAllStringIndex(text, 16) {
			from, to := at[0], at[1]
			for to > from && p.kind != dateType && strings.IndexByte(".,-", text[to-1]) >= 0 {
				to--
			}
			if taken(from, to) || !wordBounds(text, from, to) {
				continue
			}
			m := mention{span: span{from, to}, kind: p.kind}
			if p.kind == dateType && (sinceBefore.MatchString(text[:from]) || inBrackets(text, from) || ordinal(text, from, to)) || agoBehind.MatchString(text[to:]) {
				continue // it is part of a date of change
			}
			m.read(text)
			if m.kind == numberType && len(m.norm) == 4 && (strings.HasPrefix(m.norm, "19") || strings.HasPrefix(m.norm, "20")) {
				continue // a year
			}
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b mention) int { return a.from - b.from })
	return out
}

// inBrackets reports whether text[at] is within parentheses.
func inBrackets(text string, at int) bool {
	return strings.LastIndexByte(text[:at], '(') > strings.LastIndexByte(text[:at], ')')
}

// ordinal reports whether text[from:to] counts a thing and is no day: "the 3rd movie", but not "on the
// 3rd of May" or "it's the 25th now".
func ordinal(text string, from, to int) bool {
	if s := text[from:to]; strings.ContainsRune(s, ' ') || !strings.ContainsAny(s, "snrt") {
		return false
	}
	next, _, _ := strings.Cut(strings.TrimPrefix(text[to:], " "), " ")
	return to < len(text) && text[to] == ' ' && !function(lower(strings.Trim(next, ".,;:!?)")))
}

// wordBounds reports whether text[from:to] is bounded by other characters than letters and digits.
func wordBounds(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	first, _ := utf8.DecodeRuneInString(text[from:])
	last, _ := utf8.DecodeLastRuneInString(text[:to])
	after, _ := utf8.DecodeRuneInString(text[to:])
	if from > 0 && !analysis.Unspaced(first) && (unicode.IsLetter(before) && !analysis.Unspaced(before) || unicode.IsDigit(before) || strings.ContainsRune("-_/#@:.~", before)) {
		return false
	}
	if to < len(text) && !analysis.Unspaced(last) && (unicode.IsLetter(after) && !analysis.Unspaced(after) || unicode.IsDigit(after) || strings.ContainsRune("_/@", after)) {
		return false
	}
	return true
}

// weekdays maps beginnings of weekday names to numbers, Monday being 1.
var weekdays = [][2]string{{"mon", "1"}, {"lun", "1"}, {"segunda", "1"}, {"月", "1"}, {"tue", "2"}, {"dien", "2"}, {"mard", "2"}, {"mart", "2"}, {"terça", "2"}, {"火", "2"},
	{"wed", "3"}, {"mit", "3"}, {"mer", "3"}, {"mié", "3"}, {"quarta", "3"}, {"水", "3"}, {"thu", "4"}, {"don", "4"}, {"jeu", "4"}, {"jue", "4"}, {"quinta", "4"}, {"木", "4"},
	{"fri", "5"}, {"fre", "5"}, {"ven", "5"}, {"vie", "5"}, {"sexta", "5"}, {"金", "5"}, {"sat", "6"}, {"sam", "6"}, {"sáb", "6"}, {"土", "6"}, {"sun", "7"}, {"son", "7"}, {"dim", "7"}, {"dom", "7"}, {"日曜", "7"}}

// read parses the mention. A match that holds only a number becomes a numberType.
func (m *mention) read(text string) {
	s := strings.ToLower(text[m.from:m.to])
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
	switch m.kind {
	case weekdayType:
		m.norm = s
		for _, w := range weekdays {
			if strings.HasPrefix(s, w[0]) {
				m.norm = w[1]
			}
		}
	case clockType:
		m.norm = strings.TrimSuffix(strings.TrimRight(strings.NewReplacer(" ", "", "uhr", ":", "h", ":", ".", ":", "時", ":", "点", ":").Replace(s), ":"), ":00")
	case amountType:
		end := 0
		for end < len(s) && s[end] != ' ' && s[end] != '-' && (isDigit(s[0]) == (isDigit(s[end]) || s[end] == '.' || s[end] == ',')) {
			end++
		}
		number, unit := s[:end], strings.TrimLeft(s[end:], " -")
		m.norm = or(digits, numberNames()[number])
		m.unit = or(units[unit], analysis.Stem(unit))
		if units[unit] == "" && function(unit) && s[end] == ' ' {
			m.kind, m.unit, m.to = numberType, "", m.from+len(number)
			m.number(text)
		}
	case numberType:
		m.norm = strings.ReplaceAll(s, ",", "")
		m.number(text)
	case dateType:
		m.norm = or(digits, s)
		m.unit = monthName.FindString(s)
		if r := []rune(m.unit); len(r) > 3 {
			m.unit = string(r[:3])
		}
	default:
		word, _, _ := strings.Cut(s, " ")
		m.norm = or(or(digits, numberNames()[word]), s)
	}
}

// units holds units of time by their abbreviations and by names that otherwise name nothing, such as "s" and "seconds".
var units = map[string]string{"s": "second", "sec": "second", "secs": "second", "second": "second", "seconds": "second", "min": "minut", "mins": "minut", "hr": "hour", "hrs": "hour"}

// lengths are the units of time, as stems.
var lengths = analysis.Set("ms second minut hour day week month year")

// decimal reports whether m is a number with a decimal point.
func (m *mention) decimal() bool { return m.kind == numberType && strings.Contains(m.norm, ".") }

// rates are words between a number and the unit of its rate.
var rates = map[string]bool{"a": true, "an": true, "per": true, "each": true, "pro": true, "par": true, "por": true, "al": true, "ao": true}

// number sets the unit of a number: the word right before it, as in "port 8080", or the unit of its rate,
// as in "300 a day".
func (m *mention) number(text string) {
	after := strings.Fields(text[m.to:min(len(text), m.to+40)])
	if len(after) > 1 && rates[lower(after[0])] && text[m.to] == ' ' {
		m.unit = "per " + analysis.Stem(lower(strings.Trim(after[1], ".,;:!?)")))
		return
	}
	head := strings.TrimRight(text[:m.from], " ")
	if len(head) == m.from { // "(8080", "`8080"
		return
	}
	word := lower(strings.TrimLeft(head[strings.LastIndexByte(head, ' ')+1:], "(`'\""))
	if word != "" && unicode.IsLetter(rune(word[len(word)-1])) && !strings.HasSuffix(word, "'s") && !strings.HasSuffix(word, "’s") && !function(word) && numberNames()[word] == "" {
		m.unit = word
	}
}

// function reports whether w is a function word, which names nothing.
func function(w string) bool {
	return w == "" || genericTerms()[w] || analysis.IsStopWord(w) || lexicon()[w].is&(foreign|english|prep|modal|counts|negates|limits|be|filler|pronoun) != 0
}

func hasNumberWord(text string) bool {
	for w := range strings.FieldsFuncSeq(lower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if numberNames()[w] != "" {
			return true
		}
	}
	return weekdayName.MatchString(text)
}

var (
	monthName   = lazyregexp.New(monthNames + `|[一二三四五六七八九十\d]{1,3}月`)
	sinceBefore = lazyregexp.New(`(?i)(?:as of|since|seit|depuis|desde|stand) (?:the |le |el |dem )?$`)
	agoBehind   = lazyregexp.New(`(?i)^ (ago|later|earlier|before|old|atrás|später|zuvor|alt|plus tard|después|depois)\b|^前`)
	weekdayName = lazyregexp.New("(?i)" + dayNames)
)
