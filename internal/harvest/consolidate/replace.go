package consolidate

import "github.com/kenlayer/ken/internal/harvest/draft"

// replaced judges two statements that give one attribute of one subject two
// values, without saying that it changed.
func (p *pair) replaced() (Verdict, bool) {
	older, newer, ok := p.frames()
	if !ok || older.past || newer.past {
		return Verdict{}, false
	}
	was, is, ok := differing(&older, &newer)
	if !ok {
		return Verdict{}, false
	}
	one, changes := singleValued(&older, &was, &is)
	if !one {
		likes := p.before.Sort == draft.Preference && p.after.Sort == draft.Preference || older.key == "prefer" && was.prep == ""
		if !likes || !alternatives(was.words, is.words, true) {
			return Verdict{}, false
		}
		changes = true
	}
	why := quote(was.words) + " and " + quote(is.words)
	if gap := p.after.At.Sub(p.before.At); changes && !p.before.At.IsZero() && !p.after.At.IsZero() && gap >= SameTime {
		return Verdict{Relation: Updates, Why: why + ", said later"}, true
	}
	return Verdict{Relation: Contradicts, Why: why}, true
}

// differing returns the only slot in which two frames of the same verb differ.
func differing(older, newer *frame) (was, is slot, ok bool) {
	if older.key != newer.key || len(older.slots) != len(newer.slots) {
		return was, is, false
	}
	for i := range older.slots {
		if older.slots[i].prep != newer.slots[i].prep {
			return was, is, false
		}
		if equalWords(older.slots[i].words, newer.slots[i].words) {
			continue
		}
		if ok {
			return was, is, false
		}
		was, is, ok = older.slots[i], newer.slots[i], true
	}
	return was, is, ok
}

// singleValued reports whether the slot holds the value of an attribute that has
// one value at a time, and both hold alternatives for it; and whether that value
// ever changes.
func singleValued(f *frame, was, is *slot) (one, changes bool) {
	x, y := was.words, is.words
	if len(x) > 1 && len(y) > 1 && x[0].has(functional) && x[0].equals(&y[0]) && !x[0].has(article) { // on port 8080
		x, y = x[1:], y[1:]
		return alternatives(x, y, false), true
	}
	if f.key == "be" && was.prep == "" {
		if one, changes = attribute(f.subject); one {
			return alternatives(x, y, false) && (shapeOf(x) != plainValue || worded(f.subject)), changes
		}
	}
	if p := (phrase{f.key, was.prep}); single[p] && len(x) > 0 {
		set := f.key == "be set" || f.key == "default"
		return (set || shapeOf(x) != plainValue) && alternatives(x, y, false), true
	}
	if later, ok := quantified[f.key]; ok && was.prep == "" && len(x) > 1 && shapeOf(x) == numberValue && alternatives(x, y, false) {
		return true, later
	}
	return false, false
}

// opposites are words of which one is true of a thing at a time.
var opposites = func() map[[2]string]bool {
	m := map[[2]string]bool{}
	for _, p := range [][2]string{
		{"enable", "disable"}, {"enabled", "disabled"}, {"allow", "forbid"}, {"accept", "reject"}, {"like", "dislike"}, {"love", "hate"},
		{"pass", "fail"}, {"true", "false"}, {"required", "optional"}, {"mandatory", "optional"}, {"public", "private"}, {"synchronous", "asynchronous"},
		{"online", "offline"}, {"available", "unavailable"}, {"valid", "invalid"}, {"safe", "unsafe"}, {"with", "without"},
		{"supported", "unsupported"}, {"encrypted", "unencrypted"}, {"possible", "impossible"}, {"single", "married"}, {"alive", "dead"},
		{"stateful", "stateless"}, {"mutable", "immutable"}, {"blocking", "non-blocking"}, {"sensitive", "insensitive"}, {"include", "exclude"},
		{"deterministic", "nondeterministic"}, {"compatible", "incompatible"}, {"thread-safe", "thread-unsafe"}, {"empty", "full"}, {"permit", "deny"},
	} {
		m[p] = true
	}
	return m
}()

func opposite(a, b string) bool { return opposites[[2]string{a, b}] || opposites[[2]string{b, a}] }

// opposed judges two statements that differ in one word and its opposite, in what
// they say of their subject.
func (p *pair) opposed() (Verdict, bool) {
	if len(p.hunks) != 1 || p.uncertain() || !p.sameDate() {
		return Verdict{}, false
	}
	h := p.hunks[0]
	if len(h.a) != 1 || len(h.b) != 1 {
		return Verdict{}, false
	}
	verbs := opposite(h.a[0].norm, h.b[0].norm) && h.a[0].is&shape == h.b[0].is&shape
	if !verbs && !opposite(lower(h.a[0].raw), lower(h.b[0].raw)) {
		return Verdict{}, false
	}
	// What stands before the verb tells two subjects apart.
	i, j := p.place[0][0], p.place[0][1]
	if x, y := verbAt(p.a), verbAt(p.b); x < 0 || y < 0 || i < x || j < y || verbAt(p.a[i+1:]) >= 0 {
		return Verdict{}, false
	}
	if marker := p.marker(); marker != "" && !p.new.also {
		return Verdict{Relation: Updates, Why: marker + ": " + quote(h.b)}, true
	}
	return Verdict{Relation: Contradicts, Why: quote(h.a) + " and " + quote(h.b)}, true
}
