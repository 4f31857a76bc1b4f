package reading

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Bounds of what is looked at.
const (
	maxWords = 640 // of a text
	maxCode  = 96  // bytes between two backquotes
)

// reader reads one claim.
type reader struct {
	claim *ken.Claim
	text  string // as far as it is read
	low   string // the same with ASCII letters in lower case
	words []word
	found []found // by place

	speaker  found // who says it; no name: nobody in particular
	voice    voice
	body     int // the first word of what is said
	external bool
	rule     bool      // the text sets a rule
	parts    []Mention // of compounds: the ledger of "ledger entries"
	filed    found     // the known thing that the evidence's file is called after
}

// voice is who speaks, as far as rules care.
type voice uint8

const (
	nobody voice = iota // the text stands by itself
	user                // to the agent
	person              // to another person
)

// found is a mention and where it stands: words[from:to].
type found struct {
	Mention
	from, to int
	weak     bool // the head of some noun phrase, rather than a name
}

// Read reads a claim's text. known tells which names records carry already; nil
// knows none. It asks once, for all word groups of the text. The claim is not
// changed, and nothing of it is kept but substrings of its texts.
//
// Its time is linear in what it reads of the text, at most MaxBytes: some 30
// microseconds of one core for a sentence of 25 words.
func Read(c *ken.Claim, known Names) Reading {
	var words [48]word
	var list [16]found
	r := reader{claim: c, words: words[:0], found: list[:0]}
	r.open()
	r.scan()
	r.speak()
	r.name(known)
	r.rule = r.constraint()
	r.stated()
	primary := r.primary()
	if r.filed.Name != "" && !primary.Known && primary.weak && !r.rule { // of a noun that nobody knows, the file's subject says more
		if f := primary; f.Confidence >= ByObject {
			r.parts = append([]Mention{f.Mention}, r.parts...)
		}
		primary = r.filed
	}
	out := Reading{Dependencies: r.dependencies(&primary)}
	if out.Entities = r.entities(&primary); r.conduct(&primary) {
		out.Entities = nil
	}
	kind, thing := Unknown, false
	if len(out.Entities) > 0 {
		m := &out.Entities[0]
		out.Confidence, kind = m.Confidence, m.Type
		thing = m.Known && m.Display != "" && m.Display[0] >= 'a' && m.Display[0] <= 'z' // nobody's name is written so
	}
	out.Constraint = r.rule
	if out.Aspect = r.aspect(kind, thing); out.Constraint && len(out.Entities) > 0 && out.Entities[0].Name == "user" {
		out.Aspect = "preferences" // how the agent is to behave towards them
	}
	return out
}

// open cuts the text to what is read.
func (r *reader) open() {
	text := r.claim.Text
	if len(text) > MaxBytes {
		n := MaxBytes
		for n > MaxBytes-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	r.text, r.low = text, lower(text)
	r.external = !r.claim.Support(nil).Trust.AtLeast(ken.TrustAgent)
}

// lower is s with ASCII letters in lower case, so that offsets stay.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// speak finds who says it: "User: …", "Ana: …". Another label before a colon, as in
// "Decision: …", is left out of what is read.
func (r *reader) speak() {
	r.skipQuestion()
	if len(r.words) == 0 {
		return
	}
	n := 0
	for n < len(r.words) && n < 5 && r.words[n].stop == 0 {
		n++
	}
	if n == len(r.words) || n >= 5 || r.words[n].stop != ':' || n+1 == len(r.words) {
		return
	}
	w := &r.words[0]
	display := r.text[w.start:r.words[n].end]
	switch {
	case n == 0 && w.low == "user":
		r.voice = user
		r.speaker = found{Mention: Mention{Name: "user", Display: display, Type: Person, Confidence: BySpeaker}}
	case strings.HasPrefix(r.low, "proposed by the assistant, accepted by the user:"):
	case n <= 2 && r.named(0, n+1):
		r.speaker = found{Mention: Mention{Name: r.join(0, n+1), Display: display, Type: Unknown, Confidence: BySpeaker}}
		if r.speaks(n + 1) {
			r.voice, r.speaker.Type = person, Person
		}
	default:
		if n == 0 && w.entry.is(label) || n > 0 && r.words[n].entry.is(label) {
			r.begin(n + 1)
		}
		return
	}
	r.begin(n + 1)
}

// speaks tells a speaker from a topic before a colon: words of a talk follow, or the
// claim came with the name.
func (r *reader) speaks(from int) bool {
	for i := from; i < len(r.words); i++ {
		if r.words[i].entry.is(first | second | plural) {
			return true
		}
	}
	for _, e := range r.claim.Entities {
		if analysis.Entity(e) == r.speaker.Name {
			return true
		}
	}
	return false
}

// begin leaves the first words out of what is said.
func (r *reader) begin(n int) {
	for i := range n {
		r.words[i].aside = true
	}
	r.body = n
	if n < len(r.words) {
		r.words[n].opens, r.words[n].broken = true, true
	}
}

// named reports words that can be a person's name: each with a capital, none that
// is common or a product.
func (r *reader) named(from, to int) bool {
	for i := from; i < to; i++ {
		w := &r.words[i]
		if !w.upper || w.code || w.path || w.capitals && w.end-w.start > 2 || w.entry.is(product|label|calendar) ||
			to-from == 1 && w.entry.is(common|function|verb) || w.possessive {
			return false
		}
	}
	return true
}

// skipQuestion marks "(asked by Ana: …)" at the end, which extraction adds: it is
// somebody else's question.
func (r *reader) skipQuestion() {
	at := strings.LastIndex(r.low, "(asked by ")
	if at < 0 || !strings.HasSuffix(r.text, ")") {
		return
	}
	for i := len(r.words) - 1; i >= 0 && r.words[i].start > at; i-- {
		r.words[i].aside = true
	}
}

// join spells words[from:to] as one name.
func (r *reader) join(from, to int) string {
	if to-from == 1 {
		return r.words[from].name
	}
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from {
			b.WriteByte(' ')
		}
		b.WriteString(r.words[i].name)
	}
	return canonical(b.String())
}

// canonical spells a name of spelled words: two words may be less than their sum, when
// the first is an article or a mark stands between them.
func canonical(s string) string {
	if len(s) > 120 { // analysis.Entity's limit
		return analysis.Entity(s)
	}
	joint := 0 // dots and slashes inside of one word stay
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == ' ' && joint == 0:
		case (c == '.' || c == '/') && i > 0 && i+1 < len(s) && strings.IndexByte(s, ' ') < 0:
			joint++
		default:
			return analysis.Entity(s)
		}
	}
	if i := strings.IndexByte(s, ' '); i > 0 && lexicon()[s[:i]].is(determiner) || strings.HasPrefix(s, " ") || strings.HasSuffix(s, " ") || strings.Contains(s, "  ") {
		return analysis.Entity(s)
	}
	return s
}

// display is words[from:to] as the text has them.
func (r *reader) display(from, to int) string {
	last := &r.words[to-1]
	end := last.end
	if last.possessive && !last.code {
		end = last.start + len(last.low)
	}
	return r.text[r.words[from].start:min(end, last.end)]
}

// entities lists the primary, then the rest of what the claim came with, then what
// else the text names, by place. A name that the claim came with goes first when the
// rules read it as the primary, or found none that they are as sure of as of an
// order's object.
func (r *reader) entities(primary *found) []Mention {
	out := make([]Mention, 0, min(MaxEntities, len(r.found)+2))
	add := func(m *Mention) {
		if m.Name == "" || len(out) == MaxEntities || canonical(m.Name) != m.Name {
			return
		}
		for i := range out {
			if out[i].Name == m.Name {
				return
			}
		}
		out = append(out, *m)
	}
	if len(r.claim.Entities) > 0 && primary.Confidence >= ByObject {
		if m, ok := r.came(primary); ok {
			add(&m)
		} else {
			add(&primary.Mention)
		}
	}
	r.given(add)
	add(&primary.Mention)
	for i := range r.found {
		if !r.found[i].weak {
			add(&r.found[i].Mention)
		}
	}
	for i := range r.parts {
		add(&r.parts[i])
	}
	add(&r.filed.Mention)
	return out
}
