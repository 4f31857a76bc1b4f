package reading

import "slices"

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
