package consolidate

// polarity judges two statements that differ in a negation alone.
func (p *pair) polarity() (Verdict, bool) {
	olds, news := 0, 0
	var ended, again bool
	var last word
	for _, h := range p.hunks {
		if o, n, ok := alwaysNever(h); ok {
			olds, news, last = olds+o, news+n, h.b[0]
			continue
		}
		for _, side := range []struct {
			words []word
			n     *int
		}{{h.a, &olds}, {h.b, &news}} {
			for _, w := range side.words {
				if w.norm == "again" {
					again = true
					continue
				}
				if !w.has(negates) {
					return Verdict{}, false
				}
				*side.n++
				last, ended = w, ended || w.has(ending)
			}
		}
	}
	if (olds == 0) == (news == 0) || p.uncertain() {
		return Verdict{}, false
	}
	switch {
	case news > 0 && (ended || p.new.strong != ""):
		return Verdict{Relation: Updates, Why: "not any more: " + or(p.new.strong, last.raw)}, true
	case again && olds > 0:
		return Verdict{Relation: Updates, Why: "again"}, true
	case p.new.weak != "" && len(p.new.when) == 0 && p.old.weak == "":
		return Verdict{Relation: Updates, Why: p.new.weak + " the other way"}, true
	}
	return Verdict{Relation: Contradicts, Why: "only one of them says " + quote([]word{last})}, true
}

// alwaysNever reports the one pair of words that turns a statement round by
// replacing one another.
func alwaysNever(h hunk) (olds, news int, ok bool) {
	if len(h.a) != 1 || len(h.b) != 1 {
		return 0, 0, false
	}
	switch {
	case h.a[0].norm == "always" && h.b[0].norm == "never":
		return 0, 1, true
	case h.a[0].norm == "never" && h.b[0].norm == "always":
		return 1, 0, true
	}
	return 0, 0, false
}

// uncertain reports statements that can be true together with their negation:
// about some and about sometimes, about what might be, and about the past, where
// each may speak of another event.
func (p *pair) uncertain() bool {
	for _, words := range [][]word{p.a, p.b} {
		for i := range words {
			if words[i].has(past) || partial[words[i].norm] {
				return true
			}
		}
	}
	return false
}

var partial = map[string]bool{
	"some": true, "few": true, "many": true, "several": true, "most": true, "half": true, "often": true, "usually": true,
	"sometimes": true, "occasionally": true, "generally": true, "typically": true, "mostly": true, "mainly": true, "may": true,
	"might": true, "could": true, "perhaps": true, "maybe": true, "possibly": true, "probably": true, "likely": true, "another": true,
	"hardly": true, "rarely": true, "seldom": true, "barely": true,
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
