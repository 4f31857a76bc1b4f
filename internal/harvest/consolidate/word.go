package consolidate

// trait is what a word does in a statement, a bit each.
type trait uint32

const (
	negates    trait = 1 << iota // not, never, without
	modal                        // must, may, can: how binding or possible
	counts                       // all, some, usually, more: how many, how often, in comparison
	number                       // begins with a digit
	name                         // written like a name: a capital inside a sentence, a digit or sign inside
	prep                         // in, on, at, for: what follows is where, when or of what
	limits                       // only, if, except, before: what follows restricts the rest
	adds                         // because, which, named: what follows adds to the rest
	joins                        // and, or
	verb                         // a form of a verb that is known
	be                           // a form of to be in the present, or what stands for one: ":" and "="
	past                         // a past form that stands by itself
	going                        // a form in -ing
	passive                      // a participle after a form of to be
	timely                       // a month, a weekday, a word such as today
	unit                         // of a number
	pronoun                      // he, she, it, they: its noun is elsewhere
	article                      // "a" or "an" stood before it
	definite                     // "the", "this" or a possessive stood before it
	owner                        // it ended in 's
	generic                      // a noun that says what a name says already: service, project
	functional                   // an attribute that has one value at a time: port, owner
	fixed                        // a functional attribute that never changes: birthday
	sign                         // a character that is no letter and matters: +, <, %
	exact                        // an identifier: its case matters
	ending                       // not any more: strengthens a negation
	foreign                      // a function word of a language that the rules do not know
	english                      // a function word of English that no other language here has
	filler                       // says nothing here: also, still, really
	choice                       // sole, only one at a time: default, favourite, current
	finite                       // a verb for sure: "does" or "did" stood before it
	compound                     // part of a hyphenated word
)

// shape is what has to agree beside the word itself.
const shape = past | going | passive

// word is one word of a statement.
type word struct {
	norm string // the form that is compared: lower case, base form of a known verb, one spelling for many
	raw  string // as written
	is   trait
	cut  byte // the mark before it: '.', ',', ':', '(', '-', 0 for none
}

func (w *word) has(t trait) bool { return w.is&t != 0 }

// equals reports whether two words say the same.
func (w *word) equals(o *word) bool {
	return w.norm == o.norm && (w.is^o.is)&shape == 0
}

// text is a statement, read.
type text struct {
	words []word

	weak   string // "now", "since May": that something changed, though others may hold as well
	strong string // "instead", "no longer": that what was, is not
	also   bool   // says that what was still is
	asks   bool
	when   []string // the date of "since" and "as of"
	raw    bool     // has letters of a script without spaces: compared as it is, never interpreted
	alien  bool     // not English
	code   bool     // a line of code, or a formula: every sign counts
	parts  int      // sentences
	edits  int      // words left out or moved that another wording may lack
}
