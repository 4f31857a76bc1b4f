package consolidate

import (
	"slices"
	"strings"
)

// added judges two statements of which one says all that the other says, and more.
// It must be an addition that leaves the rest as true as it was: a reason, a name, a
// version, another sentence. "In Go files" or "if the tests pass" are none: what is
// true there need not be true elsewhere.
func (p *pair) added() (Verdict, bool) {
	rich, poor := p.new, p.old
	side, relation := 1, Refines
	if p.oneSided(0) {
		rich, poor = p.old, p.new
		side, relation = 0, Restates
	} else if !p.oneSided(1) {
		return Verdict{}, false
	}
	words := rich.words
	verb := verbAt(words)
	if verb < 0 || poor.parts != 1 || len(poor.words) < 2 || !p.datesGrow(rich, poor) {
		return Verdict{}, false
	}
	said := ""
	if len(rich.when) > len(poor.when) {
		said = "since " + rich.when[0]
	}
	for i, h := range p.hunks {
		more := h.b
		if side == 0 {
			more = h.a
		}
		at := p.place[i][side]
		if at <= verb || !harmless(more) || !adding(words, at, at+len(more), negativeOrAll(poor.words)) {
			return Verdict{}, false
		}
		said = quote(more)
	}
	if said == "" {
		return Verdict{}, false
	}
	if relation == Refines {
		return Verdict{Relation: Refines, Why: "adds " + said}, true
	}
	return Verdict{Relation: Restates, Why: "leaves out " + said}, true
}

// oneSided reports whether only one side has words of its own: 0 the old, 1 the
// new.
func (p *pair) oneSided(side int) bool {
	for _, h := range p.hunks {
		if side == 1 && len(h.a) > 0 || side == 0 && len(h.b) > 0 {
			return false
		}
	}
	if len(p.hunks) > 0 {
		return true
	}
	return side == 1 && len(p.new.when) > len(p.old.when) || side == 0 && len(p.old.when) > len(p.new.when)
}

func (p *pair) datesGrow(rich, poor *text) bool {
	return len(poor.when) == 0 || slices.Equal(rich.when, poor.when)
}

// harmless reports words that take nothing back.
func harmless(more []word) bool {
	if more[0].norm == "because" {
		return true // a reason may well be that something is not so
	}
	for i := range more {
		if w := &more[i]; w.has(negates|limits|modal|counts) && !w.has(adds) || w.norm == "or" || w.norm == "instead-of" && i > 0 {
			return false
		}
	}
	return true
}

// negativeOrAll reports a statement that an addition makes weaker: what holds for
// no coffee, or for all requests, says less of coffee with milk.
func negativeOrAll(words []word) bool {
	for i := range words {
		if words[i].has(negates | limits | counts) {
			return true
		}
	}
	return false
}

// conditional are verbs whose success may depend on what is added.
var conditional = map[string]bool{"pass": true, "fail": true, "work": true, "break": true, "compile": true, "build": true}

// takesBack are verbs with which another sentence may say that the first one is
// over.
var takesBack = map[string]bool{"change": true, "move": true, "migrate": true, "replace": true, "switch": true, "remove": true, "drop": true,
	"delete": true, "stop": true, "expire": true, "end": true, "close": true, "retire": true, "quit": true, "leave": true}

// adding reports whether words[from:to] adds to what is said before. In a weak
// statement only a reason or another sentence does.
func adding(words []word, from, to int, weak bool) bool {
	first, prev := &words[from], &words[from-1]
	last := to == len(words) || words[to].cut != 0
	next := func(t trait) bool { return from+1 < to && words[from+1].has(t) }
	switch {
	case first.cut == '.' && last:
		for _, w := range words[from:to] {
			if takesBack[w.norm] {
				return false
			}
		}
		return true
	case first.norm == "because" && last && to-from > 1:
		return true
	case weak:
		return false
	case first.has(number) && to-from == 1:
		version := strings.Contains(first.norm, ".") && prev.is&(unit|timely|verb|be|prep|number) == 0
		return version || prev.has(name|exact) && !prev.has(number) || kindOf(words[from-1:from]) > 0
	case !last:
		return false
	case first.cut == '(' || first.cut == '-', first.cut == ',' && (first.norm == "which" || first.norm == "who"):
		return true
	case first.norm == "instead-of":
		return to-from > 1
	case first.norm == "and":
		return to-from > 1 && !next(number) // a second port may as well be another port
	case first.norm == "in" || first.norm == "on":
		// When an event was, not where or how often something is so.
		return words[verbAt(words)].has(past) && (next(timely) || next(number) && len(words[from+1].norm) == 4) && !prev.has(timely)
	case first.norm == "at":
		return prev.has(timely) && next(number|timely)
	case first.norm == "as":
		return next(article)
	case first.norm == "name" || first.norm == "call":
		return first.has(past|passive) && prev.has(article) && to-from > 1
	case first.norm == "via", first.norm == "use" && first.has(going), first.norm == "by":
		return to-from > 1 && !next(timely|choice|going) && (first.norm != "by" || !next(number)) && !conditional[words[verbAt(words)].norm]
	}
	return false
}
