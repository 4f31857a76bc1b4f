package consolidate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// Compare judges what after is to before. It is a pure function of its arguments,
// and safe for concurrent use.
func Compare(before, after Statement) Verdict {
	a, b := statement(before, after), statement(after, before)
	return compare(&a, &b, before, after)
}

// compare is Compare for statements that are read already. It changes neither.
func compare(a, b *text, before, after Statement) Verdict {
	if len(a.words) == 0 || len(b.words) == 0 {
		return Verdict{Distinct, "nothing to compare", 0}
	}
	if a.code || b.code {
		if slices.Equal(strings.Fields(before.Heading+"\n"+before.Text), strings.Fields(after.Heading+"\n"+after.Text)) {
			return Verdict{Same, "the same code", 1}
		}
		return Verdict{Distinct, "not the same code", 0}
	}
	if a.raw || b.raw || len(a.words) > maxWords || len(b.words) > maxWords {
		return verbatim(a, b)
	}
	p := pair{old: a, new: b, alignment: align(a.words, b.words), before: before, after: after}
	v := p.judge()
	v.Score = 2 * float64(p.common) / float64(len(a.words)+len(b.words))
	return v
}

// statement reads s, with its heading in front unless the other has the same or
// the text names it.
func statement(s, other Statement) text {
	if h := strings.TrimSpace(s.Heading); h != "" && lower(h) != lower(strings.TrimSpace(other.Heading)) &&
		!strings.Contains(lower(s.Text), lower(h)) {
		return read(h + ". " + s.Text)
	}
	return read(s.Text)
}

// verbatim judges texts that are not interpreted.
func verbatim(a, b *text) Verdict {
	if slices.EqualFunc(a.words, b.words, func(x, y word) bool { return x.norm == y.norm }) {
		return Verdict{Same, "the same text", 1}
	}
	if a.raw || b.raw {
		return Verdict{Distinct, "not the same text, and its script has no words to compare", 0}
	}
	return Verdict{Distinct, "not the same text, and too long to compare", 0}
}

// pair is two statements on each other.
type pair struct {
	alignment
	old, new      *text
	before, after Statement
	shorter       []word // of a generic noun that only one of them has
}

// judge asks the rules in turn. Each answers only what it is sure of.
func (p *pair) judge() Verdict {
	if why := p.strangers(); why != "" {
		return Verdict{Relation: Distinct, Why: why}
	}
	if len(p.hunks) == 0 && slices.Equal(p.old.when, p.new.when) && p.old.asks == p.new.asks {
		if p.loose || p.old.edits != p.new.edits {
			return Verdict{Relation: Restates, Why: "the same words in other forms"}
		}
		return Verdict{Relation: Same, Why: "the same words"}
	}
	if p.old.asks || p.new.asks {
		return Verdict{Relation: Distinct, Why: "a question"}
	}
	english := !p.old.alien && !p.new.alien
	if english {
		p.prune()
	}
	if v, ok := p.polarity(); ok {
		return v
	}
	if english {
		for _, rule := range rules {
			if v, ok := rule(p); ok {
				return v
			}
		}
	}
	return Verdict{Relation: Distinct, Why: p.difference()}
}

// rules are what English statements are judged by, after polarity, in the order in
// which they are asked.
var rules = []func(*pair) (Verdict, bool){
	(*pair).pruned, (*pair).reordered, (*pair).voiced, (*pair).changed, (*pair).replaced, (*pair).opposed, (*pair).added,
}

// strangers says why two statements can't speak of the same thing, whatever their
// words are: each says "it" of something else.
func (p *pair) strangers() string {
	if !p.old.words[0].has(pronoun) && !p.new.words[0].has(pronoun) || len(p.hunks) == 0 && len(p.before.Entities)+len(p.after.Entities) == 0 {
		return ""
	}
	before, after := meant(p.before), meant(p.after)
	if slices.Equal(before, after) && len(before) > 0 {
		return ""
	}
	return strconv.Quote(p.old.words[0].raw) + " and " + strconv.Quote(p.new.words[0].raw) + " may be of different things"
}

// meant are the names that a statement is about, sorted: without those that it says
// itself, which a claim is filed under beside what its "it" is, unless there are no
// others.
func meant(s Statement) []string {
	var all, unsaid []string
	var b strings.Builder // word by word: as a name, a whole text is too long
	for w := range strings.FieldsSeq(s.Text) {
		b.WriteString(" " + analysis.Entity(w))
	}
	text := b.String() + " "
	for _, name := range s.Entities {
		name = analysis.Entity(name)
		all = append(all, name)
		if !strings.Contains(text, " "+name+" ") {
			unsaid = append(unsaid, name)
		}
	}
	if len(unsaid) > 0 {
		all = unsaid
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// difference names the first words that differ.
func (p *pair) difference() string {
	if len(p.hunks) == 0 {
		return "another date or a question"
	}
	h := p.hunks[0]
	switch {
	case len(h.a) == 0:
		return "only the new one says " + quote(h.b)
	case len(h.b) == 0:
		return "only the old one says " + quote(h.a)
	}
	return quote(h.a) + " and " + quote(h.b)
}

// quote is words as they were written, at most six of them.
func quote(words []word) string {
	var b strings.Builder
	for i := range words[:min(len(words), 6)] {
		if raw := words[i].raw; i == 0 || raw != words[i-1].raw { // a contraction is two words
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(raw)
		}
	}
	if len(words) > 6 {
		b.WriteString(" …")
	}
	return strconv.Quote(b.String())
}
