package consolidate

import (
	"strings"
	"sync"
)

// entry is what is known about a spelling.
type entry struct {
	norm string
	is   trait
}

// lexicon holds every spelling that the rules know by name.
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

// lists give words their traits. A word may stand in several.
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

// spellings are words that say the same, the first of a line for all.
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
