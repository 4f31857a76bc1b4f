package consolidate

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// A reply that only gives another value starts with words of a correction, ends with them, or both.
var (
	denial = lazyregexp.New(`(?i)^(?:(?:no|nope|nah|oops|sorry|sry|wait|hm+|ah|oh|well|actually|rather|correction|wrong|typo|(?:that'?s|that is|that was|it'?s) (?:wrong|outdated|old|(?:from )?the old (?:value|one|number|setting|default)|incorrect|not (?:right|true|correct)|no longer (?:right|true)|out of date)|i (?:mean|meant|misspoke|mistyped|(?:just )?(?:checked|looked it up|asked))|my (?:bad|mistake)|scratch that|` +
		`nvm|never ?mind|whoops|hold on|hang on|my b|edit ?:|nein|falsch|ich meinte|moment|warte|halt|quatsch|non|pardon|je voulais dire|perdón|quiero decir|quise decir|não|desculpa|quer dizer)(?:[ ,.:;!–—-]+|$)|(?:不对|不是|错了|说错了|更正|いや|違う|違います|いいえ|訂正)[,,、。:: ]*)`)
	regret = lazyregexp.New(`(?i)(?:[ ,.–—-]+(?:sorry|my (?:bad|mistake)|actually|rather|entschuldigung|pardon|perdón|desculpa)|` +
		`, (?:because |bc |since |as )?(?:(?:i )?(?:mixed|misread|misremembered|mistyped|misspoke)|i (?:confused|was (?:thinking|looking|reading)|(?:had|got) (?:it|that|them|those|the \pL+) (?:wrong|mixed|confused|backwards))) ?.*)[.! ]*$`)
	naming = lazyregexp.New(`(?i)^(?:(?:it|that|this|they|he|she)(?:'s|’s|s| is| are|'re)(?: now| still| already| actually| really)? (?:called |named |set to |at |on )?|(?:it |that )?(?:should|must|has to|needs to) (?:be|say|read) |make (?:it|that) |(?:it )?(?:runs|listens|lives|sits) (?:on|at|in) |` +
		`(?:es|das|sie|er) (?:ist|sind|sollte?) |(?:c'est|ce sont) |(?:es|son|é|são) |(?:是|应该是|应为))`)
	// reasoned is a clause behind a new value that says why it is right, or what is over.
	reasoned    = lazyregexp.New(`(?i)[,;–—-] ?(?:(?:i )?(?:just |only )?(?:checked|looked|verified|confirmed|asked)\b.*|(?:the )?[\pL\d.'-]+(?: [\pL\d.'-]+)? (?:is|was|are|were) (?:the |our |from |just |now )?(?:old|previous|former|dead|gone|outdated|legacy|history|deprecated|before|eol)\b.*)$`)
	lately      = lazyregexp.New(`(?i)(?:[ ,]+(?:now|instead|already|by now|these days|nowadays|from now on|again|btw|(?:since|as of|from) [\pL\d .-]{2,20}|(?:seit|ab) [\pL\d .-]{2,20}|jetzt|inzwischen|depuis [\pL\d .-]{2,20}|maintenant|desde [\pL\d .-]{2,20}|ahora|agora)|です)[.!。 ]*$`)
	insteadOf   = lazyregexp.New(`(?i)^(?:it'?s )?not (.{2,40}?)(?:,? but |, (?:it'?s )?)(.{2,40})$|^(.{2,40}?), not (.{2,40})$`)
	sourceNamed = lazyregexp.New(`(?i), (?:according to|as per|as (?:stated|written|set|configured|defined) in) [^,;]+?([.!]?)$`)
	beforeValue = lazyregexp.New(`(?i)^(?:at|on|in|to|by|with|port|the|a|um|am|im|auf|le|el|los|las|à|a las|em|na|no) `)
)

// Bounds of a short reply.
const (
	longestReply = 80 // characters
	mostAmended  = 4  // words of its value
)

// Reply is a short reply that gives only another value: "no, it's 8081".
type Reply struct {
	value string
	was   string // the value that it denies; empty if it names none
	code  bool   // the value is between backquotes
}

// ReadReply reads a short reply. It returns false if the text does not correct anything, or says more than
// a value.
func ReadReply(text string) (Reply, bool) {
	if utf8.RuneCountInString(text) > longestReply || strings.HasSuffix(text, "?") {
		return Reply{}, false
	}
	value := strings.TrimRight(strings.TrimSpace(text), " .!。,")
	corrects := false
	for at := denial.FindStringIndex(value); at != nil; at = denial.FindStringIndex(value) {
		value, corrects = value[at[1]:], true
	}
	if at := regret.FindStringIndex(value); at != nil {
		value, corrects = value[:at[0]], true
	}
	if at := reasoned.FindStringIndex(value); at != nil && at[0] > 0 {
		value = value[:at[0]]
	}
	if at := lately.FindStringIndex(value); at != nil && at[0] > 0 {
		value = value[:at[0]]
	}
	was := ""
	if m := insteadOf.FindStringSubmatch(value); m != nil {
		was, value, corrects = bare(m[1]+m[4]), m[2]+m[3], true
		if at := naming.FindStringIndex(value); at != nil { // "it's 16 since May, not 14"
			value = value[at[1]:]
		}
		if at := lately.FindStringIndex(value); at != nil && at[0] > 0 {
			value = value[:at[0]]
		}
		if was == "" || hasFunction(was) || hasFunction(bare(value)) { // "not now, later"
			return Reply{}, false
		}
	} else if at := naming.FindStringIndex(value); at != nil {
		value, corrects = value[at[1]:], true
	}
	r := Reply{value: strings.Trim(value, " ,.:;!`\"'"), was: was, code: strings.HasPrefix(value, "`")}
	if was != "" {
		r.value = bare(value)
	}
	return r, corrects && r.value != "" && len(strings.Fields(r.value)) <= mostAmended
}

// bare returns a value without marks around it and without a preposition or an article before it.
func bare(value string) string {
	return beforeValue.ReplaceAllString(strings.Trim(value, " ,.:;!`\"'"), "")
}

func hasFunction(value string) bool {
	return slices.ContainsFunc(strings.Fields(lower(value)), function)
}

// Amend returns sentence with the reply's value in the place of its own, and its own: "The gateway listens
// on port 8080." It returns "" if the sentence has no value that the reply's may replace, or several.
func (r Reply) Amend(sentence string) (text, was string) {
	at, is, ok := r.place(sentence)
	if !ok {
		return "", ""
	}
	return sentence[:at.from] + is + sourceNamed.ReplaceAllString(sentence[at.to:], "$1"), sentence[at.from:at.to]
}

// CorrectAbout corrects text by said, which a person said about something. It corrects the part of text that has most
// of the terms about. If said gives only a value, amended is text with this value in place of the old one. Otherwise, if
// text has other parts as well, noted is text with a note after that part. If several parts have as many of the terms,
// noted is text itself.
func CorrectAbout(text string, about []string, said string) (amended, noted string) {
	part, ok := partAbout(text, about)
	if !ok {
		return "", text
	}
	if r, ok := ReadReply(said); ok {
		if at, is, ok := r.placeIn(text[part.from:part.to]); ok {
			return text[:part.from+at.from] + is + text[part.from+at.to:], ""
		}
		said = r.value
	}
	if part.to-part.from == len(text) {
		return "", ""
	}
	return "", text[:part.to] + changedTo(said, time.Time{}, time.Time{}, false) + text[part.to:]
}

// placeIn is like place, but a number may also replace the only number of a part, whatever it counts.
func (r Reply) placeIn(part string) (at span, is string, ok bool) {
	if at, is, ok = r.place(part); ok {
		return at, is, true
	}
	if numbers := digits.FindAllStringIndex(part, 2); len(numbers) == 1 && strings.Trim(r.value, "0123456789") == "" {
		return span{numbers[0][0], numbers[0][1]}, r.value, true
	}
	return span{}, "", false
}

var digits = lazyregexp.New(`[0-9]+`)

// partAbout returns the part of a sentence that has most of the terms about, or false if several have as many.
// A question with its answer is one part.
func partAbout(sentence string, about []string) (best span, ok bool) {
	all := span{0, len(sentence)}
	if strings.Contains(sentence, " Answer: ") {
		return all, true
	}
	var parts []span
	for _, c := range clausesOf(sentence, mentions(sentence)) {
		from := c.from
		for _, at := range andWord.FindAllStringIndex(sentence[c.from:c.to], -1) {
			parts = append(parts, span{from, c.from + at[0]})
			from = c.from + at[1]
		}
		parts = append(parts, span{from, c.to})
	}
	if len(parts) < 2 {
		return all, true
	}
	most := 0
	for _, p := range parts {
		has, n := analysis.Terms(sentence[p.from:p.to]), 0
		for _, t := range about {
			if slices.Contains(has, t) {
				n++
			}
		}
		if n > most {
			best, most, ok = p, n, true
		} else if n == most {
			ok = false
		}
	}
	return best, ok
}

// andWord joins two parts of a clause.
var andWord = lazyregexp.New(`(?i) (?:and|but|while|und|aber|et|mais|y|pero|e|mas) `)

// place returns where in sentence the value is that the reply replaces, and what replaces it.
func (r Reply) place(sentence string) (at span, is string, ok bool) {
	if r.was != "" {
		at, ok = onlyPlace(sentence, r.was)
		is = r.value
		if head, rest, found := strings.Cut(is, " "); ok && found && strings.HasSuffix(lower(sentence[:at.from]), " "+lower(head)+" ") { // PostgreSQL in "PostgreSQL 14"
			is = rest
		}
		return at, is, ok
	}
	if at, is = measured(sentence, r.value); is != "" {
		return at, is, true
	}
	is = bare(r.value)
	at, ok = named(sentence, is, r.code)
	return at, is, ok
}

// onlyPlace returns the only place of part in sentence, in upper or lower case.
func onlyPlace(sentence, part string) (at span, ok bool) {
	low := lower(sentence)
	from := strings.Index(low, lower(part))
	if from < 0 || len(low) != len(sentence) || strings.Count(low, lower(part)) > 1 || !wordBounds(sentence, from, from+len(part)) {
		return span{}, false
	}
	return span{from, from + len(part)}, true
}

// measured returns the place of the only number, time, day or amount of sentence that the one in value may
// replace, and that one.
func measured(sentence, value string) (at span, is string) {
	fresh := mentions(value)
	if len(fresh) != 1 {
		return span{}, ""
	}
	n := fresh[0]
	head := value[:n.from]
	if at := beforeValue.FindStringIndex(head); at != nil {
		head = head[at[1]:]
	}
	head = strings.TrimSpace(head)
	if strings.TrimSpace(value[n.to:]) != "" {
		return span{}, ""
	}
	var old *mention
	var others []mention // with another unit of time
	for _, o := range mentions(sentence) {
		if head != "" { // "Node 22" names what it is a number of
			if before := lower(strings.TrimRight(sentence[:o.from], " ")); before == "" || !strings.HasSuffix(before, lower(head)) || !wordBounds(before, len(before)-len(lower(head)), len(before)) {
				continue
			}
		}
		switch {
		case n.replaces(&o) || n.kind == numberType && o.kind == amountType && n.norm != o.norm:
			if old != nil {
				return span{}, ""
			}
			old = &o
		case n.kind == amountType && o.kind == amountType && lengths[n.unit] && lengths[o.unit]: // 24 hours for 3 days
			others = append(others, o)
		}
	}
	switch {
	case old == nil && len(others) == 1:
		old = &others[0]
	case old == nil:
		return span{}, ""
	}
	to := old.to
	if n.kind == numberType && old.kind == amountType { // the unit stays
		to = old.from + strings.IndexFunc(sentence[old.from:old.to], func(r rune) bool { return r == ' ' || r == '-' })
		if to < old.from {
			return span{}, ""
		}
	}
	return span{old.from, to}, value[n.from:n.to]
}

// token is the form of a word that names something.
type token uint8

const (
	noToken token = iota
	urlToken
	pathToken
	hostToken
	versionToken
	regionToken
	codeToken
	productToken // of a known kind
	nameToken    // a capital letter
)

// named returns the place of the only name of sentence that has the form of value. code says that the reply
// has it between backquotes.
func named(sentence, value string, code bool) (at span, ok bool) {
	form, kind := formOf(value)
	if code && form == noToken && !strings.Contains(value, " ") {
		form = codeToken
	}
	if form == noToken {
		return span{}, false
	}
	for start := 0; start < len(sentence); {
		token, next := bareToken(sentence, start)
		f, k := formOf(sentence[token.from:token.to])
		if form == productToken && k != kind && token.to == next && next < len(sentence) {
			two := next + 1 + strings.IndexAny(sentence[next+1:]+" ", " .,;:!?)")
			if f2, k2 := formOf(sentence[token.from:two]); k2 == kind {
				f, k, token.to, next = f2, k2, two, two
			}
		}
		if f == noToken && token.from > start && sentence[start] == '`' {
			f = codeToken
		}
		if f == form && k == kind && (f != nameToken || isName(sentence, token, value)) {
			if ok {
				return span{}, false
			}
			at, ok = token, true
		}
		start = next + 1
	}
	if !ok || sentence[at.from:at.to] == value {
		return span{}, false
	}
	if form == productToken {
		at.to += versionBehind(sentence[at.to:])
	}
	return at, true
}

// bareToken returns the place of the word that begins at start, without quotes, brackets and stops, and where the space behind it is.
func bareToken(sentence string, start int) (at span, end int) {
	end = start
	for end < len(sentence) && sentence[end] != ' ' {
		end++
	}
	at = span{start, end}
	for at.from < at.to && strings.IndexByte("`\"'(*", sentence[at.from]) >= 0 {
		at.from++
	}
	for at.to > at.from && strings.IndexByte("`\"').,;:!?*", sentence[at.to-1]) >= 0 {
		at.to--
	}
	return at, end
}

// versionBehind returns the length of a space and a version at the start of a text, as after "MySQL" in "MySQL 8"; 0 if there is
// none.
func versionBehind(text string) int {
	rest, spaced := strings.CutPrefix(text, " ")
	n := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' })
	if n < 0 {
		n = len(rest)
	}
	if n = len(strings.TrimRight(rest[:n], ".")); n == 0 || !spaced {
		return 0
	}
	return n + 1
}

// isName reports whether a word with a capital letter may be a name of the kind of value. The first word of a
// sentence has one anyway: it may be a name if a verb or another function word follows ("Jonas is", "Jonas owns").
func isName(sentence string, at span, value string) bool {
	if strings.Contains(sentence[at.from:at.to], "-") != strings.Contains(value, "-") {
		return false // a header's name is nobody's
	}
	if strings.TrimSpace(speakerName.ReplaceAllString(sentence[:at.from], "")) != "" {
		return true
	}
	next, _, _ := strings.Cut(strings.TrimSpace(sentence[at.to:]), " ")
	return !function(lower(sentence[at.from:at.to])) && (function(lower(next)) || strings.HasSuffix(next, "s"))
}

// formOf returns the form of a value of one word, or of a product and its version, and the line of
// kinds that has it.
func formOf(s string) (token, int) {
	first, version, more := strings.Cut(s, " ")
	if kind := kindOf(read(first).words); kind > 0 && (!more || version != "" && isDigit(version[0])) {
		return productToken, kind
	}
	if more && strings.Count(s, " ") == 1 { // "GitHub Actions"
		if kind := kindOf(read(s).words); kind > 0 {
			return productToken, kind
		}
	}
	if more || s == "" {
		return noToken, 0
	}
	lead, _ := utf8.DecodeRuneInString(s)
	switch {
	case strings.Contains(s, "://"):
		return urlToken, 0
	case region(s):
		return regionToken, 0
	case strings.Trim(s, "v0123456789.") == "" && len(s) > 1 && (s[0] == 'v' || strings.Count(s, ".") > 0):
		return versionToken, 0
	case strings.ContainsAny(s, `/\`):
		return pathToken, 0
	case strings.Contains(s, ".") && strings.ToLower(s) == s && unicode.IsLetter(lead):
		return hostToken, 0
	case strings.ContainsAny(s, "_") || identifier(s) && unicode.IsLetter(lead):
		return codeToken, 0
	case unicode.IsUpper(lead) && strings.ToUpper(s) != s:
		return nameToken, 0
	}
	return noToken, 0
}
