package consolidate

import (
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// A retelling needs so many telling words in common with the sentence that it
// retells, and so large a share of that sentence's.
const (
	minTold   = 2
	toldShare = 0.4
)

// covers reports whether x says all that t says.
func (x *told) covers(t *text) bool {
	v := (&pair{old: &x.text, new: t, alignment: align(x.short(), short(t.words))}).judge()
	switch v.Relation {
	case Same, Restates:
		return true
	case Contradicts, Updates, Refines:
		return false
	}
	said := map[string]trait{}
	common := 0
	for i := range t.words {
		w := &t.words[i]
		key := keyOf(w)
		if _, again := said[key]; again {
			continue
		}
		said[key] |= w.is
		is, known := x.words[key]
		switch {
		case known && w.has(past) && is&past == 0, !known && x.hasOpposite(w.norm):
			return false // it happened, and was only meant to; or the other way
		case known && (tells(w) || w.has(verb)):
			common++
		case known:
		case wish[key] && x.wishes():
		case condition[key] && x.conditional():
		case decides(w):
			return false
		case tells(w):
			return false
		}
	}
	theirs := 0
	for key, is := range x.words {
		w := word{norm: key, is: is}
		_, ok := said[key]
		if !ok && (is&(negates|limits) != 0 && is&(prep|adds) == 0 && !condition[key] || partial[key] || temporal[key]) {
			return false // it leaves out a restriction
		}
		if tells(&w) || w.has(verb) {
			theirs++
		}
	}
	if x.conditional() && !(&told{words: said}).conditional() {
		return false
	}
	return common >= minTold && float64(common) >= toldShare*float64(theirs) &&
		!swapped(x.text.words, t.words) && attached(x.text.words, t.words)
}

var (
	condition = words("if when whenever")
	wish      = words("want prefer like ask")
)

func (x *told) wishes() bool {
	for w := range wish {
		if _, ok := x.words[w]; ok {
			return true
		}
	}
	return false
}

func (x *told) hasOpposite(norm string) bool {
	for i := range x.text.words {
		if opposite(x.text.words[i].norm, norm) {
			return true
		}
	}
	return false
}

func (x *told) conditional() bool {
	for w := range condition {
		if _, ok := x.words[w]; ok {
			return true
		}
	}
	return false
}

// keyOf is the form in which a word is looked up: its stem, or the number or
// identifier as it is.
func keyOf(w *word) string {
	if w.is&(number|exact|sign) != 0 {
		return w.norm
	}
	return analysis.Stem(w.norm)
}

// decides reports a word that makes another statement of any that lacks it.
func decides(w *word) bool {
	return w.is&(negates|limits|counts|number|timely|sign|exact) != 0 && w.is&be == 0 && w.is&(prep|adds) == 0 ||
		w.has(modal) && !mild[w.norm] || partial[w.norm] || contrast[w.norm]
}

// contrast are words that stand against another of their kind.
var (
	contrast = words("before after until during within without above below over under first second third fourth last next both")
	temporal = words("before after until during within without") // which restrict what they are left out of
)

// tells reports a word that carries what is said. What does not are function
// words, verbs that fit anything, and words with which people refer to what they
// were told.
func tells(w *word) bool {
	if w.is&(number|exact|timely) != 0 {
		return true
	}
	return w.is&(prep|adds|joins|be|pronoun|filler|generic|modal|negates|limits|counts|sign) == 0 && !light[w.norm] && !light[strings.ToLower(w.raw)]
}

var (
	mild  = words(`will would can shall supposed able`)
	light = words(`use have run do get make keep set need take give see say tell know think believe mention find put come go call name
		mean recall remember note notes memory knowledge context information info earlier above according stated noted fact confirmed confirm
		yes yeah right correct exactly sure ok okay great based so thing here there let well course understood understand looks seems seem look
		indicate indicates shows show provided recorded saved conversation told injected reminder instance example say want
		that who what which one specifically namely basically remind saying mentioned mind used lives live sits sit running hosted stored
		kept located based`)
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// afterIntro drops what only answers or refers: "yes,", "as noted,", "according to
// my notes:", "I remember that".
func afterIntro(w []word) []word {
	if len(w) > 3 && w[0].norm == "user" && strings.EqualFold(w[0].raw, "i") && light[w[1].norm] && verbAt(w[2:]) > 0 {
		return w[2:] // "I know that …"
	}
	for i := 1; i < len(w) && i <= 6; i++ {
		if w[i].cut != ',' && w[i].cut != ':' && w[i].cut != '.' && w[i].cut != '-' {
			continue
		}
		for j := range w[:i] {
			if tells(&w[j]) && w[j].norm != "user" || w[j].has(negates|number) {
				return w
			}
		}
		return afterIntro(w[i:])
	}
	return w
}

// sentences splits words where one sentence ends.
func sentences(w []word) [][]word {
	var out [][]word
	from := 0
	for i := 1; i <= len(w); i++ {
		if i == len(w) || w[i].cut == '.' {
			out = append(out, w[from:i:i])
			from = i
		}
	}
	return out
}

// clauses splits words at sentences, and at "and" before another verb.
func clauses(w []word) [][]word {
	var out [][]word
	for _, s := range sentences(w) {
		from := 0
		for i := 1; i < len(s); i++ {
			if s[i].norm == "and" && verbAt(s[i:]) > 0 && verbAt(s[from:i]) >= 0 {
				out = append(out, s[from:i:i])
				from = i + 1
			}
		}
		if from < len(s) {
			out = append(out, s[from:])
		}
	}
	return out
}
