package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// maxWords bounds the statements that are interpreted. A longer text is a document,
// and is the same as another only if the text is equal.
const maxWords = 96

// read parses a statement. Phrases are resolved, and articles and fillers removed.
func read(s string) text {
	if strings.Contains(s, " (") { // what the harvest adds to "last week" says when, and nothing else
		s = addedDate.ReplaceAllStringFunc(s, func(date string) string {
			return " in " + strings.TrimPrefix(strings.Trim(date, " ()"), "the week of ")
		})
	}
	t := text{words: make([]word, 0, 24), code: isCode(s)}
	t.scan(s)
	if !t.raw && !t.code {
		t.resolve()
	}
	return t
}

// isCode reports whether s is a line of code or a formula. A sentence that contains
// code is not.
func isCode(s string) bool {
	if strings.ContainsAny(s, "{}\\^") || strings.Contains(s, "//") && !strings.Contains(s, "://") || strings.HasSuffix(strings.TrimSpace(s), ";") {
		return true
	}
	_, after, equation := strings.Cut(s, " = ")
	return equation && strings.ContainsAny(after, "()+-*/'\"")
}

// scan appends the words of s.
func (t *text) scan(s string) {
	cut := byte(0)
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if r == ' ' || r == '\n' || r == '\t' || unicode.IsSpace(r) {
			i += n
			continue
		}
		start := i
		for i < len(s) {
			if c := s[i]; c < utf8.RuneSelf {
				if c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f' {
					break
				}
				i++
				continue
			}
			r, n = utf8.DecodeRuneInString(s[i:])
			if unicode.IsSpace(r) {
				break
			}
			t.raw = t.raw || analysis.Unspaced(r)
			i += n
		}
		cut = t.chunk(s[start:i], cut)
	}
}

// before and after report whether c may precede or follow a word without being part
// of it.
func before(c rune) bool { return strings.ContainsRune("\"'`([{*«“‘„¿¡", c) }
func after(c rune) bool {
	return strings.ContainsRune(".,;:!?)]}\"'`*…”’»。，；：！？、）」』", c)
}

// chunk appends the words between two spaces, and returns the punctuation mark
// before the next chunk.
func (t *text) chunk(s string, cut byte) byte {
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if !before(r) {
			break
		}
		if r == '(' || r == '[' {
			cut = max(cut, '(')
		}
		s = s[n:]
	}
	next := byte(0)
	for s != "" {
		r, n := utf8.DecodeLastRuneInString(s)
		if !after(r) {
			break
		}
		switch r {
		case '.', '!', '?', '…', '。', '！', '？', ';', '；':
			next = '.'
			t.asks = t.asks || r == '?' || r == '？'
		case ',', '，', '、':
			next = max(next, ',')
		case ':', '：':
			next = max(next, ':')
		case ')', ']':
			next = max(next, ',')
		}
		s = s[:len(s)-n]
	}
	switch s {
	case "":
		return max(cut, next)
	case "-", "–", "—", "•", "--":
		if len(t.words) == 0 {
			return 0
		}
		return '-'
	case "=":
		t.words = append(t.words, word{norm: "be", raw: s, is: be})
		return next
	case "->", "→", "=>":
		t.words = append(t.words, word{norm: "->", raw: s, is: sign, cut: cut})
		return next
	}
	if i, n := inside(s); i > 0 {
		mark := t.chunk(s[:i], cut)
		if s[i] == '=' {
			t.words = append(t.words, word{norm: "be", raw: "=", is: be})
		} else if n > 1 {
			mark = '-'
		} else if s[i] == ',' || s[i] == ';' {
			mark = ','
		}
		return max(t.chunk(s[i+n:], mark), next)
	}
	t.word(s, cut)
	return next
}

// inside returns the position and size of a mark that separates two words without a
// space: a dash, "=" as in PORT=8080, or a comma. size is 0 if there is none.
func inside(s string) (at, size int) {
	if len(s) < 3 {
		return 0, 0
	}
	for i := 1; i < len(s)-1; i++ {
		switch c := s[i]; {
		case c == '=' && !strings.Contains(s, "://") && strings.IndexByte("<>!=", s[i-1]) < 0 && strings.IndexByte("=>", s[i+1]) < 0:
			return i, 1
		case c == ',' && !(isDigit(s[i-1]) && isDigit(s[i+1])):
			return i, 1
		case c == 0xE2 && strings.HasPrefix(s[i:], "—") && i+3 < len(s):
			return i, 3
		}
	}
	return 0, 0
}

// word appends one word, or the several words of a contraction or a quantity.
func (t *text) word(s string, cut byte) {
	if strings.Contains(s, "’") || strings.Contains(s, "ʼ") {
		s = strings.NewReplacer("’", "'", "ʼ", "'").Replace(s)
	}
	low := lower(s)
	if full := analysis.Standard(low); full != low {
		s, low = full, full
	}
	if low == "cannot" {
		t.add(lexicon()["can"], s, cut)
		t.add(lexicon()["not"], s, 0)
		return
	}
	if e, ok := lexicon()[low]; ok && !capitals(s, e) {
		t.add(e, s, cut)
		return
	}
	if i := strings.LastIndexByte(s, '\''); i > 0 {
		t.contracted(s, i, cut)
		return
	}
	if c := low[0]; isDigit(c) || len(low) > 1 && isDigit(low[1]) && strings.IndexByte("v$#+-~<>", c) >= 0 {
		t.number(s, low, cut)
		return
	}
	if strings.IndexByte(low, '-') > 0 && plainParts(low) {
		for i, p := range strings.Split(low, "-") {
			if i > 0 {
				cut = 0
			}
			t.add(entry{p, compound}, p, cut) // "stand-up" has no verb
		}
		return
	}
	e := entry{norm: low}
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case !unicode.IsLetter(first) && utf8.RuneCountInString(s) <= 2 && !strings.ContainsFunc(s, unicode.IsLetter):
		e.is |= sign
		if s == "&" {
			e = lexicon()["and"]
		}
	case identifier(s):
		e.is |= name | exact
		e.norm = s
	case unicode.IsUpper(first):
		e.is |= name
	}
	t.add(e, s, cut)
}

func (t *text) add(e entry, raw string, cut byte) {
	if isDigit(e.norm[0]) {
		e.is |= number
	}
	t.words = append(t.words, word{norm: e.norm, raw: raw, is: e.is, cut: cut})
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// trait is the role of a word in a statement, as a set of bits.
type trait uint32

const (
	negates    trait = 1 << iota // not, never, without
	modal                        // must, may, can: how binding or possible
	counts                       // all, some, usually, more: how many, how often, comparison
	number                       // begins with a digit
	name                         // written like a name: a capital inside a sentence, a digit or sign inside
	prep                         // in, on, at, for: a place, a time or a relation follows
	limits                       // only, if, except, before: a restriction follows
	adds                         // because, which, named: an addition follows
	joins                        // and, or
	verb                         // a form of a known verb
	be                           // a present form of to be, or ":" and "=" in its place
	past                         // a past form that is no participle
	going                        // a form in -ing
	passive                      // a participle after a form of to be
	timely                       // a month, a weekday, a word such as today
	unit                         // unit of a number
	pronoun                      // he, she, it, they: refers to another noun
	article                      // "a" or "an" was before it
	definite                     // "the", "this" or a possessive was before it
	owner                        // it ended in 's
	generic                      // a noun that adds nothing to a name: service, project
	functional                   // an attribute that has one value at a time: port, owner
	fixed                        // a functional attribute that never changes: birthday
	sign                         // a significant character that is no letter: +, <, %
	exact                        // an identifier, whose case matters
	ending                       // "any more": strengthens a negation
	foreign                      // a function word of a language that the rules do not know
	english                      // a function word of English that no other language here has
	filler                       // adds nothing here: also, still, really
	choice                       // sole, only one at a time: default, favourite, current
	finite                       // certainly a verb: "does" or "did" was before it
	compound                     // part of a hyphenated word
)

// shape holds the traits that must agree for two words to be equal.
const shape = past | going | passive

// word is one word of a statement.
type word struct {
	norm string // the form that is compared: lower case, the base form of a known verb, one spelling for all variants
	raw  string // as written
	is   trait
	cut  byte // the mark before it: '.', ',', ':', '(', '-', 0 for none
}

func (w *word) has(t trait) bool { return w.is&t != 0 }

// equals reports whether two words have the same meaning.
func (w *word) equals(o *word) bool {
	return w.norm == o.norm && (w.is^o.is)&shape == 0
}

// text is a parsed statement.
type text struct {
	words []word

	weak       string // "now", "since May": something changed, though other values may hold as well
	strong     string // "instead", "no longer": the former value does not hold any more
	also       bool   // says that the former value still holds
	asks       bool
	when       []string // dates of "since" and "as of"
	raw        bool     // has letters of a script without spaces: compared as written, never interpreted
	notEnglish bool     // not English
	code       bool     // a line of code, or a formula, in which every sign counts
	parts      int      // number of sentences
	edits      int      // number of words left out or moved that another wording may lack
}

// drop resolves words that are removed or replaced. It reports whether w is
// removed.
func (r *resolver) drop(w *word) bool {
	switch w.norm {
	case "a", "an":
		r.det |= article
		return r.i+1 < len(r.in)
	case "the", "this", "these":
		r.det |= definite
		return r.i+1 < len(r.in) && !r.is(1, be)
	case "my", "mine":
		w.norm, w.is = "user", owner
		return false
	case "that":
		return r.i > 0 && r.i+1 < len(r.in)
	case "new": // "Ana's new phone number" was another one before
		if r.is(1, functional) && r.i > 0 && r.in[r.i-1].has(owner) {
			r.text.weak = "new"
			r.text.edits++
			return true
		}
		return false
	case "no":
		if r.isLonger() {
			r.i++
			w.norm, w.is = "not", negates|ending
			r.text.strong = "no longer"
		}
		return false
	case "any":
		if r.isLonger() {
			r.i++
			r.text.strong = "any longer"
			return true
		}
		return false
	case "instead", "rather":
		return r.instead(w)
	case "as", "since", "from", "starting", "effective":
		return r.since(w)
	case "due", "thanks", "owing":
		if r.norm(1) == "to" {
			r.i++
			w.norm, w.is = "because", adds
		}
		return false
	case "too":
		if r.i+1 < len(r.in) && r.in[r.i+1].cut == 0 {
			return false
		}
		r.text.also = true
		return true
	}
	if w.has(filler) {
		r.filler(w)
		return true
	}
	return w.has(verb) && r.auxiliary(w)
}

// isLonger reports whether the next word makes "no" or "any" mean "no longer": "no longer here", "not used any more".
func (r *resolver) isLonger() bool {
	return r.norm(1) == "longer" || r.norm(1) == "more" && r.i+2 == len(r.in)
}

// filler notes what a word that is removed says of the statement.
func (r *resolver) filler(w *word) {
	r.text.edits++
	switch w.norm {
	case "also", "additionally":
		r.text.also = true
	case "now", "currently", "presently", "actually":
		r.text.weak = w.norm
	case "anymore":
		r.text.strong = w.norm
	}
}

// instead resolves "instead of X", "rather than X" and "instead" without either.
func (r *resolver) instead(w *word) bool {
	next := r.norm(1)
	switch {
	case next == "of" || w.norm == "rather" && next == "than":
		r.i++
		w.norm, w.is = "instead-of", sign
		r.text.strong = "instead of"
		return false
	case w.norm == "instead":
		r.text.strong = w.norm
		return true
	}
	return false
}

// since removes a date of change: "as of May 2026", "since Monday", "from June on".
// The date is stored in text.when, because it is not part of what the statement says
// about its subject.
func (r *resolver) since(w *word) bool {
	at := 1
	switch {
	case w.norm == "as" && r.norm(1) == "of":
		at = 2
	case w.norm == "as":
		return false
	}
	end := at
	for r.is(end, timely|number) || end > at && r.norm(end) == "of" || r.norm(end) == "now" {
		end++
	}
	if end == at || w.norm == "since" && !r.is(at, timely) && len(r.norm(at)) < 4 {
		if w.norm == "since" {
			w.norm, w.is = "because", adds
		}
		return false
	}
	if w.norm == "from" && r.norm(end) != "on" && r.norm(end) != "onwards" {
		return false
	}
	for i := at; i < end; i++ {
		if n := r.norm(i); n != "of" && n != "now" {
			r.text.when = append(r.text.when, n)
		}
	}
	r.text.weak = w.norm + " " + r.in[min(r.i+at, len(r.in)-1)].raw
	if w.norm == "from" {
		end++
	}
	r.i += end - 1
	return true
}
