package reading

import (
	"slices"
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
)

// relation is a phrase that relates the thing before it to the thing after it.
type relation struct {
	words    []string
	typ      string
	strength float64
	reversed bool // the thing after it is the source
	passive  bool // a participle: requires is, are or which before it
	infinite bool // a base form: requires we, a modal or a plural before it
	within   string
}

// relations holds the phrases by their first word, the longer ones first. strength is the
// share of the source that fails with the target: all of it for a requirement, less for a
// thing that can be replaced. The numbers are chosen, not measured.
var relations = sync.OnceValue(func() map[string][]relation {
	m := map[string][]relation{}
	add := func(typ string, strength float64, reversed, passive, infinite bool, phrases string) {
		for p := range strings.SplitSeq(phrases, ",") {
			r := relation{words: strings.Fields(p), typ: typ, strength: strength, reversed: reversed, passive: passive, infinite: infinite}
			m[r.words[0]] = append(m[r.words[0]], r)
		}
	}
	add(Requires, 0.9, false, false, false, "depends on,depends upon,requires")
	add(Requires, 0.9, false, false, true, "depend on,require")
	add(Requires, 0.8, false, false, false, "needs,relies on,builds on")
	add(Requires, 0.8, false, false, true, "need,rely on,build on")
	add(Requires, 0.8, false, true, false, "built on top of,built on,dependent on")
	add(Requires, 0.7, false, true, false, "based on")
	add(Requires, 0.9, true, true, false, "required by")
	add(Requires, 0.8, true, true, false, "needed by")
	add(Uses, 0.6, false, false, false, "uses,runs on,talks to,calls,imports,reads from,writes to,connects to,queries,integrates with,wraps,persists to,stays on")
	add(Uses, 0.6, false, false, true, "use,run on,talk to,call,import,read from,write to,connect to,query,integrate with,persist to,stay on")
	add(Uses, 0.6, false, true, false, "using,running on,talking to,hosted on,deployed on,deployed to,built with,powered by,written in,backed by,stored in,kept in,implemented in,connected to,sent through,sent via,routed through,fed from,read from,cached in,hosted in")
	add(Uses, 0.6, true, true, false, "used by,called by,imported by")
	add(OwnedBy, 0.9, false, true, false, "owned by,maintained by")
	add(OwnedBy, 0.8, false, false, false, "belongs to")
	add(OwnedBy, 0.8, false, false, true, "belong to")
	add(OwnedBy, 0.7, false, true, false, "managed by")
	add(OwnedBy, 0.9, true, false, false, "owns")
	add(OwnedBy, 0.8, true, false, false, "maintains")
	add(OwnedBy, 0.8, true, true, false, "responsible for")
	add(Blocks, 0.8, false, false, false, "blocks")
	add(Blocks, 0.8, false, true, false, "blocking")
	add(Blocks, 0.8, true, true, false, "blocked by,blocked on")
	add(Blocks, 0.7, true, false, false, "waits for,waits on")
	add(Blocks, 0.7, true, true, false, "waiting for,waiting on")
	add(Informs, 0.6, false, false, false, "feeds into,feeds,publishes to,notifies,informs,sends events to,emits events to,streams to,reports to")
	add(Informs, 0.6, true, true, false, "fed by,notified by,informed by,triggered by")
	add(Informs, 0.6, true, false, false, "subscribes to,listens to,consumes from")
	add(Informs, 0.6, true, false, true, "subscribe to,listen to,consume from")
	add(Informs, 0.6, false, false, true, "publish to,feed into,report to")
	add(Uses, 0.6, false, false, false, "goes through,authenticates with,authenticates against,delegates to,writes into,forwards to,proxies to")
	for _, l := range [...]struct{ verbs, typ, within string }{
		{"stores keeps persists saves caches archives", Uses, "in"},
		{"consumes reads receives gets fetches loads pulls takes", Uses, "from"},
		{"sends writes publishes pushes emits", Informs, "to"},
	} {
		for verb := range strings.FieldsSeq(l.verbs) {
			m[verb] = append(m[verb], relation{words: []string{verb}, typ: l.typ, strength: 0.6, within: l.within})
		}
	}
	return m
})

// builtThing returns the thing right before "using" at i, as in "a budget tracker using
// Flask": a noun phrase of an article and two words.
func (r *reader) builtThing(i int) found {
	if i < 2 || r.words[i].broken || r.words[i-1].possessive || r.words[i-1].name == "" || r.words[i-1].entry.is(function|calendar) {
		return found{}
	}
	if r.is(i-1, "problem", "problems", "issue", "issues", "error", "errors", "question", "bug") { // examined with it, and not made of it
		return found{}
	}
	from, _ := r.phrase(i - 1)
	at := from
	for at > 0 && r.words[at-1].entry.is(adjective) {
		at--
	}
	name := r.join(from, i)
	if i-from < 2 || name == "" || at == 0 || !r.words[at-1].entry.is(determiner) {
		return found{}
	}
	return found{Mention: Mention{Name: name, Display: r.display(from, i), Type: System, Confidence: ByObject}, from: from, to: i, weak: true}
}

// relation returns the relation phrase at word i, nil for none.
func (r *reader) relation(i, to int) *relation {
	list := relations()[r.words[i].low]
	for k := range list {
		p := &list[k]
		if i+len(p.words) > to {
			continue
		}
		if !r.some(i+1, i+len(p.words), func(j int) bool { return r.words[j].low != p.words[j-i] || r.words[j].broken }) {
			return p
		}
	}
	return nil
}

// endsList reports whether word j is the end of a list: "tracking and Dock".
func (r *reader) endsList(from, j int) bool {
	for k := j - 1; k > from && k >= j-4 && !r.words[k+1].broken; k-- {
		if r.words[k].low == "and" {
			return true
		}
	}
	return false
}

// allowsVerb reports whether the words before i allow the phrase to be a verb.
func (r *reader) allowsVerb(p *relation, from, i int) bool {
	j := i - 1
	for j >= from && (r.is(j, "also", "only", "currently", "now", "already", "still", "heavily", "mainly", "therefore", "always") ||
		r.words[j].entry.is(hedge) && !r.words[j].entry.is(auxiliary)) {
		j--
	}
	if j < from {
		return false
	}
	switch w := &r.words[j]; {
	case p.passive:
		return r.allowsParticiple(p, i, j)
	case p.infinite:
		return r.allowsBaseForm(from, i, j)
	default:
		return !w.entry.is(determiner|preposition|adjective) || w.low == "that" || w.low == "this" || w.low == "it"
	}
}

// allowsParticiple reports whether word j allows a participle at i: it is "is", or the noun in "the ledger, owned by Ada,".
func (r *reader) allowsParticiple(p *relation, i, j int) bool {
	if r.is(j, "is", "are", "be", "i'm", "we're", "it's", "am", "gets", "being", "been", "and", "which") {
		return true
	}
	f := r.at(j)
	switch {
	case p.words[0] != "using":
		return f != nil && !f.weak && f.to == j+1 && len(p.words) > 1
	case f != nil: // "my contact form using Formspree"
		return f.to == j+1 && (f.Type == System || f.Type == Project)
	}
	return r.builtThing(i).Name != ""
}

// allowsBaseForm reports whether the phrase at i is a verb after word j: after a modal verb, "we" or a plural.
func (r *reader) allowsBaseForm(from, i, j int) bool {
	w := &r.words[j]
	switch w.low {
	case "to":
		return r.is(i, "use", "stay")
	case "must", "should", "will", "shall", "may", "might", "can", "could", "would", "and", "do", "they", "which":
		return true
	}
	if w.entry.is(plural|first) && !w.entry.is(determiner) {
		return true
	}
	return !w.entry.is(function) && (strings.HasSuffix(w.low, "s") || w.name != "" && r.endsList(from, j))
}

// dependencies returns the relations between things that the text states.
func (r *reader) dependencies(primary *found) []Dependency {
	var out []Dependency
	for from, to := range r.statements() {
		out = r.related(out, from, to, primary)
	}
	return out
}

// related appends the dependencies in the sentence words[from:to].
func (r *reader) related(out []Dependency, from, to int, primary *found) []Dependency {
	var lasts []found
	var last found // the previous source, for a verb without a subject
	begin := from
	for i := from; i < to; i++ {
		w := &r.words[i]
		// The words before begin are a target already, even if one looks like a verb:
		// "uses calls redis".
		if i < begin || !w.entry.is(relating) || !w.plain() {
			continue
		}
		p := r.relation(i, to)
		if p == nil || !r.allowsVerb(p, from, i) || r.at(i) != nil {
			continue
		}
		clause := max(begin, r.clause(from, i))
		if r.denies(clause, i) || r.has(max(clause, i-3), i, past) && !p.passive {
			continue
		}
		targets, end := r.targets(r.behind(i, to, p), to, p)
		if len(targets) == 0 {
			continue
		}
		source := r.source(begin, i, from, end, to, &last, primary)
		if p.words[0] == "using" && i > from {
			if f := r.at(i - 1); f != nil {
				source = *f
			} else if f := r.builtThing(i); f.Name != "" {
				if source = f; targets[0].weak {
					continue
				}
			}
		}
		if source.Name == "" {
			continue
		}
		sources := []found{source}
		if source.Name != last.Name || source.from != last.from {
			sources = r.members(from, i, sources, p)
			lasts = sources
		} else if len(lasts) > 0 {
			sources = lasts
		}
		last = source
		strength := p.strength
		if r.has(clause, i, hedge) || r.anyOf(clause, i, "trying", "planning", "considering") {
			strength /= 2
		}
		for k := range sources {
			for _, t := range targets {
				out = r.link(out, p, &sources[k], &t, strength)
			}
		}
		begin = end
	}
	return out
}

// denies reports whether a clause takes back what the verb at i says: "doesn't use", "used to call", "if it needs".
func (r *reader) denies(clause, i int) bool {
	return r.has(max(clause, i-4), i, negative) || r.anyOf(clause, i, "if", "whether") || r.anyOf(max(clause, i-3), i, "longer") ||
		r.is(i-1, "used") || r.is(i-1, "to") && r.is(i-2, "used")
}

// members adds the other members of a list to the source before the phrase at word i:
// "Payments, the ledger and invoices are owned by …".
func (r *reader) members(from, i int, sources []found, p *relation) []found {
	if f := &sources[0]; f.to > i || f.to < i-3 || !p.infinite && !(p.passive && (r.is(i-1, "are") || r.is(i-2, "are"))) {
		return sources
	}
	for len(sources) < MaxDependencies {
		at := r.joint(from, sources[len(sources)-1].from)
		if at <= from {
			break
		}
		f := r.at(at - 1)
		if f == nil || f.weak || f.from < from {
			break
		}
		sources = append(sources, *f)
	}
	return sources
}

// link appends one dependency, unless it has no meaning: one of a thing on itself, or
// of a person who uses something.
func (r *reader) link(out []Dependency, p *relation, source, target *found, strength float64) []Dependency {
	a, b := source, target
	if p.reversed {
		a, b = b, a
	}
	switch {
	case canonical(a.Name) != a.Name || canonical(b.Name) != b.Name,
		a.Name == b.Name || a.Name == "" || b.Name == "" || len(out) == MaxDependencies,
		a.Name == "user" || b.Name == "user",
		a.Type == Person && p.typ != Informs && p.typ != Blocks,
		p.typ != OwnedBy && p.typ != Informs && b.Type == Person,
		p.typ == OwnedBy && (b.weak || b.Type != Person && b.Type != Unknown),
		r.voice == person && (a.weak || b.weak):
		return out
	}
	d := Dependency{Source: a.Name, Type: p.typ, Target: b.Name, Strength: strength}
	if i := slices.IndexFunc(out, func(o Dependency) bool { return o.Source == d.Source && o.Type == d.Type && o.Target == d.Target }); i >= 0 {
		out[i].Strength = max(out[i].Strength, d.Strength)
		return out
	}
	for _, f := range [...]*found{source, target} { // a thing that something depends on is worth naming
		if f.weak && f.from < f.to && r.at(f.from) == nil {
			g := *f
			g.weak = false
			r.insert(g)
		}
	}
	return append(out, d)
}

// targets reads the noun phrases at i: "the ledger and the mailer".
func (r *reader) targets(i, to int, p *relation) (out []found, end int) {
	prep := p.last()
	for i < to {
		j := r.afterDeterminers(i, to, "both")
		if j == i && len(out) > 0 && j+1 < to && r.words[j].low == prep { // "on pricing and on identity"
			i++
			continue
		}
		if j >= to || j > i && r.words[j].broken {
			break
		}
		f := r.target(j, to, r.has(i, j, determiner) && (len(out) == 0 || !r.words[i].broken))
		if f.Name == "" {
			break
		}
		out, end = append(out, f), f.to
		if i = r.afterNumbers(end, to); i >= to {
			break
		}
		comma := r.words[i-1].stop == ','
		switch {
		case r.is(i, "and") && (comma || !r.words[i].broken), r.is(i, "or") && !r.words[i].broken:
			i++
		case comma && (r.at(i) != nil || r.is(i, "the", prep)):
		default:
			return out, end
		}
	}
	return out, end
}

// target returns the thing at word j, after its article. defined reports whether it has one that makes it a name.
func (r *reader) target(j, to int, defined bool) found {
	if f := r.at(j); f != nil {
		return *f
	}
	if f := r.headed(j, to); f != nil { // "port search", where search is a name
		return *f
	}
	if defined {
		return r.definite(j, to)
	}
	return found{}
}

// headed returns the name at the end of the noun phrase at word j.
func (r *reader) headed(j, to int) *found {
	for k := j; k < to && k < j+2 && nominal(&r.words[k], true); k++ {
		if k+1 >= to || r.words[k+1].broken {
			return nil
		}
		if f := r.at(k + 1); f != nil {
			return f
		}
	}
	return nil
}

// definite returns the thing after an article: "the ledger". A common word, and one
// with "of" after it ("the size of"), is none.
func (r *reader) definite(j, to int) found {
	low := r.words[j-1].low
	if low != "the" && low != "our" && low != "its" {
		return found{}
	}
	sub, f := r.nouns(j, to)
	if sub != thing || f.Confidence < BySubject || f.to-f.from > 2 || f.to < to && !r.words[f.to].broken && r.words[f.to].low == "of" {
		return found{}
	}
	f.Confidence = ByObject
	return f
}

// source returns the subject of the verb at i.
func (r *reader) source(begin, i, sentence, end, to int, last, primary *found) found {
	at, j := begin, i-1
	for j > begin && !r.words[j].broken && !joins[r.words[j].low] {
		j--
	}
	switch {
	case j <= begin:
	case !joins[r.words[j].low]:
		at = j
	case j+1 < i:
		at = j + 1
	case last.Name != "": // "… and uses"
		return *last
	}
	for at < i && !r.beginsSubject(at) {
		at++
	}
	switch w := &r.words[at]; {
	case at == i:
		if last.Name != "" {
			return *last
		}
		return r.nearest(sentence, i)
	case r.at(at) != nil:
	case r.isRelative(sentence, at, i):
		return r.nearest(0, at)
	case w.entry.is(neuter) && !w.entry.is(determiner) || w.low == "they":
		if primary.Type == Person || primary.weak && primary.Confidence < ByObject {
			return found{}
		}
		return *primary
	case w.entry.is(first|plural) && !w.entry.is(determiner):
		return r.purpose(end, to)
	}
	return r.sourceIn(at, i)
}

// joins are words that join a clause to the one before.
var joins = analysis.Set("and but while because since so")

// beginsSubject reports whether the subject of a clause can begin at word i. Function words before it don't.
func (r *reader) beginsSubject(i int) bool {
	e := r.words[i].entry
	return !e.is(function) || e.is(determiner|first|plural|neuter|third) || r.at(i) != nil || r.is(i, "which", "that", "who")
}

// isRelative reports whether word at is a relative pronoun before the verb at i: "the ledger, which uses".
func (r *reader) isRelative(sentence, at, i int) bool {
	if r.is(at, "that") {
		return r.is(at+1, r.words[i].low) || r.words[at].broken && at > sentence
	}
	return r.is(at, "which", "who")
}

// sourceIn returns the subject within words[at:i]: a name, or the noun after an article.
func (r *reader) sourceIn(at, i int) found {
	for k := range r.found { // but not payments in "payments' mailer uses …"
		if f := &r.found[k]; f.from >= at && f.to <= i && (f.to == len(r.words) || !r.words[f.to-1].possessive) {
			return *f
		}
	}
	if at+1 < i && r.words[at].entry.is(determiner) {
		if sub, f := r.nouns(at+1, i); sub == thing && f.Confidence >= BySubject && f.to-f.from <= 2 {
			return f
		}
	}
	return found{}
}

// nearest returns the last name in words[from:to], or the noun after an article.
func (r *reader) nearest(from, to int) found {
	for k := len(r.found) - 1; k >= 0; k-- {
		if f := &r.found[k]; f.from >= from && f.to <= to && f.to >= to-2 {
			return *f
		}
	}
	for j := to - 1; j > from && j >= to-3; j-- {
		if r.words[j-1].low == "the" {
			if sub, f := r.nouns(j, to); sub == thing && f.Confidence >= BySubject {
				f.Confidence = ByObject
				return f
			}
		}
	}
	return found{}
}

// purpose returns the thing that something is used for, as in "I use Redis in the
// payments service", or else the project.
func (r *reader) purpose(end, to int) found {
	for j := end; j+1 < to && j < end+12; j++ {
		if low := r.words[j].low; low != "for" && low != "in" && low != "on" {
			continue
		}
		k := j + 1
		for k < to && r.words[k].entry.is(determiner|adjective) && r.at(k) == nil {
			k++
		}
		if k >= to || k == j+1 {
			continue
		}
		if f := r.at(k); f != nil && (f.Type == Project || f.Type == System && !strings.Contains(f.Name, "/")) {
			return *f
		}
	}
	return r.project()
}
