package consolidate

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// EchoKind says how a text relates to the knowledge that was injected into its session.
type EchoKind string

// What a text can be.
const (
	Novel     EchoKind = "novel"     // it says something that was not injected
	Echoed    EchoKind = "echo"      // it says what was injected, or asks about it
	Confirmed EchoKind = "confirmed" // a user says in their own words what was injected
)

// Echo recognises what the layer itself put before the model, when the model or a
// tool says it again. Without it one wrong claim would be learned once more from
// every session that it was injected into.
//
// A text is an echo if it says nothing that the injected text does not say: each of
// its telling words stands there, in the same roles, and numbers, names, dates,
// negations and conditions are the same. One number, name or noun more and it is
// new; consolidation then decides what it means for the known claim. A retelling in other
// nouns is not recognised so; what the model says with the names and numbers of an injected
// claim, and with no others, is an echo all the same: see Judge.
//
// An Echo is safe for concurrent use.
type Echo struct {
	said  []injectedSentence
	told  []toldThings
	index map[string][]int32 // by word, where in said
}

// injectedSentence is one injected sentence.
type injectedSentence struct {
	id    string
	text  text
	plain string // folded, for scripts without spaces
	words map[string]trait
}

// NewEcho reads what was injected.
func NewEcho(injected []session.Injection) *Echo {
	e := &Echo{index: map[string][]int32{}}
	for _, in := range injected {
		t := read(in.Text)
		e.told = append(e.told, toldThings{in.ID, thingsOf(in.Text, &t)})
		if t.raw {
			e.add(in.ID, t, fold(in.Text))
			continue
		}
		for _, s := range sentences(t.words) {
			part := t
			part.words, part.parts = s, 1
			e.add(in.ID, part, "")
		}
	}
	return e
}

func (e *Echo) add(id string, t text, plain string) {
	if len(t.words) == 0 {
		return
	}
	x := injectedSentence{id: id, text: t, plain: plain, words: map[string]trait{}}
	n := int32(len(e.said))
	for i := range t.words {
		w := &t.words[i]
		key := keyOf(w)
		if _, ok := x.words[key]; !ok {
			e.index[key] = append(e.index[key], n)
		}
		x.words[key] |= w.is
	}
	e.said = append(e.said, x)
}

// Repeats reports whether text says nothing but what was injected, and the id of
// the injected claim or chunk that says it.
func (e *Echo) Repeats(text string) (id string, echo bool) {
	if len(e.said) == 0 {
		return "", false
	}
	t := read(text)
	if t.raw {
		return e.repeatsRaw(text)
	}
	t.words = afterIntro(t.words)
	if id, ok := e.find(&t); ok {
		return id, true
	}
	parts := clauses(t.words)
	if len(parts) < 2 {
		return "", false
	}
	for i, p := range parts {
		one := t
		one.words, one.parts = p, 1
		at, ok := e.find(&one)
		if !ok {
			return "", false
		}
		if i == 0 {
			id = at
		}
	}
	return id, true
}

// Judge is Repeats for a text whose speaker is known. What a user says of injected
// knowledge in a statement of their own confirms it: the claim may be reinforced
// with the user's statement as evidence. The model's words and a tool's never
// confirm anything that was injected, nor does a question; and what they say with the
// same names and numbers as an injected claim is that claim in other words, as long as the
// user does not say it.
func (e *Echo) Judge(text string, user bool) (id string, kind EchoKind) {
	id, echo := e.Repeats(text)
	if !echo && !user {
		id, echo = e.sameThings(text)
	}
	switch {
	case !echo:
		return "", Novel
	case user && confident(text):
		return id, Confirmed
	}
	return id, Echoed
}

// toldThings are the things that an injected claim or chunk names.
type toldThings struct {
	id string
	things
}

// things are the words of a text that tell it from others about something else: names, numbers
// and days, each with all other words to look names up in.
type things struct {
	names, figures, all map[string]bool
	negated             bool
}

func thingsOf(raw string, t *text) things {
	x := things{names: map[string]bool{}, figures: map[string]bool{}, all: map[string]bool{}}
	for i := range t.words {
		w := &t.words[i]
		if w.has(negates) {
			x.negated = !x.negated
		}
		key := keyOf(w)
		x.all[key] = true
		switch {
		case i > 1 && (t.words[i-2].norm == "half" || t.words[i-2].norm == "quarter") && w.is&number != 0: // past two: a time that figures say otherwise
		case w.is&(number|timely) != 0:
			x.figures[key] = true
		case w.is&(name|exact) != 0 && tells(w):
			x.names[key] = true
		}
	}
	for _, c := range joinedName.FindAllString(strings.ToLower(raw), -1) {
		x.names[c], x.all[c] = true, true
	}
	return x
}

// joinedName matches a word with a sign inside, which is read as several words elsewhere.
var joinedName = lazyregexp.New(`\p{L}[\p{L}\d]*(?:[-_./:@][\p{L}\d]+)+`)

// sameThings reports whether a text has the names of an injected claim, no other name, and no
// number or day that the claim does not have. A text without names must have all its numbers,
// and one more telling word of it.
func (e *Echo) sameThings(text string) (id string, same bool) {
	t := read(text)
	here := thingsOf(text, &t)
	if len(here.all) == 0 {
		return "", false
	}
	for i := range e.told {
		there := &e.told[i]
		if !subset(here.figures, there.figures) {
			continue
		}
		names := 0
		other := false
		for _, set := range []map[string]bool{here.names, there.names} { // a name that begins a sentence looks like any word
			for key := range set {
				if !here.all[key] || !there.all[key] {
					other = true
				}
				names++
			}
		}
		if other {
			continue
		}
		if here.negated != there.negated || !mostlyShared(&t, there) {
			continue // it says something else of the same things
		}
		if names > 0 || len(here.figures) > 0 && subset(there.figures, here.figures) && sharesWord(&t, there) {
			return there.id, true
		}
	}
	return "", false
}

// subset reports whether all of a is in b.
func subset(a, b map[string]bool) bool {
	for key := range a {
		if !b[key] {
			return false
		}
	}
	return true
}

// mostlyShared reports whether at least a third of a text's telling words that are neither names
// nor numbers stand in another, where it has more than four. A paraphrase has other verbs; another
// statement has other nouns, too.
func mostlyShared(t *text, there *toldThings) bool {
	n, shared := 0, 0
	for i := range t.words {
		w := &t.words[i]
		if w.is&(number|timely|name|exact) != 0 || !tells(w) {
			continue
		}
		if n++; there.all[keyOf(w)] {
			shared++
		}
	}
	return n <= 4 || 3*shared >= n
}

// sharesWord reports whether a text has a telling word of another that is no number.
func sharesWord(t *text, there *toldThings) bool {
	for i := range t.words {
		if w := &t.words[i]; w.is&(number|timely) == 0 && tells(w) && there.all[keyOf(w)] {
			return true
		}
	}
	return false
}

// confident reports a statement, and not a question or a guess.
func confident(s string) bool {
	t := read(s)
	for i := range t.words {
		switch t.words[i].norm {
		case "maybe", "perhaps", "probably", "possibly", "think", "believe", "guess", "might", "may", "could", "whether", "if":
			return false
		}
	}
	return !t.asks && !strings.ContainsAny(s, "?？")
}

// find looks for an injected sentence that says all that t says.
func (e *Echo) find(t *text) (id string, ok bool) {
	hits := map[int32]int{}
	telling := 0
	for i := range t.words {
		if w := &t.words[i]; tells(w) {
			telling++
			for _, at := range e.index[keyOf(w)] {
				hits[at]++
			}
		}
	}
	best := int32(-1)
	for at, n := range hits {
		if 2*n >= telling && (best < 0 || at < best) && e.said[at].covers(t) {
			best = at
		}
	}
	if best < 0 {
		return "", false
	}
	return e.said[best].id, true
}

// fold leaves of a text what is compared in scripts without spaces.
func fold(s string) string {
	var b strings.Builder
	t := text{}
	t.scan(s)
	for i := range t.words {
		b.WriteString(t.words[i].norm)
	}
	return b.String()
}

// repeatsRaw compares texts of scripts without spaces: an echo is a verbatim part,
// of some length, of what was injected.
func (e *Echo) repeatsRaw(s string) (id string, echo bool) {
	const shortest = 6 // characters; fewer may stand anywhere
	plain := fold(s)
	for _, x := range e.said {
		if x.plain == plain || len([]rune(plain)) >= shortest && strings.Contains(x.plain, plain) && 2*len(plain) >= len(x.plain) {
			return x.id, true
		}
	}
	return "", false
}
