package consolidate

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// EchoKind says how a text relates to the knowledge that was injected into its session.
type EchoKind string

// Results of Echo.Judge.
const (
	Novel     EchoKind = "novel"     // it says something that was not injected
	Echoed    EchoKind = "echo"      // it says what was injected, or asks about it
	Confirmed EchoKind = "confirmed" // a user states in their own words what was injected
)

// Echo recognises knowledge that was injected into a session when the model or a tool repeats
// it. Without it, one wrong claim would be learned again from every session that it was injected
// into.
//
// A text is an echo if it says nothing that the injected text does not say. Each of its content
// words must be in the injected text in the same role, and numbers, names, dates, negations and
// conditions must be the same. With one more number, name or noun, the text is new, and
// consolidation decides what it means for the known claim. Judge also recognises a paraphrase by
// the model or a tool that has the names and numbers of an injected claim and no others.
//
// An Echo is safe for concurrent use.
type Echo struct {
	sentences []injectedSentence
	things    []injectedThings
	index     map[string][]int32 // positions in sentences, by word
}

// injectedSentence is one injected sentence.
type injectedSentence struct {
	id    string
	text  text
	plain string // folded text, for scripts without spaces
	words map[string]trait
}

// NewEcho returns an Echo for the knowledge that was injected into a session.
func NewEcho(injected []session.Injection) *Echo {
	e := &Echo{index: map[string][]int32{}}
	for _, in := range injected {
		t := read(in.Text)
		e.things = append(e.things, injectedThings{in.ID, thingsOf(in.Text, &t)})
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
	n := int32(len(e.sentences))
	for i := range t.words {
		w := &t.words[i]
		key := keyOf(w)
		if _, ok := x.words[key]; !ok {
			e.index[key] = append(e.index[key], n)
		}
		x.words[key] |= w.is
	}
	e.sentences = append(e.sentences, x)
}

// Repeats reports whether text says nothing but what was injected. id is that of the injected
// claim or chunk.
func (e *Echo) Repeats(text string) (id string, echo bool) {
	if len(e.sentences) == 0 {
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

// Judge is like Repeats, but takes the speaker into account. A user's own statement of injected
// knowledge confirms it: the claim may be reinforced with the statement as evidence. A question,
// the model's words and a tool's output never confirm an injected claim. If those have the same
// names and numbers as an injected claim, they are an echo of it even in other words.
func (e *Echo) Judge(text string, user bool) (id string, kind EchoKind) {
	id, echo := e.Repeats(text)
	if !echo && !user {
		id, echo = e.sameThings(text)
	}
	switch {
	case !echo:
		return "", Novel
	case user && isStatement(text):
		return id, Confirmed
	}
	return id, Echoed
}

// injectedThings holds the things that an injected claim or chunk names.
type injectedThings struct {
	id string
	things
}

// things are the words that distinguish a text: its names, and its numbers and days as figures.
// all holds every word, to look names up in.
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
		case i > 1 && (t.words[i-2].norm == "half" || t.words[i-2].norm == "quarter") && w.is&number != 0: // "half past two": figures write this time differently
		case w.is&(number|timely) != 0:
			x.figures[key] = true
		case w.is&(name|exact) != 0 && isContentWord(w):
			x.names[key] = true
		}
	}
	for _, c := range joinedName.FindAllString(strings.ToLower(raw), -1) {
		x.names[c], x.all[c] = true, true
	}
	return x
}

// joinedName matches a word with a sign inside. Elsewhere it is read as several words.
var joinedName = lazyregexp.New(`\p{L}[\p{L}\d]*(?:[-_./:@][\p{L}\d]+)+`)

// sameThings reports whether a text has the names of an injected claim and no others, and no
// number or day that the claim lacks. A text without names must have all numbers of the claim,
// and one other content word of it.
func (e *Echo) sameThings(text string) (id string, same bool) {
	t := read(text)
	here := thingsOf(text, &t)
	if len(here.all) == 0 {
		return "", false
	}
	for i := range e.things {
		there := &e.things[i]
		if !subset(here.figures, there.figures) {
			continue
		}
		names := 0
		other := false
		for _, set := range []map[string]bool{here.names, there.names} { // a name at the start of a sentence looks like any word
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
			continue // it says something else about the same things
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

// mostlyShared reports whether another text has at least a third of this text's content words
// that are neither names nor numbers. With four such words or fewer the result is true. A
// paraphrase has other verbs; a different statement has other nouns, too.
func mostlyShared(t *text, there *injectedThings) bool {
	n, shared := 0, 0
	for i := range t.words {
		w := &t.words[i]
		if w.is&(number|timely|name|exact) != 0 || !isContentWord(w) {
			continue
		}
		if n++; there.all[keyOf(w)] {
			shared++
		}
	}
	return n <= 4 || 3*shared >= n
}

// sharesWord reports whether the other text has a content word of t that is not a number.
func sharesWord(t *text, there *injectedThings) bool {
	for i := range t.words {
		if w := &t.words[i]; w.is&(number|timely) == 0 && isContentWord(w) && there.all[keyOf(w)] {
			return true
		}
	}
	return false
}

// isStatement reports whether s is a statement, and neither a question nor a guess.
func isStatement(s string) bool {
	t := read(s)
	for i := range t.words {
		switch t.words[i].norm {
		case "maybe", "perhaps", "probably", "possibly", "think", "believe", "guess", "might", "may", "could", "whether", "if":
			return false
		}
	}
	return !t.asks && !strings.ContainsAny(s, "?？")
}

// find returns the id of an injected sentence that says everything that t says.
func (e *Echo) find(t *text) (id string, ok bool) {
	hits := map[int32]int{}
	telling := 0
	for i := range t.words {
		if w := &t.words[i]; isContentWord(w) {
			telling++
			for _, at := range e.index[keyOf(w)] {
				hits[at]++
			}
		}
	}
	best := int32(-1)
	for at, n := range hits {
		if 2*n >= telling && (best < 0 || at < best) && e.sentences[at].covers(t) {
			best = at
		}
	}
	if best < 0 {
		return "", false
	}
	return e.sentences[best].id, true
}

// fold returns the words of a text in normal form, without spaces. Texts in scripts without
// spaces are compared by it.
func fold(s string) string {
	var b strings.Builder
	t := text{}
	t.scan(s)
	for i := range t.words {
		b.WriteString(t.words[i].norm)
	}
	return b.String()
}

// repeatsRaw compares texts in scripts without spaces. An echo is a verbatim part, of a minimum
// length, of an injected text.
func (e *Echo) repeatsRaw(s string) (id string, echo bool) {
	const shortest = 6 // characters; a shorter text may be part of any other
	plain := fold(s)
	for _, x := range e.sentences {
		if x.plain == plain || len([]rune(plain)) >= shortest && strings.Contains(x.plain, plain) && 2*len(plain) >= len(x.plain) {
			return x.id, true
		}
	}
	return "", false
}
