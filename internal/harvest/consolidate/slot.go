package consolidate

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// oneFact is the most words of a statement that is taken to say one thing. A longer one says
// others besides, which would be lost with the value.
const oneFact = 24

// replacesValue reports whether a later statement gives what an earlier one speaks of another
// value of the same type, and says so: with "now", "moved", "instead" or their like in one of
// the languages that statements are read in. It returns both values. It looks at words, types of
// values and such cues alone, so that it holds where a sentence can't be taken apart.
func replacesValue(before, after string) (was, is string, ok bool) {
	if len(strings.Fields(before)) > oneFact || !changeCue.MatchString(" "+strings.ToLower(after)+" ") {
		return "", "", false
	}
	for _, v := range valueTypes {
		old, fresh := v.FindAllString(strings.ToLower(before), 4), v.FindAllString(strings.ToLower(after), 4)
		if len(old) == 0 || len(old) > 2 || len(fresh) == 0 || len(fresh) > 3 {
			continue
		}
		is := ""
		for _, f := range fresh {
			if !holdsValue(old, f) && unitOf(f) == unitOf(old[0]) {
				is = strings.TrimSpace(f)
			}
		}
		if is != "" && shareTopic(v.ReplaceAllString(strings.ToLower(before), " "), v.ReplaceAllString(strings.ToLower(after), " ")) {
			return strings.TrimSpace(old[0]), is, true
		}
	}
	return "", "", false
}

// unitOf returns the unit behind a number, without a plural: "day" of "30 days"; "" of a value
// that has none, such as a weekday or a date.
func unitOf(v string) string {
	amount, unit, ok := strings.Cut(strings.TrimSpace(v), " ")
	if !ok {
		amount, unit = v, strings.TrimLeft(v, "0123456789.,$€£¥ ")
		if unit == v {
			return ""
		}
	}
	if _, number := numberWords[amount]; !number && strings.Trim(amount, "0123456789.,") != "" {
		return ""
	}
	if months.MatchString(unit) {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(unit), "s")
}

var (
	numberWords = map[string]bool{"one": true, "two": true, "three": true, "four": true, "five": true, "six": true, "seven": true, "eight": true, "nine": true, "ten": true, "twelve": true}
	months      = lazyregexp.New(`^(of )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|févr|avr|juin|juil|août|ene|abr|ago|dic|am$|pm$|uhr|h$|o'clock|horas|st$|nd$|rd$|th$|[:h]\d)`)
)

func holdsValue(list []string, v string) bool {
	for _, o := range list {
		if strings.Join(strings.Fields(o), "") == strings.Join(strings.Fields(v), "") {
			return true
		}
	}
	return false
}

// leastShared are the shares of the shorter statement's terms, beside the values, that two
// statements about one thing have in common.
const (
	leastSharedTerms = 2
	leastSharedPart  = 0.3
)

func shareTopic(a, b string) bool {
	x, y := analysis.Terms(a), analysis.Terms(b)
	shared, nx, ny := 0, 0, 0
	known := map[string]bool{}
	for _, t := range x {
		if !thin[t] && !isDigit(t[0]) {
			known[t] = true
			nx++
		}
	}
	for _, t := range y {
		if thin[t] || isDigit(t[0]) {
			continue
		}
		ny++
		if known[t] {
			shared++
		}
	}
	return shared > 0 && (shared >= leastSharedTerms || min(nx, ny) <= 3) && float64(shared) >= leastSharedPart*float64(min(nx, ny))
}

// thin terms say nothing of a topic: cues of a change, and words that stand in most statements.
var thin = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`user now moved instead new changed still answer same from today week month year day hour minute until team people
		jetzt neu statt noch heute woche maintenant désormais nouveau ahora nuevo agora novo one two three four five it we our`) {
		m[analysis.Stem(w)], m[w] = true, true
	}
	return m
}()

// changeCue is how people say that something is not as it was.
var changeCue = lazyregexp.New(`[ ,.;:](now|instead|moved|moves|move|moving|changed|changes|raised|raise|lifted|lowered|reduced|increased|dropped|no longer|from now on|slipped|slips|shifted|shifting|postponed|brought forward|as of|replaced|back to|used to be|took over|takes over|down to|up to|took it down|make it|makes it|not .{1,20} anymore|any more|any longer|switched|update:|correction|` +
	`jetzt|künftig|ab sofort|statt|verschoben|verschiebt|weichen auf|erhöht|gesenkt|nicht mehr|neuerdings|geändert|` +
	`désormais|dorénavant|maintenant|passe à|passe de|passent à|décalé|décalée|reporté|reportée|au lieu|ne .{1,15} plus|changé|` +
	`ahora|desde ahora|cambia|cambió|cambiado|pasa a|pasamos a|en lugar de|en vez de|ya no|movemos|mueve|aplazado|se retrasa|` +
	`agora|mudança|mudou|muda|passa a|passou a|em vez de|adiado|adiada|subiu|baixou|a partir de)[ ,.;:]|` +
	`改成|改到|改为|变成|换成|推迟|提前到|加到|降到|涨到|现在是|不再|変わり|変更|延期|今後は|これからは|に移り|引き上げ|引き下げ`)

// valueTypes find values that are of one type.
var valueTypes = []*lazyregexp.Regexp{
	lazyregexp.New(`\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b|\b(lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b|\b(lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|\b(segunda|terça|quarta|quinta|sexta)(-feira)?\b|[月火水木金土日]曜|(周|星期)[一二三四五六日天]`),
	lazyregexp.New(`\b\d{1,2}[:h]\d{2}\b|\b\d{1,2}\.\d{2} uhr\b|\b\d{1,2} ?(am|pm|uhr|h|o'clock|horas)\b|\d{1,2}時|[一二三四五六七八九十]{1,3}点`),
	lazyregexp.New(`\b\d{1,2}(st|nd|rd|th|\.)? (of )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|févr|avr|juin|juil|août|ene|abr|ago|dic)[\pL]*\b|\b(january|february|march|april|may|june|july|august|september|october|november|december) \d{1,2}\b|\d{1,2}月\d{1,2}[日号]|[一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[号日]|\b\d{1,2}(st|nd|rd|th)\b`),
	lazyregexp.New(`[$€£¥] ?\d[\d.,]*|\b\d[\d.,]* ?(euros?|€|dollars?|reais|eur|usd)\b|r\$ ?\d[\d.,]*|\d[\d.,]*[万円元]|[一二三四五六七八九十]万[一二三四五六七八九]?|\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve) dollars\b`),
	lazyregexp.New(`\b\d[\d.,]* ?(%|percent|prozent)`),
	lazyregexp.New(`\b\d[\d.,]* ?(k|km|kg|gb|mb|ms|seats?|plätze|names?|messages?|minutes?|min|hours?|days?|weeks?|tage|jours|días|dias|requests?|people|personen|personnes|personas|pessoas|times|replicas?)\b`),
	lazyregexp.New(`\b(one|two|three|four|five|six|seven|eight|nine|ten|\d{1,3}) (interviews?|stages?|nodes?|replicas?|rounds?|people|steps?|shards?|workers?)\b`),
}
