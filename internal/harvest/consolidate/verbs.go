package consolidate

import "strings"

// conjugate adds the forms of the verbs that the rules know. A verb that is
// missing costs a merge: where no verb is found, no attribute is.
func conjugate(m map[string]entry) {
	add := func(form, base string, is trait) {
		e := m[form]
		if e.is&verb != 0 && e.is&shape == 0 {
			return // "read" and "set" are their own past: the present form stays
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

// One verb a line: the base, then its past forms and what else does not follow
// the rules.
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
