package consolidate

import (
	"strings"
	"sync"

	"github.com/kenlayer/ken/internal/analysis"
)

// entry is the normal form and the traits of a spelling.
type entry struct {
	norm string
	is   trait
}

// lexicon holds every spelling that the rules name.
var lexicon = sync.OnceValue(func() map[string]entry {
	m := map[string]entry{}
	conjugate(m)
	for _, l := range lists {
		for w := range strings.FieldsSeq(l.words) {
			e := m[w]
			if e.norm == "" {
				e.norm = w
			}
			e.is |= l.is
			m[w] = e
		}
	}
	for line := range strings.Lines(spellings) {
		norm, others, _ := strings.Cut(strings.TrimSpace(line), " ")
		for w := range strings.FieldsSeq(others) {
			e := m[w]
			e.norm, e.is = norm, e.is|m[norm].is
			m[w] = e
		}
	}
	m["golang"] = entry{"go", name}
	return m
})

// lists gives words their traits. A word may be in several lists.
var lists = []struct {
	is    trait
	words string
}{
	{negates | english, "not never without cannot neither nor none nobody nothing hardly rarely seldom barely"},
	{negates, "no"}, // Spanish and Italian as well
	{negates | foreign, `nicht kein keine keinen keiner keinem keines nie niemals ohne ne pas jamais sans aucun aucune nunca jamás sin
		ningún ninguna mai senza non nessun nessuna não nem sem nenhum niet geen nooit zonder не нет без ни никогда`},
	{limits | foreign, "nur außer wenn falls sauf seulement excepto solo sólo solamente salvo soltanto só apenas alleen behalve только кроме если"},
	{foreign, `der die das dem den des ein eine einen und ist sind wir ich mit für auf im vom zum zur auch le la les une du et est sont
		avec dans pour sur nous el los las un una y es son con por para en del il lo gli di che è sono per della delle nella
		o os um uma e é são com em het een van zijn voor met bij и в на с для это`},
	{english, "the a an is are was were has of and with for from that this these by at his her its their which who my our your uses does"},

	{modal, `will would shall should can could may might must ought able supposed allowed mandatory optional probably perhaps
		maybe possibly likely apparently planned plans expected intends intend hopes hope wants want considers consider considering`},
	{counts, `all every each any some many few several most both half almost nearly always usually often sometimes occasionally
		generally typically mostly mainly about around roughly approximately exactly more less fewer least than
		up over under first second third last next other another same single whole entire too enough once twice`},
	{limits, `only except unless until till if when whenever while before after during without but however although though whether
		otherwise despite per within among between against inside outside instead former formerly previously originally false wrong incorrect outdated
		obsolete deprecated assuming provided given where alone`},
	{prep, "in on at for with from to into onto of by about as via through using under over near behind since until during within per against between before after"},
	{adds, "because which who whose named called via through using by as since"},
	{joins, "and or nor"},
	{pronoun, "he she it they him her them his hers its their this that these those someone somebody you your"},
	{timely, `january february march april june july august september october november december monday tuesday wednesday thursday
		friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays today tomorrow yesterday tonight weekend
		weekday weekends weekdays morning mornings evening evenings noon midnight spring summer autumn winter am pm`},
	{unit, "second minute hour day week month year millisecond byte kilobyte megabyte gigabyte terabyte dollar euro percent kilometer % $ €"},
	{functional, `address employer version port owner maintainer manager boss lead deadline url endpoint hostname region zone timeout limit
		budget price cost salary size capacity threshold interval ttl username timezone licence title role status priority location currency
		height weight age nickname email phone number date branch command color password path prefix supervisor landlord level mode format quota rate count period locale`},
	{functional | fixed, "birthday birthdate birthplace"},
	{choice, "default favorite main primary preferred current official chosen canonical"},
	{generic, "service project repository application codebase environment company city country language library framework tool system cluster"},
	{filler, "also just still really very quite basically simply already currently presently now actually indeed however please anymore additionally though"},
}

// spellings lists words with the same meaning, a line each. The first word of a
// line is the normal form.
const spellings = `user i me myself
database db dbs
repository repo
production prod
configuration config
environment env
kubernetes k8s
postgresql postgres pg
javascript js
typescript ts
documentation docs
application app
directory dir folder
administrator admin
administrators admins
authentication authn
information info
mandatory obligatory
favorite favourite
color colour
licence license
email e-mail
maximum max
children kids
child kid
mother mom mum
father dad
movie film
movies films
apartment flat
january jan
february feb
march mar
april apr
june jun
july jul
august aug
september sep sept
october oct
november nov
december dec
monday mon
tuesday tue tues
wednesday wed
thursday thu thur thurs
friday fri
2 two
3 three
4 four
5 five
6 six
7 seven
8 eight
9 nine
10 ten
11 eleven
12 twelve
second s sec secs seconds
millisecond ms millis milliseconds
minute min mins minutes
hour h hr hrs hours
day days
week weeks
month months
year years
kilobyte kb kilobytes
megabyte mb megabytes
gigabyte gb gigabytes
terabyte tb terabytes
dollar dollars usd
euro euros eur
percent %
kilometer km kilometers kilometre kilometres
always invariably
everybody everyone
we us
`

// nouns removes the verb trait from words that look like verbs but are nouns. They
// follow an article or a genitive, precede "of" or another verb, or are a bare
// form after a singular, as in "the health check port is". They are compared as
// written.
func (t *text) nouns() {
	for i := range t.words {
		w := &t.words[i]
		if !w.has(verb) || w.has(be|finite) || w.norm == "have" || w.norm == "do" {
			continue
		}
		var prev, next *word
		if i > 0 {
			prev = &t.words[i-1]
		}
		if i+1 < len(t.words) {
			next = &t.words[i+1]
		}
		// "Ana's preferred shell", but "Ana's moved to Berlin".
		owned := prev != nil && prev.has(owner) && (!w.has(past|passive|going) || next != nil && next.is&(prep|article|definite) == 0)
		noun := w.has(article|definite|owner) || owned || i == 0 && t.states(next)
		if next != nil && !w.has(past|passive|going) {
			noun = noun || next.norm == "of" || next.has(be|modal) && next.cut == 0 ||
				next.has(verb) && !next.has(going|passive|article|definite) && next.norm != "have" && next.cut == 0
		}
		if prev != nil && !w.has(past|passive|going) && lower(w.raw) == w.norm && !plurals(t.words[:i]) {
			noun = true
		}
		if noun {
			w.norm = lower(w.raw)
			w.is &^= verb | shape
		}
	}
}

// states reports whether a sentence that begins with a bare verb is a statement
// and no order, as in "Go modules are cached".
func (t *text) states(next *word) bool {
	if next == nil || next.is&(article|definite|prep|negates|verb) != 0 || lower(t.words[0].raw) != t.words[0].norm {
		return false
	}
	for i := 1; i < len(t.words); i++ {
		switch w := &t.words[i]; {
		case w.has(be):
			return true
		case w.has(joins|limits|prep|adds|verb) || w.cut != 0:
			return false
		}
	}
	return false
}

// plurals reports whether a verb without -s may follow these words: a plural, "I",
// an auxiliary, "to", or the start of a clause.
func plurals(before []word) bool {
	last := &before[len(before)-1]
	if last.has(modal|negates|prep|adds|pronoun|limits|counts|sign|number|unit) || before[0].has(verb) {
		return true // an order, or after a word that a verb may follow
	}
	switch last.norm {
	case "we", "people", "children", "men", "women", "staff", "data", "always", "then", "please", "everybody", "and", "or":
		return true
	}
	for i := range before {
		if before[i].has(joins) || before[i].has(verb|be) {
			return true
		}
	}
	return strings.HasSuffix(last.norm, "s") || last.norm == "user" && !strings.EqualFold(last.raw, "user")
}

// conjugate adds the forms of the known verbs. A missing verb prevents a merge: a
// sentence without a known verb has no attribute.
func conjugate(m map[string]entry) {
	add := func(form, base string, is trait) {
		e := m[form]
		if e.is&verb != 0 && e.is&shape == 0 {
			return // "read" and "set" are their own past; the present form is kept
		}
		e.norm, e.is = base, e.is&^shape|is|verb
		m[form] = e
	}
	for base := range strings.FieldsSeq(regular) {
		for _, f := range forms(base) {
			add(f.norm, base, f.is)
		}
	}
	for line := range strings.Lines(irregular) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		for i, x := range forms(f[0]) {
			if i != 2 { // not the regular past
				add(x.norm, f[0], x.is)
			}
		}
		for _, p := range f[1:] {
			if strings.HasSuffix(p, "ing") {
				add(p, f[0], going)
			} else {
				add(p, f[0], past)
			}
		}
	}
	for _, s := range []struct{ base, others string }{
		{"use", "utilize utilise"}, {"need", "require"}, {"live", "reside dwell"}, {"buy", "purchase"}, {"begin", "start"},
		{"fix", "repair"}, {"happen", "occur"}, {"move", "relocate"},
	} {
		for other := range strings.FieldsSeq(s.others) {
			for form, e := range m {
				if e.norm == other && e.is&verb != 0 {
					e.norm = s.base
					m[form] = e
				}
			}
		}
	}
	for w, e := range map[string]entry{
		"is": {"be", be}, "are": {"be", be}, "am": {"be", be}, "'s": {"be", be}, "was": {"was", be | past}, "were": {"was", be | past},
		"be": {"be", be}, "been": {"be", be}, "being": {"be", be},
		"have": {"have", verb}, "has": {"have", verb}, "had": {"have", verb | past}, "having": {"have", verb | going},
		"defaults": {"default", verb}, "defaulted": {"default", verb | past}, // the base forms of these are nouns
		"tested": {"test", verb | past}, "formats": {"format", verb}, "formatted": {"format", verb | past},
		"lints": {"lint", verb}, "linted": {"lint", verb | past},
		"do": {"do", verb}, "does": {"do", verb}, "did": {"do", verb | past}, "doing": {"do", verb | going}, "done": {"do", verb | past},
	} {
		m[w] = e
	}
}

// forms returns the base, the third person, the past and the present participle.
func forms(base string) [4]entry {
	stem, s := base, base+"s"
	last, before := base[len(base)-1], byte(0)
	if len(base) > 1 {
		before = base[len(base)-2]
	}
	vowel := func(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
	switch {
	case strings.HasSuffix(base, "ss"), strings.HasSuffix(base, "sh"), strings.HasSuffix(base, "ch"), last == 'x', last == 'o':
		s = base + "es"
	case last == 'y' && !vowel(before):
		stem, s = base[:len(base)-1]+"i", base[:len(base)-1]+"ies"
	case last == 'e':
		stem = base[:len(base)-1]
	case strings.Contains(doubling, " "+base+" "):
		stem = base + string(last)
	}
	ing := stem + "ing"
	if last == 'y' {
		ing = base + "ing"
	}
	return [4]entry{{base, 0}, {s, 0}, {stem + "ed", past}, {ing, going}}
}

const doubling = " tag ban refer swap ship drop stop plan log submit commit prefer map ban refer swap trim skip wrap "

const regular = `use utilize utilise work live reside dwell prefer like love hate enjoy dislike need require own manage maintain listen bind
store host deploy call name return accept reject support provide contain include depend rely expire start end finish open close receive
fetch load save cache compile fail pass block allow forbid permit deny enable disable create delete remove add update upgrade
downgrade migrate move relocate switch change replace rename join promote hire employ retire marry study play watch visit
travel believe ask push pull merge commit release publish ship review approve sign schedule plan happen occur wait retry
crash log monitor track validate check verify parse encode decode encrypt index query expose serve handle trigger
invoke execute install configure connect point route forward throttle smoke cook bake paint dance walk hike cycle avoid stop
cease extend postpone delay shift reschedule increase raise lower reduce bump adopt convert locate base settle report belong cover apply
drop live purchase repair fix attend mention recommend decide agree assign transfer appoint elect last limit
render exclude shorten lengthen resize tag ban import export upload weigh adjust slip download register subscribe borrow restore repeat remind
answer visit climb collect copy debug describe discuss explain fill follow help improve invite kill land lock unlock mark
notify offer paste pick plant produce protect prove reach realize refactor reset
rotate refresh sync archive generate print expect hope consider turn rise shrink mount sort filter batch emit match`

// irregular lists one verb a line: the base, then its irregular forms.
const irregular = `run ran running
write wrote written
read
send sent
build built
begin began begun beginning
leave left
quit quitting
become became become
teach taught
speak spoke spoken
eat ate eaten
drink drank drunk
drive drove driven
cost
take took taken
give gave given
get got gotten getting
make made
keep kept
hold held
go went gone
come came
see saw seen
know knew known
think thought
tell told
say said
mean meant
set setting
put putting
meet met
pay paid
buy bought
sell sold
sleep slept
sing sang sung
swim swam swum swimming
rewrite rewrote rewritten
rebuild rebuilt
stand stood
find found
lose lost
break broke broken
choose chose chosen
grow grew grown
lead led
hear heard
feel felt
bring brought
win won winning
wear wore worn
sit sat sitting`

// aspect is what a verb with a preposition says about its subject, as a set of
// bits. Two verbs with a common aspect are about the same attribute.
type aspect uint16

const (
	employment aspect = 1 << iota
	home              // where a person lives
	place             // where a thing runs or is kept
	means             // what a thing uses or is made with, or what somebody prefers
	role              // what a person is
	value             // what an attribute is
	appointed         // when something is planned
)

// phrase is a verb and the preposition of the slot that holds the value.
type phrase struct{ key, prep string }

// states maps phrases that say how something is. changes maps phrases that say
// that something is so now and was different before.
var (
	states = phrases(map[aspect]string{
		employment: "work:at work:for be_employ:at be_employ:by be_hire:by",
		home:       "live:in live:at be_base:in",
		place: `run:in run:on be_host:in be_host:on be_host:at be_host:by be_deploy:in be_deploy:on be_deploy:to be_store:in be_store:on
			be_locate:in live:in live:on be_track:in be_keep:in be_base:in be_move:to be_migrate:to deploy:to be_publish:to be:in be:on be_run:on be_run:in track:in keep:in store:in host:in host:on
			deploy:on listen:on`,
		means: `use: run:on be_write:in be_build:with be_build:on rely:on prefer: depend:on run: be_run:on be_base:on be_use: write:in
			build:with run:with format:with manage:with be_run:with be_test:with be_format:with be_lint:with be_manage:with
			be_deploy:with`,
		role:      "be: work:as",
		value:     "be: be_set:to default:to have:of",
		appointed: "be: be:on be:at be:in be_schedule:for be_plan:for begin:on begin:at end:on happen:on happen:at",
	})
	changes = phrases(map[aspect]string{
		employment: "join: be_hire:by be_hire:at begin:at",
		home:       "move:to settle:in",
		place:      "move:to migrate:to be_move:to be_migrate:to switch:to be_transfer:to",
		means: `switch:to migrate:to move:to upgrade:to downgrade:to change:to adopt: be_upgrade:to be_downgrade:to be_migrate:to
			be_move:to be_rewrite:in be_switch:to convert:to be_convert:to be_change:to bump:to be_bump:to`,
		role: "become: be_promote:to",
		value: `change:to move:to be_change:to be_move:to be_extend:to be_push:to be_postpone:to be_delay:to be_shift:to be_reschedule:to
			be_increase:to be_raise:to be_lower:to be_reduce:to be_bump:to be_upgrade:to increase:to rise:to drop:to be_update:to switch:to
			be_switch:to be_transfer:to be_assign:to be_adjust:to become: grow:to shrink:to slip:to`,
		appointed: `be_move:to be_push:to be_postpone:to be_delay:to be_shift:to be_reschedule:to be_change:to move:to slip:to be_reschedule:for
			be_extend:to`,
	})
)

// single holds the phrases that have one value at a time without naming an
// attribute: a person lives in one place.
var single = func() map[phrase]bool {
	m := map[phrase]bool{}
	for w := range strings.FieldsSeq(`live:in work:at work:for be_base:in be_locate:in report:to be_own:by be_maintain:by be_manage:by
		be_lead:by listen:on cost: weigh: belong:to expire:on expire:in default:to be_set:to be_marry:to begin:at end:at close:at open:at
		be_assign:to`) {
		m[parsePhrase(w)] = true
	}
	return m
}()

// quantified holds verbs with a counted object: two numbers of the same thing
// exclude each other. The value is true for properties that change. It is false
// where two numbers may be about two occasions, such as two runs or two boxes.
var quantified = map[string]bool{"need": true, "cost": true, "retry": true, "allow": true, "weigh": true, "have": false, "take": false,
	"hold": false, "keep": false, "use": false, "contain": false, "last": false, "wait": false}

func phrases(in map[aspect]string) map[phrase]aspect {
	m := map[phrase]aspect{}
	for a, list := range in {
		for w := range strings.FieldsSeq(list) {
			m[parsePhrase(w)] |= a
		}
	}
	return m
}

func parsePhrase(s string) phrase {
	key, prep, _ := strings.Cut(s, ":")
	return phrase{strings.ReplaceAll(key, "_", " "), prep}
}

// kinds maps well-known names to the number of their line in kindNames; names of
// one line can replace each other. A name in no line is of an unknown kind. A
// known and an unknown name are not alternatives.
var kinds = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(kindNames), "\n") {
		for n := range strings.SplitSeq(line, ",") {
			m[strings.TrimSpace(n)] = i + 1
		}
	}
	return m
})

const kindNames = `google, microsoft, apple, amazon, meta, netflix, stripe, openai, anthropic, ibm, intel, nvidia, spotify, uber, airbnb, siemens, sap, oracle, samsung, sony, tesla, bosch
postgresql, mysql, mariadb, sqlite, mongodb, cockroachdb, dynamodb, cassandra, sql server
redis, memcached, valkey
kafka, rabbitmq, nats, sqs, pulsar
aws, gcp, azure, hetzner, digitalocean, google cloud, fly.io, heroku
npm, pnpm, yarn, bun
pip, poetry, uv, pipenv, conda
jenkins, github actions, gitlab ci, circleci, travis, buildkite, teamcity
go, rust, python, java, kotlin, typescript, javascript, ruby, scala, elixir, php, swift, c, c++, c#, zig, haskell, clojure, erlang, perl, lua, ocaml
vim, neovim, emacs, vscode, vs code, intellij, goland, zed, cursor, sublime
tabs, spaces
dark mode, light mode, dark theme, light theme
bash, zsh, fish
kubernetes, nomad, docker swarm, ecs
docker, podman
github, gitlab, bitbucket, gitea
jira, linear, asana, trello, youtrack, clickup
slack, teams, discord, mattermost
confluence, notion
hubspot, pipedrive, salesforce, zoho
mailchimp, brevo, klaviyo
sendgrid, mailgun, postmark
sentry, rollbar, bugsnag, honeybadger
gusto, personio, bamboohr, workday
quickbooks, xero, datev, lexoffice
zendesk, freshdesk, intercom, helpscout
dropbox, onedrive, google drive, nextcloud
1password, bitwarden, lastpass, keepass
shopify, woocommerce, shopware, magento
figma, sketch, adobe xd
paypal, adyen, mollie, klarna
webpack, vite, rollup, esbuild, parcel
jest, vitest, mocha
pytest, unittest, nose
react, vue, svelte, angular
make, bazel, gradle, maven, cmake, just
macos, linux, windows, ubuntu, debian, fedora, arch linux
rest, graphql, grpc
json, yaml, toml, xml
prometheus, datadog, new relic
terraform, pulumi, opentofu
squash merges, merge commits, rebase merges
metric units, imperial units
coffee, tea
germany, france, spain, italy, portugal, poland, austria, switzerland, netherlands, belgium, sweden, norway, denmark, finland, ireland, uk, united kingdom, england, scotland, usa, us, united states, canada, mexico, brazil, argentina, chile, india, china, japan, korea, south korea, australia, new zealand, turkey, greece, ukraine, russia, egypt, nigeria, kenya, south africa, israel, vietnam, thailand, indonesia, singapore, czechia, hungary, romania, colombia, peru
europe, asia, africa, north america, south america, america
california, texas, florida, bavaria, ontario, catalonia`

var occupations = sync.OnceValue(func() map[string]bool {
	return analysis.Set(`engineer developer programmer manager director teacher principal professor nurse doctor lawyer designer
		analyst scientist architect consultant student intern lead cto ceo accountant chef cook editor writer journalist researcher
		administrator contractor freelancer assistant associate partner head supervisor coordinator specialist technician electrician plumber
		pilot driver clerk cashier librarian pharmacist dentist veterinarian therapist coach trainer lecturer dean paramedic carpenter`)
})
