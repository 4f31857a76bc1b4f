package consolidate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// replaced judges two statements that give one attribute of one subject two values,
// without saying that it changed.
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

// differing returns the only slot in which two frames with the same verb differ.
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

// singleValued reports whether the slot holds an attribute that has one value at a
// time, with alternative values in both frames. changes reports whether that value can
// change.
func singleValued(f *frame, was, is *slot) (one, changes bool) {
	x, y := was.words, is.words
	if len(x) > 1 && len(y) > 1 && x[0].has(functional) && x[0].equals(&y[0]) && !x[0].has(article) { // on port 8080
		x, y = x[1:], y[1:]
		return alternatives(x, y, false), true
	}
	if f.key == "be" && was.prep == "" {
		if one, changes = isAttribute(f.subject); one {
			return alternatives(x, y, false) && (shapeOf(x) != plainValue || hasWordValue(f.subject)), changes
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

// opposites are pairs of words of which only one is true of a thing at a time.
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

func areOpposite(a, b string) bool { return opposites[[2]string{a, b}] || opposites[[2]string{b, a}] }

// opposed judges two statements that differ, after the verb, only in a word and its
// opposite.
func (p *pair) opposed() (Verdict, bool) {
	if len(p.hunks) != 1 || p.uncertain() || !p.sameDate() {
		return Verdict{}, false
	}
	h := p.hunks[0]
	if len(h.a) != 1 || len(h.b) != 1 {
		return Verdict{}, false
	}
	verbs := areOpposite(h.a[0].norm, h.b[0].norm) && h.a[0].is&shape == h.b[0].is&shape
	if !verbs && !areOpposite(lower(h.a[0].raw), lower(h.b[0].raw)) {
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

// health says of words for the state of tests, services and machines whether it is a good one.
var health = map[string]bool{"green": true, "passing": true, "working": true, "fixed": true, "up": true, "healthy": true, "repaired": true,
	"failing": false, "broken": false, "red": false, "down": false, "crashing": false, "flaky": false, "stuck": false}

// recovered judges two statements about the state of one thing, of which only one is good: "the login tests are failing on
// CI", "the login tests are green now". The newer one may leave out where.
func (p *pair) recovered() (Verdict, bool) {
	i, j := verbAt(p.a), verbAt(p.b)
	if i <= 0 || i != j || p.old.parts != 1 || p.new.parts != 1 || !p.a[i].has(be) || !p.b[j].has(be) || i+1 >= len(p.a) || j+1 >= len(p.b) {
		return Verdict{}, false
	}
	was, is := p.a[i+1], p.b[j+1]
	good, ok := health[lower(was.raw)]
	better, ok2 := health[lower(is.raw)]
	if !ok || !ok2 || good == better || !slices.EqualFunc(p.a[:i], p.b[:j], func(x, y word) bool { return x.equals(&y) }) {
		return Verdict{}, false
	}
	for k := range p.b[j+2:] {
		w := &p.b[j+2+k]
		if !slices.ContainsFunc(p.a[i+2:], func(x word) bool { return x.equals(w) }) {
			return Verdict{}, false
		}
	}
	if marker := p.marker(); marker != "" && !p.new.also {
		return Verdict{Relation: Updates, Why: marker + ": " + quote(p.b[j+1:])}, true
	}
	return Verdict{Relation: Contradicts, Why: quote(p.a[i+1:]) + " and " + quote(p.b[j+1:])}, true
}

// SameTime is the maximum time between two statements of a changeable value that
// contradict each other. Somebody who gives another port a day later has most likely
// changed it. Within a day, or at unknown times, one of the statements is wrong.
const SameTime = 24 * time.Hour

// frames parses both statements as simple sentences about the same subject. ok is
// false if they are not.
func (p *pair) frames() (older, newer frame, ok bool) {
	if p.old.parts != 1 || p.new.parts != 1 || p.new.also {
		return older, newer, false
	}
	if i, j := verbAt(p.a), verbAt(p.b); i <= 0 || j <= 0 || !p.a[0].equals(&p.b[0]) {
		return older, newer, false // most pairs of statements return here
	}
	older, ok1 := parse(p.a)
	newer, ok2 := parse(p.b)
	if !ok1 || !ok2 || older.negated || newer.negated || older.unsure || newer.unsure {
		return older, newer, false
	}
	return older, newer, sameSubject(older.subject, newer.subject)
}

// changed judges a new statement that says itself that something changed: with a verb
// ("moved to", "was raised to", "joined") or a word ("now", "instead").
func (p *pair) changed() (Verdict, bool) {
	if p.insteadOf() {
		return Verdict{Relation: Updates, Why: p.new.strong}, true
	}
	if longAgo(p.after.Text, p.before.At) {
		return Verdict{}, false
	}
	if ok, onlyKind := p.switched(); ok {
		return Verdict{Relation: Updates, Why: quote(p.b[verbAt(p.b):]), onlyKind: onlyKind}, true
	}
	older, newer, ok := p.frames()
	if !ok {
		return Verdict{}, false
	}
	for _, to := range newer.slots {
		how := changes[phrase{newer.key, to.prep}]
		for _, was := range older.slots {
			says := aspects(&older, was.prep)
			if replacedBy(&newer, was.words) && says != 0 || p.moved(&older, &newer, was, to, how&says) {
				return Verdict{Relation: Updates, Why: quote(p.b[newer.verbAt:])}, true
			}
		}
	}
	marker := p.marker()
	if marker == "" || older.past || newer.past {
		return Verdict{}, false
	}
	was, is, ok := differing(&older, &newer)
	if !ok {
		return Verdict{}, false
	}
	one, _ := singleValued(&older, &was, &is)
	known := (aspects(&older, was.prep)&means != 0 || older.key == "be" && was.prep == "") && alternatives(was.words, is.words, true)
	named := p.new.strong != "" && alternatives(was.words, is.words, false)
	roles := older.key == "be" && was.prep == "" && isRole(was.words) && isRole(is.words)
	if one || known || named || roles {
		return Verdict{Relation: Updates, Why: marker + ": " + quote(was.words) + " and " + quote(is.words)}, true
	}
	return Verdict{}, false
}

// switched reports whether the new statement says that "we" changed what the old one says is "our" tool: "we switched to
// Pipedrive", "we replaced HubSpot with Pipedrive" and "our CRM is HubSpot". The new one names the tool or the old
// value, or both values are of one known kind.
func (p *pair) switched() (ok, onlyKind bool) {
	if p.old.parts != 1 || p.new.parts != 1 || p.new.also {
		return false, false
	}
	older, ok1 := parse(p.a)
	newer, ok2 := parse(p.b)
	if !ok1 || !ok2 || !older.namesTool() || newer.negated || newer.unsure || len(newer.subject) == 0 || newer.subject[len(newer.subject)-1].norm != "we" {
		return false, false
	}
	was, prep := older.slot(""), "to"
	from, object := newer.slot("from"), newer.slot("")
	switch {
	case newer.key == "replace":
		prep, from, object = "with", object, nil
	case changes[phrase{newer.key, prep}]&means == 0:
		return false, false
	}
	to := newer.slot(prep)
	if len(to) == 0 || shapeOf(to) != namedValue || newer.saysWhere(prep, older.subject) || !endsWith(older.subject, object) {
		return false, false
	}
	switch {
	case len(from) > 0:
		return equalWords(from, was), false
	case len(object) > 0:
		return !within(was, to) && !within(to, was), false
	}
	return alternatives(was, to, true), true
}

// namesTool reports whether a statement says by its name what "our" tool for something is: "our CRM is HubSpot".
func (f *frame) namesTool() bool {
	if f.key != "be" || f.past || f.negated || f.unsure || len(f.subject) == 0 {
		return false
	}
	was, tool := f.slot(""), &f.subject[len(f.subject)-1]
	return len(was) > 0 && shapeOf(was) == namedValue && (!tool.has(name) || tool.raw == strings.ToUpper(tool.raw)) && !outsiders[tool.norm]
}

// saysWhere reports whether a statement of a change to something also says where or for what it holds, other than for the
// subject. prep stands before the new value.
func (f *frame) saysWhere(prep string, subject []word) bool {
	for _, s := range f.slots {
		switch s.prep {
		case prep, "from", "", "when", "because":
			continue
		}
		if len(s.words) == 0 || !s.words[0].has(timely|number) && !endsWith(subject, s.words) {
			return true
		}
	}
	return false
}

// outsiders are no tools that somebody changes.
var outsiders = analysis.Set("customer client competitor partner investor employer sponsor name")

// longAgo reports whether a statement tells of an event in a year before the one of at, when another one was made: "I
// joined Bosch in 2015" does not end that somebody works at Siemens.
func longAgo(text string, at time.Time) bool {
	last := 0
	for _, m := range inYear.FindAllStringSubmatch(text, -1) {
		year, _ := strconv.Atoi(m[1])
		last = max(last, year)
	}
	return last > 0 && last < at.Year()
}

var inYear = lazyregexp.New(`(?i)[ (](?:in|im jahr|en|em) (?:\pL+ )?(?:de )?((?:19|20)\d\d)\b`)

// marker returns the word with which the new statement says that something changed, or
// "". "Since 2019" does not count for a change after 2019.
func (p *pair) marker() string {
	if p.new.strong != "" {
		return p.new.strong
	}
	for _, w := range p.new.when {
		year, err := strconv.Atoi(w)
		if err == nil && len(w) == 4 && (year < p.before.At.Year() || p.before.At.IsZero() && len(p.new.when) == 1) {
			return ""
		}
	}
	return p.new.weak
}

// upgrades reports whether a verb means that a thing stays and its version changes.
func upgrades(key string) bool {
	switch strings.TrimPrefix(key, "be ") {
	case "upgrade", "downgrade", "bump":
		return true
	}
	return false
}

// aspects returns what a frame says with a slot, either as a state or as a change.
func aspects(f *frame, prep string) aspect {
	a := changes[phrase{f.key, prep}]
	if !f.past {
		a |= states[phrase{f.key, prep}]
	}
	return a
}

// moved reports whether the value "to" of newer replaces the value "was" of older.
// common holds the aspects of both.
func (p *pair) moved(older, newer *frame, was, to slot, common aspect) bool {
	if common == 0 || len(to.words) == 0 || len(was.words) == 0 || equalWords(was.words, to.words) || !extras(older, newer, was, to, common) {
		return false
	}
	one, _ := isAttribute(newer.subject)
	if !one {
		common &^= value
	}
	if from := newer.slot("from"); len(from) > 0 {
		return common != 0 && endsWith(was.words, from)
	}
	a, b := shapeOf(was.words), shapeOf(to.words)
	switch {
	case common&value != 0 && alternatives(was.words, to.words, false),
		common&home != 0 && a == namedValue && b == namedValue && alternatives(was.words, to.words, false),
		common&employment != 0 && company(was.words) && company(to.words) && !within(was.words, to.words) && !within(to.words, was.words),
		common&means != 0 && alternatives(was.words, to.words, true) && (!upgrades(newer.key) || versions(was.words, to.words)),
		common&appointed != 0 && a == dateValue && b == dateValue && sameForm(was.words, to.words),
		common&role != 0 && isRole(was.words) && (isRole(to.words) || newer.key == "be promote" && isOccupation(to.words)):
		return true
	case common&place != 0:
		return otherPlace(older, was.words, to.words)
	}
	return false
}

// otherPlace reports whether something that runs, listens or is at one place, as older says, has another one now. What it runs
// on may be a machine, a region or a database.
func otherPlace(older *frame, was, to []word) bool {
	if older.key == "listen" {
		return to[0].norm == "port" && shapeOf(was) == numberValue && alternatives(was, unnamed(to), false)
	}
	known := older.key == "run" || older.key == "be"
	return shapeOf(was) == regionValue && shapeOf(to) == regionValue || alternatives(was, to, known)
}

// replacedBy reports whether newer says "replaced X with Y", where X is was.
func replacedBy(newer *frame, was []word) bool {
	return newer.key == "replace" && len(newer.slot("with")) > 0 && len(was) > 0 && equalWords(newer.slot(""), was)
}

// insteadOf reports whether the new statement is "P is X instead of Y" and the old one
// "P is Y".
func (p *pair) insteadOf() bool {
	for i := range p.b {
		if p.b[i].norm != "instead-of" {
			continue
		}
		gone := p.b[i+1:]
		at := len(p.a) - len(gone)
		return len(gone) > 0 && at > 0 && i > at && equalWords(p.a[at:], gone) && equalWords(p.a[:at], p.b[:at])
	}
	return false
}

// extras reports whether the other slots of the two frames do not restrict the change.
// Phrases that say when, as what or why do not, nor does with whom or for what a person moved somewhere.
func extras(older, newer *frame, was, to slot, common aspect) bool {
	free := func(f *frame, except slot, other *frame) bool {
		for _, s := range f.slots {
			if s.prep == "" && f == older && len(newer.slot("from")) > 0 {
				continue // the thing stored there, if the old place is named
			}
			if s.prep == except.prep || s.prep == "from" || s.prep == "because" || s.prep == "as" || s.prep == "when" {
				continue
			}
			if f == newer && common&(home|employment) != 0 && circumstances[s.prep] {
				continue
			}
			if len(s.words) > 0 && s.words[0].has(timely|number) && (s.prep == "in" || s.prep == "on" || s.prep == "at") {
				continue
			}
			if same := other.slot(s.prep); len(same) > 0 && equalWords(same, s.words) {
				continue
			}
			return false
		}
		return true
	}
	return free(older, was, newer) && free(newer, to, older)
}

// circumstances holds prepositions of what is said beside the place to which a person moved.
var circumstances = analysis.Set("for with near by because-of since after close-to")

func endsWith(words, end []word) bool {
	return len(words) >= len(end) && equalWords(words[len(words)-len(end):], end)
}

// company reports whether words are probably the name of an employer.
func company(words []word) bool {
	if len(words) == 0 || len(words) > maxValue || words[0].has(article|definite) || shapeOf(words) != namedValue {
		return false
	}
	switch words[len(words)-1].norm {
	case "team", "project", "call", "meeting", "channel", "group", "club", "board", "committee", "party", "union", "zoom", "chapter", "squad":
		return false
	}
	kind := kindOf(words)
	return kind == 0 || kind == kinds()["google"]
}

// isRole reports whether words name an occupation with an article: "a teacher", "a
// senior engineer". A person has one occupation, but may be a teacher and a
// vegetarian.
func isRole(words []word) bool {
	return isOccupation(words) && words[0].has(article)
}

func isOccupation(words []word) bool {
	return len(words) > 0 && len(words) <= 3 && shapeOf(words) == plainValue && !words[0].has(negates|counts) && occupations()[words[len(words)-1].norm]
}

// unnamed removes the name of the attribute from a value: "port 9443" becomes "9443".
func unnamed(words []word) []word {
	if len(words) > 1 && words[0].has(functional) {
		return words[1:]
	}
	return words
}
