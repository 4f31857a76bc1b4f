package extract

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// longestTrait is the maximum number of words of such a short sentence about the speaker.
const longestTrait = 5

// saysWhoIAm reports whether a sentence says in few words what the speaker is: "I'm vegetarian", "born in 1990". Only
// the first sentence of a message may leave out the speaker; another may be about somebody else.
func saysWhoIAm(w []word, begins bool) bool {
	w = withoutEnded(w)
	if len(w) > longestTrait {
		return false
	}
	first, second := w[0].low, low(w, 1)
	switch {
	case traits[first]: // "vegan since 2019"
		return begins && (len(w) == 1 && first != "single" && first != "blind" || second == "since")
	case first == "born", first == "allergic":
		return begins && len(w) > 2 && (second == "in" || second == "to")
	case first == "i" && second == "work":
		return len(w) == 3 && shifts[w[2].low]
	case (first == "i" || first == "we") && second == "have":
		return len(w) < 5 && kin[low(w, len(w)-1)] && (amount(w, 2) > 0 || len(w) == 3)
	case first == "i" && second == "am":
		return isTrait(w[2:], true) || isAge(w[2:])
	case first == "i'm":
		return isTrait(w[1:], true) || isAge(w[1:])
	}
	return false
}

var shifts = analysis.Set("nights weekends part-time remotely")

// isTrait reports whether the words after "is" say what somebody is: "vegan", "not married", "no longer vegetarian". office
// says that what somebody does counts as well: "a nurse".
func isTrait(w []word, office bool) bool {
	if low(w, 0) == "no" && low(w, 1) == "longer" {
		w = w[1:]
	}
	switch low(w, 0) {
	case "not", "no", "longer", "now":
		w = w[1:]
	}
	article := low(w, 0) == "a" || low(w, 0) == "an"
	if article {
		w = w[1:]
	}
	is, next := low(w, 0), low(w, 1)
	return traits[is] && (len(w) == 1 || next == "since" || next == "now") || office && article && len(w) == 1 && !noOffice[is] && !vague()[analysis.Stem(is)]
}

// isAge reports whether the only word is the age of an adult or of somebody nearly so.
func isAge(w []word) bool {
	age := low(w, 0)
	return len(w) == 1 && len(age) == 2 && age >= "14" && numbered(age) && digit(age[1])
}

// omitsSpeaker reports whether a sentence leaves out the speaker: "born in 1990".
func omitsSpeaker(w []word) bool {
	return traits[w[0].low] || w[0].low == "born" || w[0].low == "allergic"
}

// withoutEnded cuts "any more" and the like off the end of words.
func withoutEnded(w []word) []word {
	for _, end := range [...][]string{{"anymore"}, {"any", "more"}, {"any", "longer"}} {
		if n := len(w) - len(end); n > 0 && follows(w[n:], end) {
			return w[:n]
		}
	}
	return w
}

// longestFarewell is the maximum number of words of a sentence that says that somebody left.
const longestFarewell = 9

// farewells lists how people say that a person or an animal is there no more. Of a name, "died" needs the day or
// month: "Jenkins died." says something else.
var (
	farewells = list(`left the company, left the team, left the firm, left the organisation, left the organization, left our company, left our team, passed away, retired, resigned, was laid off, got laid off, was fired, got fired`)
	deaths    = list("died last week, died last month, died last year, died last spring, died last summer, died last autumn, died last winter, died in, died this, died of")
	relatives = analysis.Set(`mom mum mother dad father parents brother sister son daughter wife husband partner grandma grandmother grandpa grandfather aunt uncle cousin niece nephew friend boss manager colleague neighbour neighbor assistant
		dog cat rabbit horse hamster parrot`)
	auxiliaries = analysis.Set("has have had just sadly recently")
	notNamed    = analysis.Set(`everybody everyone somebody someone nobody anybody anyone none people who whoever one some many most all both few several what which whose the a an any each every no other others
		when where why how there here if then once since only even also but and or so not may will`)
)

// subjectPerson returns the number of words of a subject that names a person, and whether it is a name alone.
func subjectPerson(w []word) (n int, named bool) {
	if notNamed[w[0].low] {
		return 0, false
	}
	if w[0].low == "my" || w[0].low == "our" {
		if !relatives[low(w, 1)] || w[1].comma {
			return 0, false
		}
		n = 2
	}
	for first := n; n < len(w) && n-first < 2 && w[n].upper && !w[n].comma && !w[n].code && (n > 0 || w[n].low != "it") && !self[w[n].low] && !pronouns[w[n].low] && !openings[w[n].low]; {
		n++
	}
	return n, w[0].low != "my" && w[0].low != "our"
}

// saysWhoLeft reports whether a sentence says that a person left or died: "Bob left the company."
func saysWhoLeft(w []word) bool {
	if len(w) > longestFarewell || hedges.in(w) >= 0 {
		return false
	}
	i, named := subjectPerson(w)
	for i > 0 && i < len(w) && auxiliaries[w[i].low] {
		i++
	}
	if i == 0 || i >= len(w) {
		return false
	}
	n := farewells.starts(w[i:])
	return n > 1 || n == 1 && !objects[low(w, i+1)] || deaths.starts(w[i:]) > 0 || !named && w[i].low == "died"
}

// saysWhatTheyAre reports whether a sentence says in few words what another person is or likes: "My wife is vegetarian."
// "Sara hates mushrooms."
func saysWhatTheyAre(w []word) bool {
	w = withoutEnded(w)
	n, named := subjectPerson(w)
	if n == 0 || n == len(w) || len(w) > longestTrait+n || hedges.in(w) >= 0 {
		return false
	}
	switch w[n].low {
	case "is", "isn't":
		return isTrait(w[n+1:], !named)
	}
	k := tastes.starts(w[n:])
	return k > 0 && namesTaste(w[n+k:])
}

// namesTaste reports whether words name in short what somebody likes or hates: "mushrooms", but not "to dance" or "this".
func namesTaste(w []word) bool {
	if len(w) == 0 || len(w) > 3 || objects[w[0].low] || has(w, len(w), pronouns) || has(w, len(w), self) || has(w, len(w), other) {
		return false
	}
	switch w[0].low {
	case "to", "when", "how":
		return false
	}
	return !vague()[analysis.Stem(w[len(w)-1].low)]
}

// tastes lists how people say what somebody likes to eat or do.
var tastes = list("hates, dislikes, loves, likes, doesn't like, does not like, can't stand, doesn't eat, does not eat, won't eat, no longer eats, no longer likes, adores")

// longestOffice is the maximum number of words of a sentence that says only who owns something.
const longestOffice = 8

// offices lists how people say who owns something. They are said of names in lower case, too.
var offices = list("owns, maintains, looks after, took over, takes care of, is responsible for, is in charge of, now owns, now maintains")

// saysWhoOwns reports whether a sentence says in few words who owns something: "Tom owns the importer."
func saysWhoOwns(w []word) bool {
	n, _ := subjectPerson(w)
	if n == 0 && !notNamed[w[0].low] && !self[w[0].low] && !other[w[0].low] && !pronouns[w[0].low] {
		n = 1
	}
	k := 0
	if n > 0 && n < len(w) && !w[n-1].comma {
		k = offices.starts(w[n:])
	}
	rest := w[min(n+k, len(w)):]
	return k > 0 && len(rest) > 0 && len(w) <= longestOffice && !has(rest, len(rest), pronouns) && !vague()[analysis.Stem(rest[len(rest)-1].low)]
}

// saysWhatIsUsed reports whether a sentence says in few words which product somebody uses, or which version where: "I use
// Vim." "I'm on macOS." "Postgres 16 on staging".
func saysWhatIsUsed(w []word) bool {
	switch first := w[0].low; {
	case (first == "i" || first == "we") && low(w, 1) == "use", (first == "i'm" || first == "we're") && low(w, 1) == "on":
		return len(w) > 2 && len(w) < 5 && isProduct(&w[2]) && (len(w) == 3 || numbered(w[3].low))
	}
	return len(w) > 3 && len(w) < 8 && isProduct(&w[0]) && !w[1].comma && numbered(w[1].low) && prepositions[w[2].low] && !w[2].comma
}

// isNameOfPresent reports whether a word is the name of a person present, or a short form of it.
func isNameOfPresent(w string, present map[string]bool) bool {
	if present[w] {
		return true
	}
	for name := range present {
		if len(w) >= 3 && strings.HasPrefix(name, w) {
			return true
		}
	}
	return false
}
