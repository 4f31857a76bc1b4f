package consolidate

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Where people say in German, French, Spanish or Portuguese that they live or work. The last group is the place.
var (
	livesIn = ownPlaces(`ich wohne|wir wohnen|ich lebe|wir leben|j['’]habite|nous habitons|on habite|je vis|nous vivons|vivo|vivimos|moro|moramos`, `in|à|en|em`)
	worksAt = ownPlaces(`ich arbeite|je travaille|trabajo|trabalho`, `bei|bei der|für|chez|à|en|em|na|no`)
	movedTo = movements(`(?:bin|sind) (?:\pL+ ){0,2}?nach`, `(?:j['’]ai|nous avons|on a) (?:\pL+ )?déménagé à`, `(?:me he|nos hemos) mudado a`, `(?:me mudé|nos mudamos) a`, `(?:(?:me )?mudei(?:-me)?|(?:nos )?mudamos(?:-nos)?) para`)
	hiredBy = movements(`ich (?:habe|fange) (?:\pL+ ){0,3}?(?:job|stelle|arbeit|an) bei(?: der)?`, `ich fange (?:\pL+ ){0,3}?bei(?: der)?`, `j['’]ai (?:\pL+ ){1,3}?(?:poste|travail|emploi) chez`, `je commence (?:\pL+ )?chez`,
		`(?:tengo|he encontrado|encontré) (?:\pL+ ){0,2}?trabajo en`, `(?:tenho|encontrei|arranjei) (?:\pL+ ){0,2}?(?:trabalho|emprego) n[ao]`)
	nowHere = lazyregexp.New(`(?i)(?:^|[ :])(?:jetzt|nun|inzwischen|maintenant|désormais|ahora|ya|agora)[ ,.]`)
)

// deniedPlace matches a negation before a place. Portuguese "no" right before it is a preposition.
var deniedPlace = lazyregexp.New(`(?i)(?:^|[ :])(?:nicht|nie|pas|jamais|no|nunca|não|nem) .*\pL`)

const placeName = `(\p{Lu}[\pL'’-]+(?: \p{Lu}[\pL'’-]+)?)`

func ownPlaces(verbs, preps string) *lazyregexp.Regexp {
	return lazyregexp.New(`^(?:User: )?(?i:(?:jetzt|ahora|agora|maintenant),? )?(?i:` + verbs + `)(?i: (?:jetzt|nun|inzwischen|seit \pL+|maintenant|désormais|ahora|agora)){0,2} (?i:` + preps + `) ` + placeName)
}

func movements(heads ...string) *lazyregexp.Regexp {
	return lazyregexp.New(`(?:^|[ :])(?i:` + strings.Join(heads, "|") + `) ` + placeName)
}

// ownPlaceKinds are where people live and who employs them. known are words of statements about it, for a search.
var ownPlaceKinds = [...]struct {
	state, changed *lazyregexp.Regexp
	known          string
}{
	{livesIn, movedTo, "wohne wohnen lebe leben gezogen umgezogen habite habitons vis déménagé vivo vivimos mudado moro moramos"},
	{worksAt, hiredBy, "arbeite job stelle travaille poste trabajo trabalho"},
}

// replacedPlace returns where people lived or worked, as the earlier statement says, if the later one says that this has
// changed: "Ich wohne in Köln." "Wir sind nach Bonn gezogen."
func replacedPlace(before, after string) (change, bool) {
	for _, k := range ownPlaceKinds {
		is := lastGroup(k.changed, after)
		if is == nil && nowHere.MatchString(after) {
			is = lastGroup(k.state, after)
		}
		was := lastGroup(k.state, before)
		if was == nil {
			was = lastGroup(k.changed, before)
		}
		if is == nil || was == nil || noteBehind(before, was.to) || deniedPlace.MatchString(after[:is.from]) {
			continue
		}
		if to := after[is.from:is.to]; to != before[was.from:was.to] {
			rest := strings.Trim(before[was.to:], " .!") // what is said beside it stays
			return change{was: *was, clause: span{0, was.to}, is: to, onlyContent: rest == "" || rest == "gezogen" || rest == "umgezogen", bond: 2}, true
		}
	}
	return change{}, false
}

// placeWords returns words of statements that one of a new home or employer may replace, "" for other statements.
func placeWords(s string) string {
	for _, k := range ownPlaceKinds {
		if k.changed.MatchString(s) || k.state.MatchString(s) && nowHere.MatchString(s) {
			return k.known
		}
	}
	return ""
}

func lastGroup(re *lazyregexp.Regexp, s string) *span {
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return nil
	}
	return &span{m[len(m)-2], m[len(m)-1]}
}
