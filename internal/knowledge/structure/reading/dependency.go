package reading

import "strings"

// dependencies finds what the text says about how things stand to each other.
func (r *reader) dependencies(primary *found) []Dependency {
	var out []Dependency
	for from := r.body; from < len(r.words); {
		to := r.end(from)
		if r.words[to-1].stop != '?' {
			out = r.related(out, from, to, primary)
		}
		from = to
	}
	return out
}

// related appends the dependencies of the sentence words[from:to].
func (r *reader) related(out []Dependency, from, to int, primary *found) []Dependency {
	var lasts []found
	var last found // the source before, for a verb without a subject of its own
	begin := from
	for i := from; i < to; i++ {
		w := &r.words[i]
		// What lies before begin is a target already, though it may read as a verb: "uses calls redis".
		if i < begin || !w.entry.is(relating) || w.quoted || w.aside || w.code || w.path {
			continue
		}
		p := r.relation(i, to)
		if p == nil || !r.stands(p, from, i) || r.at(i) != nil {
			continue
		}
		clause := max(begin, r.clause(from, i))
		if r.has(max(clause, i-4), i, negative) || r.before(clause, i, "if") || r.before(clause, i, "whether") || r.before(max(clause, i-3), i, "longer") ||
			r.is(i-1, "used") || r.is(i-1, "to") && r.is(i-2, "used") || r.has(max(clause, i-3), i, past) && !p.passive {
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
			} else if f := r.made(i); f.Name != "" {
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
		if r.has(clause, i, hedge) || r.before(clause, i, "trying") || r.before(clause, i, "planning") || r.before(clause, i, "considering") {
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

// members adds to the source before the phrase at word i the other members of its
// list: "Payments, the ledger and invoices are owned by …".
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

// link appends one dependency, unless it says nothing: a thing of itself, or a person
// who uses something.
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
		r.voice == person && (a.weak || b.weak):
		return out
	case p.typ == OwnedBy && (b.weak || b.Type != Person && b.Type != Unknown):
		return out
	}
	d := Dependency{Source: a.Name, Type: p.typ, Target: b.Name, Strength: strength}
	for i := range out {
		if o := &out[i]; o.Source == d.Source && o.Type == d.Type && o.Target == d.Target {
			o.Strength = max(o.Strength, d.Strength)
			return out
		}
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
	for i < to {
		j := i
		determined := false
		for j < to && r.at(j) == nil && (r.words[j].entry.is(determiner|adjective) || r.words[j].low == "both") && (j == i || !r.words[j].broken) {
			determined = determined || r.words[j].entry.is(determiner)
			j++
		}
		if j == i && len(out) > 0 && j+1 < to && r.words[j].low == p.words[len(p.words)-1] { // "on pricing and on identity"
			i++
			continue
		}
		if j >= to || j > i && r.words[j].broken {
			break
		}
		var f found
		if m := r.at(j); m != nil {
			f = *m
		} else if m := r.headed(j, to); m != nil { // "port search", where search is a name
			f = *m
		} else if determined && (len(out) == 0 || !r.words[i].broken) {
			f = r.definite(j, to)
		}
		if f.Name == "" {
			break
		}
		out = append(out, f)
		end = f.to
		i = f.to
		for i < to && number(r.words[i].name) && !r.words[i].broken {
			i++
		}
		switch {
		case i < to && !r.words[i].broken && (r.words[i].low == "and" || r.words[i].low == "or"):
			i++
		case i < to && r.words[i-1].stop == ',' && (r.at(i) != nil || r.words[i].low == "and" || r.words[i].low == "the" || r.words[i].low == p.words[len(p.words)-1]):
			if r.words[i].low == "and" {
				i++
			}
		default:
			return out, end
		}
	}
	return out, end
}

// headed is the name that the noun phrase at word j ends with.
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

// definite is the thing behind an article: "the ledger". What is common, or has a
// piece behind it ("the size of"), is none.
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

// source finds what the verb at i is said of.
func (r *reader) source(begin, i, sentence, end, to int, last, primary *found) found {
	at := begin
	for j := i - 1; j > begin; j-- {
		switch w := &r.words[j]; {
		case w.low == "and" || w.low == "but" || w.low == "while" || w.low == "because" || w.low == "since" || w.low == "so":
			if j+1 < i {
				at = j + 1
			} else if last.Name != "" {
				return *last
			}
		case w.broken:
			at = j
		default:
			continue
		}
		break
	}
	for at < i && r.words[at].entry.is(function) && !r.words[at].entry.is(determiner|first|plural|neuter|third) && r.at(at) == nil &&
		r.words[at].low != "which" && r.words[at].low != "that" && r.words[at].low != "who" {
		at++
	}
	w := &r.words[at]
	switch {
	case at == i:
		if last.Name != "" {
			return *last
		}
		return r.nearest(sentence, i)
	case r.at(at) != nil:
	case w.low == "which" || w.low == "who" || w.low == "that" && r.is(at+1, r.words[i].low) || w.low == "that" && w.broken && at > sentence:
		return r.nearest(0, at)
	case w.entry.is(neuter) && !w.entry.is(determiner) || w.low == "they":
		if primary.Type == Person || primary.weak && primary.Confidence < ByObject {
			return found{}
		}
		return *primary
	case w.entry.is(first | plural):
		if w.entry.is(determiner) {
			break
		}
		return r.purpose(end, to)
	}
	for k := range r.found {
		if f := &r.found[k]; f.from >= at && f.to <= i {
			if f.to < len(r.words) && r.words[f.to-1].possessive { // payments' mailer uses …
				continue
			}
			return *f
		}
	}
	if at < i && r.words[at].entry.is(determiner) && at+1 < i {
		if sub, f := r.nouns(at+1, i); sub == thing && f.Confidence >= BySubject && f.to-f.from <= 2 {
			return f
		}
	}
	return found{}
}

// nearest is the last name in words[from:to], or the noun behind an article.
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

// purpose is what somebody uses something for: "I use Redis in the payments
// service"; else the project.
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
