package reading

import (
	"slices"
	"strings"
	"sync"
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
	w := &r.words[j]
	switch {
	case p.passive:
		if r.is(j, "is", "are", "be", "i'm", "we're", "it's", "am", "gets", "being", "been", "and", "which") {
			return true
		}
		// "the ledger, owned by Ada,": a participle right behind its noun
		f := r.at(j)
		if f != nil && p.words[0] == "using" { // "my contact form using Formspree"
			return f.to == j+1 && (f.Type == System || f.Type == Project)
		}
		if p.words[0] == "using" {
			return r.builtThing(i).Name != ""
		}
		return f != nil && !f.weak && f.to == j+1 && p.words[len(p.words)-1] != "using" && len(p.words) > 1
	case p.infinite:
		switch w.low {
		case "to":
			return r.words[i].low == "use" || r.words[i].low == "stay"
		case "must", "should", "will", "shall", "may", "might", "can", "could", "would", "and", "do":
			return true
		}
		return w.entry.is(plural|first) && !w.entry.is(determiner) || w.name != "" && !w.entry.is(function) && r.endsList(from, j) || strings.HasSuffix(w.low, "s") && !w.entry.is(function) || w.low == "they" || w.low == "which"
	}
	return !w.entry.is(determiner|preposition|adjective) || w.low == "that" || w.low == "this" || w.low == "it"
}

// General is the aspect of claims that fit no other aspect.
const General = "general"

// aspects holds the aspects that rules assign, with the words that hint at each, in all their
// forms. A word hints at one aspect. Of aspects with equally many hints the first one wins.
var aspects = []struct{ name, cues string }{
	{"security", `security secure secret secrets credential credentials password passwords encrypt encrypted encryption tls ssl auth authentication authorization authorize authorized permission permissions token tokens vulnerability
		csrf xss oauth jwt rbac audit sandbox sandboxed privilege privileges trust trusted untrusted firewall cve login lockout hashing bcrypt`},
	{"deployment", `deploy deploys deployed deploying deployment deployments release releases released rollout rollback ship ships shipped staging production prod hosted hosting docker kubernetes k8s helm netlify heroku vercel render
		ci cd pipeline workflow container containers terraform gunicorn nginx cluster region uptime publish published`},
	{"testing", `test tests tested testing pytest jest coverage e2e fixture fixtures qa lint eslint flaky mock mocks cypress playwright regression verifier verify verified eval evals assertion`},
	{"storage", `database databases db postgres postgresql mysql sqlite redis mongodb s3 schema table tables column columns migration migrations index indexes storage store stores stored persist persists persisted persistence bucket backup backups
		cache cached caching transaction transactions sql orm sqlalchemy disk localstorage snapshot snapshots checkpoint checkpointer`},
	{"performance", `performance latency fast faster slow slower throughput speed timeout timeouts memory cpu load ms milliseconds p95 p99 optimize optimized optimization lazy lighthouse benchmark bottleneck scale scaling overhead`},
	{"ownership", `owner owners owned owns maintainer maintainers maintained maintains responsible team teams belongs reviewer reviewers stakeholder oncall`},
	{"schedule", `deadline deadlines schedule scheduled sprint sprints milestone milestones timeline meeting meetings due tomorrow friday fridays monday tuesday wednesday thursday week weeks month months calendar roadmap january february march april
		june july august september october november december plan planned planning appointment yesterday weekend`},
	{"api", `api apis endpoint endpoints rest restful graphql grpc http request requests response responses webhook webhooks route routes url json payload status header headers client rpc protocol`},
	{"dependencies", `depend depends dependency dependencies dependent require requires required library libraries package packages version versions upgrade upgraded npm pip import imports plugin plugins framework install installed pinned`},
	{"configuration", `config configs configuration configure configured setting settings flag flags env environment variable variables yaml toml option options default defaults enable enabled disable disabled port parameter parameters key keys override`},
	{"errors", `error errors bug bugs fail fails failed failure failures crash crashes crashed exception exceptions broken issue issues debug debugging fix fixed retry retries leak warning incident outage`},
	{"monitoring", `monitor monitoring metrics metric log logs logged logging alert alerts trace traces tracing observability dashboard telemetry prometheus grafana sentry`},
	{"interface", `ui ux frontend css html layout button navbar page pages panel component components responsive accessibility aria modal card render rendered renders rail tab tabs console view views design theme mobile desktop screen bootstrap widget form`},
	{"architecture", `architecture module modules layer layers service services design pattern patterns adr decision component subsystem interface contract abstraction boundary registry refactor modular runtime subprocess process processes thread lifecycle surface`},
	{"data", `data dataset datasets record records field fields csv format encoding hours corpus annotation import export`},
	{"preferences", `prefer prefers preferred preference favorite favourite favorites like likes love loves hate hates enjoy enjoys fan always never dislike style passionate obsessed fave adore`},
	{"relationships", `family mom mum mother dad father parents sister brother son daughter kids kid children child husband wife partner boyfriend girlfriend friend friends friendship married marriage wedding grandma
		grandmother grandpa aunt uncle cousin niece nephew fam neighbor neighbors neighbour date relationship colleague colleagues bond`},
	{"pets", `pet pets dog dogs cat cats puppy kitten turtle turtles guinea pig snake snakes hamster fish tank vet rabbit bunny seraphim luna oliver bailey`},
	{"work", `job work works worked working career boss company office business client clients colleague interview promotion internship project projects engineer manager salary hired startup presentation volunteer volunteering counseling
		writing script scripts screenplay novel book books publish published studio audition movie`},
	{"education", `school college university class classes course courses degree study studies studying studied student teacher exam learn learned learning workshop graduate graduation concept probability triangle formula theorem practice practicing problems quiz`},
	{"health", `health healthy doctor hospital sick illness pain injury injured therapy therapist mental anxiety stress stressed diet exercise workout gym yoga meditation meditate sleep surgery medication running run allergy allergic allergies
		wellbeing recovery self-care destress breathing mindfulness`},
	{"travel", `travel traveled travelling traveling trip trips vacation flight flew visit visited hotel beach country city mountains hike hiking camping camped tour passport park roadtrip italy paris rome abroad moved`},
	{"hobbies", `hobby hobbies paint painting paintings painted art pottery music guitar piano violin sing singing dance dancing game games gaming tournament tournaments play plays played played video reading read garden gardening photography photo photos
		movies film films concert cooking cook cooked baking bake baked recipe recipes ice cream dessert desserts cake sport sports basketball surfing craft creative creativity drawing knitting pictures song songs sunset`},
	{"feelings", `feel feeling feels felt happy sad proud excited grateful thankful inspired inspiring joy hope love peace peaceful calm comfort comforting lonely confidence confident courage acceptance support supportive emotional tough memories memory
		appreciate appreciated heart amazing awesome beautiful`},
	{"home", `home house apartment room garden kitchen furniture bedroom rent neighborhood neighbourhood bookshelf couch cozy decor`},
	{"finance", `money budget price cost costs pay paid payment payments salary expense expenses savings bank invoice income loan`},
	{"events", `party event events festival parade ceremony celebration birthday holiday anniversary conference meetup fundraiser race pride christmas`},
	{"identity", `transgender lgbtq gender identity religion faith church born nationality name age years transition`},
	{"status", `progress completed complete blocked done finished started open closed pending stuck achieved improved`},
	{"documentation", `documentation docs document documents readme guide wiki markdown docstring comment comments`},
}

// suggested holds the aspects that things of a type usually have, the most typical
// first.
var suggested = map[Type][]string{
	Person: {"preferences", "relationships", "work", "health", "travel", "hobbies", "education", "feelings", "home", "pets", "finance", "events", "identity", "schedule"},
	Project: {"architecture", "deployment", "testing", "storage", "security", "performance", "ownership", "schedule", "api", "dependencies", "configuration", "interface", "documentation", "errors",
		"monitoring", "data", "status"},
	System:  {"deployment", "storage", "testing", "security", "performance", "ownership", "schedule", "api", "dependencies", "configuration", "errors", "monitoring", "interface", "architecture", "data"},
	Tool:    {"configuration", "dependencies", "performance", "api", "errors", "deployment", "testing", "security", "documentation"},
	Concept: {"architecture", "education", "data", "security", "testing", "performance", "ownership", "documentation"},
	Skill:   {"configuration", "dependencies", "testing", "errors", "documentation", "ownership"},
	Task:    {"status", "schedule", "ownership", "dependencies", "testing", "errors"},
	Unknown: {"architecture", "deployment", "storage", "security", "api", "configuration", "schedule", "ownership", "preferences", "work"},
}

// SuggestedAspects returns the aspects that things of a type usually have, the most
// typical first, General last. Rules choose among all aspects and prefer these; a
// model is shown only these. An unknown type has those of Unknown. The caller owns the
// slice.
func SuggestedAspects(t Type) []string {
	list, ok := suggested[t]
	if !ok {
		list = suggested[Unknown]
	}
	return append(slices.Clone(list), General)
}

// suits holds, for each type, which aspects are suggested for it.
var suits = func() map[Type]*[64]bool {
	m := map[Type]*[64]bool{}
	for t, list := range suggested {
		m[t] = new([64]bool)
		for i, a := range aspects {
			m[t][i+1] = slices.Contains(list, a.name)
		}
	}
	return m
}()

// weakCues count half as hints: they are also in texts about other aspects.
const weakCues = `audit container containers key keys issue issues debug production hours read check run runs service services process release keep plan memory fields record records like week weeks month months job works name date page view views
	change trust working delivered table tables client clients default header port version versions parameter package publish published`

// private holds the aspects of a person's life, under which no rule for a thing is filed.
var private = func() (out [64]bool) {
	for i, a := range aspects {
		switch a.name {
		case "preferences", "relationships", "pets", "work", "education", "health", "travel", "hobbies", "feelings", "home", "events", "identity":
			out[i+1] = true
		}
	}
	return out
}()

// aspect returns the aspect that most words of the text hint at. A hint at an aspect
// that suits the primary's type counts twice, so that a person's "class" is education
// and a project's is not. Private aspects are excluded for a rule and for a thing;
// thing says that the primary is one.
func (r *reader) aspect(t Type, thing bool) string {
	fits := suits[t]
	if fits == nil {
		fits = suits[Unknown]
	}
	thing = (thing || r.rule || t == System || t == Tool || t == Project) && t != Person && r.voice == nobody && !r.has(r.body, len(r.words), first|plural)
	var votes [64]int
	best := 0
	for i := range r.words {
		w := &r.words[i]
		a := w.entry.aspect
		if a == 0 {
			continue
		}
		n := 2
		if w.entry.is(weakCue) {
			n = 1
		}
		if fits[a] {
			n *= 2
		}
		if w.aside || thing && private[a] {
			n = 0
		}
		votes[a] += n
		if v := votes[a]; v > votes[best] || v == votes[best] && v > 0 && int(a) < best {
			best = int(a)
		}
	}
	if best == 0 || votes[best] == 0 {
		return General
	}
	return aspects[best-1].name
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
		if i < begin || !w.entry.is(relating) || w.quoted || w.aside || w.code || w.path {
			continue
		}
		p := r.relation(i, to)
		if p == nil || !r.allowsVerb(p, from, i) || r.at(i) != nil {
			continue
		}
		clause := max(begin, r.clause(from, i))
		if r.has(max(clause, i-4), i, negative) || r.anyOf(clause, i, "if", "whether") || r.anyOf(max(clause, i-3), i, "longer") ||
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
	for k := range r.found { // but not payments in "payments' mailer uses …"
		if f := &r.found[k]; f.from >= at && f.to <= i && (f.to == len(r.words) || !r.words[f.to-1].possessive) {
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
