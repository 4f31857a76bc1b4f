package extract

import (
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// word is a part of a sentence between spaces.
type word struct {
	start, end int    // byte offsets of the core in the sentence
	low        string // the core in lower case, with straight apostrophes; "" for punctuation and code
	code       bool   // it is between backticks
	upper      bool   // the core starts with a capital
	comma      bool   // punctuation follows it
}

// wordsOf splits a sentence at its spaces. The core of a word is the word without
// the punctuation around it.
func wordsOf(s string) []word {
	out := make([]word, 0, 8+len(s)/6)
	code := false
	for i := 0; i < len(s); {
		if s[i] == ' ' {
			i++
			continue
		}
		end := i + strings.IndexByte(s[i:], ' ')
		if end < i {
			end = len(s)
		}
		ticks := strings.Count(s[i:end], "`")
		core := strings.TrimLeft(s[i:end], around)
		start := end - len(core)
		core = strings.TrimRight(core, around)
		w := word{start: start, end: start + len(core), comma: start+len(core) < end, code: code || ticks > 0}
		if !w.code {
			w.low = analysis.Standard(lower(core))
		}
		code = code != (ticks%2 == 1)
		if r, _ := utf8.DecodeRuneInString(core); unicode.IsUpper(r) {
			w.upper = true
		}
		out = append(out, w)
		i = end
	}
	for i := range out { // words that mean something else in another place
		if out[i].low == "lets" && (i == 0 || out[i-1].comma || joining[out[i-1].low] || leadIns[out[i-1].low]) {
			out[i].low = "let's" // not: "the flag lets you skip it"
		}
		if next := low(out, 1); i == 0 && out[i].low == "were" && (prepositions[next] || len(next) > 4 && strings.HasSuffix(next, "ing")) {
			out[i].low = "we're"
		}
		if out[i].low == "im" && out[i].end-out[i].start == 2 && sayIAm(out, i) {
			out[i].low = "i'm"
		}
	}
	return out
}

// sayIAm reports whether word i, "im", is "I'm" without its apostrophe and not a German preposition: a word that
// only English has is next to it, or a form in -ing follows.
func sayIAm(words []word, i int) bool {
	next := low(words, i+1)
	return afterIm[next] || traits[next] || beforeIm[low(words, i-1)] || len(next) > 4 && strings.HasSuffix(next, "ing") && !loanwords[next]
}

var (
	afterIm   = analysis.Set("a the not on at from with in using moving still also always never allergic based new good sure fine ok sorry glad happy done back off into married born")
	loanwords = analysis.Set("staging meeting training marketing building testing briefing hosting tracking monitoring logging billing routing caching streaming onboarding shopping ranking timing") // also German nouns
	beforeIm  = analysis.Set("and but because since if when that think though tho so btw hey hi")
)

// around is the punctuation that is cut off at both ends of a word.
const around = ".,;:!?()[]{}\"'*_~“”‘’`…—–-"

func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.ReplaceAll(strings.ToLower(s), "’", "'")
		}
	}
	return s
}

// low returns the lower-case core of word i, "" beyond the end.
func low(words []word, i int) string {
	if i < 0 || i >= len(words) {
		return ""
	}
	return words[i].low
}

// has reports whether one of the first n words is in the set.
func has(words []word, n int, in map[string]bool) bool {
	for i := range min(n, len(words)) {
		if in[words[i].low] {
			return true
		}
	}
	return false
}

// phrases is a set of phrases by their first word. Words are in lower case and
// without punctuation.
type phrases struct{ byFirst func() map[string][][]string }

// list parses phrases that are separated by commas, at their first use.
func list(s string) phrases {
	return phrases{sync.OnceValue(func() map[string][][]string {
		out := map[string][][]string{}
		for p := range strings.SplitSeq(s, ",") {
			if words := strings.Fields(p); len(words) > 0 {
				out[words[0]] = append(out[words[0]], words)
			}
		}
		return out
	})}
}

// starts returns the number of words of the longest phrase that words start with,
// 0 for none.
func (p phrases) starts(words []word) (n int) {
	for _, phrase := range p.byFirst()[low(words, 0)] {
		if len(phrase) > n && follows(words, phrase) {
			n = len(phrase)
		}
	}
	return n
}

// in returns the index of the word where the first phrase starts, or -1.
func (p phrases) in(words []word) int {
	for i := range words {
		if p.starts(words[i:]) > 0 {
			return i
		}
	}
	return -1
}

func follows(words []word, phrase []string) bool {
	if len(words) < len(phrase) {
		return false
	}
	for i := range phrase {
		if words[i].low != phrase[i] {
			return false
		}
	}
	return true
}

// characters counts code points.
func characters(s string) int { return utf8.RuneCountInString(s) }

// squeeze replaces every run of white space by one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Openings that are removed because they say nothing.
var (
	openings = analysis.Set(`woah oh ah hey hi hello yo wow well so and but also yeah yep yes yup no nope ok okay alright sure right actually
		anyway anyways btw um uh hmm hm haha lol ha aw aww awww ooh whoa gosh great nice cool awesome amazing perfect thanks totally absolutely
		definitely exactly honestly basically plus additionally furthermore moreover besides lastly finally first second third then man damn
		now speaking agreed true indeed interesting sweet lovely wonderful fantastic
		nvm nevermind sry oops whoops ugh argh welp omg tbh fwiw ps psa fyi`)
	longOpenings = list(`by the way, for what it's worth, to be honest, in fact, as you know, for your information, just so you know,
		as i said, as i mentioned, on another note, on a different note, you know what, guess what, thank you, good to know, of course,
		fair enough, one more thing, no worries, good point, makes sense, got it, oh and, and also, but also, i forgot to mention, i should mention that,
		i just remembered that, like i said, speaking of which, looks good but, looks great but, lgtm but, nice but, great but, perfect but, better but, almost but, fine but`)
)

// phatic holds words that sentences without content start with.
var phatic = analysis.Set(`glad happy great good nice awesome amazing wow thanks thank congrats congratulations sounds looks hope hoping wish
		wishing bye goodbye welcome talk catch see love cool sorry absolutely definitely exactly agreed cheers excited beautiful gorgeous
		wonderful fantastic lovely incredible impressive interesting true totally kudos awww aww cute pretty best enjoy take keep stay have`)

// Words that start a question, whether or not a mark ends it, and words by which a
// verb or its absence is recognised.
var (
	asking       = analysis.Set("can could would will should shall may might do does did is are was were am has have had isn't aren't don't doesn't didn't can't couldn't won't wouldn't shouldn't")
	wondering    = analysis.Set("what what's how how's why where where's who who's whom whose which when any wtf")
	auxiliary    = analysis.Set("is are was were do does did can could should would will has have had am might may about if to come many much long often else exactly 's")
	copulas      = analysis.Set("is are was were be been am has have had do does did can could will would should must may might cannot needs need")
	verbs        = analysis.Set("use run go live keep take make get give sit lie stand happen depend belong own return fail start stop begin end come stay store send read write went ran took made got gave sat kept sent wrote began came broke built held left lost met paid sold spoke told won")
	prepositions = analysis.Set("for in on at with by about of from to regarding per as without within after before during since until via")
	secondHalf   = analysis.Set("you i we they he she it this that there these those the my our your his her their anyone someone anybody")
)

// requests holds requests at the end of a statement: "…, can you help me?"
var requests = list(`can you, could you, would you, will you, can we, could we, can i, could i, should i, should we, do you, do i, are you, are there,
		is there, is it, is this, is that, isn't it, isn't that, isn't there, wouldn't it, wouldn't that, what, which, how do, how can, how should, how would, how about, any ideas, any tips, any suggestions, any advice,
		any recommendations, any thoughts, please help, please provide, please suggest, please review, please show, help me, right, don't you think, ok, okay,
		i'd appreciate, i would appreciate, let me know, thoughts, i want you to, i'd like you to, i need you to, i was wondering if, i'm wondering`)

// wants holds what a user asks of the agent for now, in the form of a statement.
var wants = list(`i want you to, i'd like you to, i would like you to, i need you to, i'd like your, i need your, i want your, i was hoping you, i'm hoping you, i was wondering,
		i wonder, i'm wondering, i'm curious, i have a question, i need help, i need some help, i want to know, i'd like to know, i would like to know, let me know,
		i'd appreciate, i would appreciate, i'd love to hear, i'd love to know, i'd love some, i'd like some help, i could use some, i'm asking,
		i'd like to see, i'm not sure, i don't know, i have no idea, i don't understand, i see, i understand, i agree, i think so, i guess so, i hope so, i'm sure you, i bet,
		i can imagine, i hear you, i appreciate, i hope you, i know what you mean, i know right, i can't wait to hear, i feel you`)

// imperatives holds verbs that a request starts with.
var imperatives = analysis.Set(`fix add write run create make update show tell give explain check look find list remove delete change rename move implement refactor
		review summarize summarise generate help try test build deploy install open read search compare describe provide suggest recommend convert translate
		rewrite improve optimize optimise debug analyze analyse investigate continue proceed stop start finish complete execute print extract collect
		download upload commit push pull merge revert format sort count calculate compute draft send email call ask answer let verify ensure replace
		split combine clean set put get take go come see consider think imagine suppose repeat include exclude identify evaluate estimate
		plan schedule prepare design document note use do be have keep save store apply restart rerun retry reload undo redo copy paste
		insert append wrap extend add handle validate confirm double-check proofread shorten expand elaborate clarify walk teach learn follow
		watch wait hold grab pick choose select order buy book enable disable configure bump upgrade downgrade pin migrate port skip ignore
		drop propose outline brainstorm inspect locate trace profile benchmark measure research visit regenerate rebuild recompile redeploy reindex reseed rebase`)

// imperativeNouns holds the imperatives that are also common nouns, as in "Build artifacts go to S3".
var imperativeNouns = analysis.Set(`build test deploy search release update design document email call commit push pull merge format sort order plan schedule upload download
		import export install copy upgrade queue watch store report review change research note answer query log book ticket support draft count profile benchmark trace`)

// Verbs by which a sentence that starts with such a noun is known: those of one thing, and those of several.
var (
	oneDoes  = analysis.Set("got takes goes uses needs lives happens closes opens meets comes belongs depends requires contains means lasts expires begins stays sits sends holds keeps gets gives follows lands covers serves includes consists becomes relies")
	manyDo   = analysis.Set("use need live happen go come belong depend require contain mean last expire begin stay sit hold keep get follow land cover serve include consist become rely start end run")
	oneRunOn = analysis.Set("on at in every once through via from")
	connects = analysis.Set("that which who where what how why if when whether because and so until while")
	objects  = analysis.Set("the an all every each my our these those")
	notVerbs = analysis.Set(`half twice all both only not just even today tomorrow yesterday tonight sometimes often once maybe perhaps sure fwiw imo imho tbh ps p.s hmm meh nb til tldr tl;dr
			inside outside near under beyond across over between despite besides beside above below along around against among towards toward upon throughout unlike alongside past behind beneath amid`)
)

// leadIns holds words that may precede the verb of a request.
var leadIns = analysis.Set("please now then just also kindly first next finally so and ok okay")

// Phrases of standing instructions, and of instructions for now only.
var (
	lasting   = list(`always, never, from now on, going forward, from here on, in the future, in future, every time, whenever, by default, at all times, no matter what, under no circumstances`)
	forbids   = list(`don't, do not, avoid, never`)
	ordersYou = list(`you should, you must, you need to, you have to, you can't, you cannot, you may not, you are not allowed, you're not allowed, you shouldn't, you should not, you must not, we should never, we should always, we must never, we must always`)
	manners   = analysis.Set("use keep write prefer stick answer respond reply format name call address commit indent log return document test put store include mention cite follow speak")
	choices   = list(`instead of, rather than, over, not, everywhere, in all, for all, in every, for every, only, style, in english, in german, in french`)
	forNow    = list(`yet, for now, right now, this time, today, now, anymore, at the moment, for the moment, this one, again, until i, until we, before i, just, here, first, below, above, following, attached`)
	momentary = list(`yet, for now, right now, this time, today, now, anymore, at the moment, for the moment, until i, until we`)
	asksFor   = list(`could you please, could you kindly, can you please, can you kindly, would you please, would you kindly, will you please, could you, would you, will you, i want you to, i'd like you to, i would like you to, i need you to,
		i'd appreciate it if you could, i would appreciate it if you could, it would be great if you could, it'd be great if you could, it would be nice if you could, it'd be nice if you could, i'd be grateful if you could, i'd prefer it if you could,
		i'd appreciate it if you, i would appreciate it if you, i'd be grateful if you, i would be grateful if you, i'd prefer it if you, i would prefer it if you, it would be great if you, it'd be great if you, it would be nice if you, it'd be nice if you`)
	mayYou  = list("you may, you can, you are allowed to, you're allowed to")
	unasked = list("without asking, without my approval, without approval, without my ok, without confirmation")
	askMe   = list(`ask me first, please ask me first, ask us first, always ask me first, check with me, check with me first, please check with me first, talk to me first, get my approval first,
		wait for my approval, ask for my approval, ask for my approval first`)
	conditions = analysis.Set("if when whenever where while")
	pastForms  = analysis.Set("went ran took made got gave kept sent wrote began came broke built held left lost met paid spoke told did used bought grew drove flew chose taught caught threw drew")
	hereafter  = list(`from now on, going forward, from here on, in future`)
	calms      = list(`don't worry, do not worry, don't mind, don't forget, don't know, don't think, don't mention, don't get me wrong, don't bother, don't hesitate, don't give up, don't be`)
)

// remembers holds phrases that ask for something to be remembered.
var remembers = list(`remember that, please remember that, remember, please remember, note that, please note that, please note, keep in mind that, please keep in mind that, keep in mind,
		bear in mind that, for the record, don't forget that, for future reference, make a note that, take note that`)

// reminds holds phrases of polite requests that tell something at the same time.
var reminds = list("remind me that, remind us that")

// likings holds phrases of preferences.
var likings = list(`i prefer, i'd prefer, i would prefer, we prefer, i'd rather, i would rather, we'd rather, i like, i love, i really like, i really love, i enjoy, i really enjoy,
		i hate, i dislike, i can't stand, i don't like, i do not like, i'm a fan, i'm a big fan, i'm a huge fan, i'm not a fan, i'm into, my favorite, my favourite, our favorite,
		our favourite, i'm allergic, i'm vegan, i'm vegetarian, i'm obsessed, i adore, i always, i never, i usually, i tend to, we always, we never, we usually, i'd like to avoid,
		i want to avoid, my preference, i'm more comfortable, i'm passionate about, i'm interested in, i love to, i'm fond of, i detest, i'm not into, i only use, we only use`)

// personal holds what people say about themselves and those around them.
var personal = list(`my name is, call me, i'm a, i'm an, i am a, i am an, i work, i'm working as, i live, i lived, i moved, i was born, i grew up, i'm from, i come from, i study, i'm studying,
		i studied, i graduated, i'm married, i got married, i'm engaged, i'm single, i'm divorced, i'm pregnant, i have a, i have an, i have two, i have three, i've got a, i own, i adopted, i bought, i got a, i speak, i play, i teach,
		i started, i joined, i quit, i retired, i was diagnosed, i volunteer, my wife, my husband, my partner, my girlfriend, my boyfriend, my fiancé, my son, my daughter, my kids, my children, my mom, my mum, my mother, my dad, my father,
		my parents, my brother, my sister, my grandma, my grandmother, my grandpa, my grandfather, my aunt, my uncle, my cousin, my niece, my nephew, my friend, my best friend, my dog, my cat, my boss, my manager, my team, my company, my job, my colleague,
		my birthday, my hometown, years old, i turned, i'm turning, we're called, our team, our company`)

// Short statements of what a person is: "I'm vegetarian", "allergic to nuts", "we have two kids", "I'm a nurse".
var (
	traits = analysis.Set(`vegetarian vegan pescatarian coeliac celiac diabetic asthmatic lactose-intolerant gluten-intolerant teetotal left-handed right-handed ambidextrous colour-blind color-blind colourblind colorblind
		dyslexic deaf blind autistic epileptic bilingual married divorced widowed single retired self-employed pregnant muslim jewish catholic buddhist hindu atheist`)
	kin      = analysis.Set("cat cats dog dogs kid kids child children son sons daughter daughters brother brothers sister sisters twins siblings rabbit rabbits horse horses grandchildren")
	noOffice = analysis.Set("bit little lot fan mess idiot genius wreck bot robot ghost failure loser fool moron disaster zombie human person man woman guy girl few while huge big total real")
)

// decisions holds phrases of decisions.
var decisions = list(`i decided, i've decided, i have decided, we decided, we've decided, we have decided, we agreed, we've agreed, we settled on, i settled on, we've settled on, we'll use, we will use,
		we'll go with, i'll go with, i'll use, we're going with, i'm going with, we are going with, we chose, i chose, i've chosen, we've chosen, we went with, i went with,
		we're switching, i'm switching, we switched, i switched, we're moving to, we moved to, we're migrating, i made up my mind, the decision is, decided to, it was decided, the plan is to, we'll keep, we will keep,
		let's use, let's go with, let's keep, let's stick, let's switch, let's make, let's store, let's put, let's run, let's deploy, let's drop, let's name, let's call, let's move,
		let's not, let's skip, let's ship, let's add, let's build, let's do, let's start, let's target, let's avoid, let's write, go with, go for, i'm sticking with, we're sticking with, we opted, i opted`)

// rules holds phrases of rules about things.
var rules = list(`must, must not, mustn't, has to, have to be, needs to be, need to be, is not allowed, are not allowed, isn't allowed, aren't allowed, not permitted, is forbidden, are forbidden, strictly forbidden, strictly prohibited, is prohibited, are prohibited, is required,
		are required, is mandatory, at most, at least, no more than, no longer than, no fewer than, is limited to, are limited to, should never, should always, may only, can only, may not, cannot exceed, must never, must always`)

// Hedges lower the confidence. Hypotheses are never statements.
var (
	hedges     = list(`maybe, perhaps, probably, possibly, i think, i guess, i suppose, i believe, not sure, might, could be, seems, seem, i assume, apparently, likely, supposedly, kind of, sort of, i heard, i've heard`)
	hypotheses = list(`imagine, suppose, let's say, for example, as an example, by way of example, for instance, e.g, what if, hypothetically, if i were, if i had, if you, if we had, assuming, pretend, as if, let's assume, let's pretend`)
)

// Wishes, jokes and hearsay of nobody in particular. To an agent they are never statements.
var (
	wishes  = list(`i wish, we wish, if only, it would be nice, would be nice to, would be cool if, just kidding, only kidding, just joking, only joking, jk, in an ideal world, in a perfect world, i dream of, one day we, one day i`)
	hearsay = list(`someone said, somebody said, someone says, somebody says, someone told, somebody told, someone mentioned, somebody mentioned, people say, people said, they say, everyone says, everybody says,
		rumour has it, rumor has it, word is, i heard, i've heard, i hear, i was told, supposedly, allegedly, i read somewhere`)
	irreal = analysis.Set("would could might")
)

// sorts assigns a sort to a sentence with one of the phrases near its start. They
// are tried in this order.
var sorts = []struct {
	sort       draft.Sort
	phrases    phrases
	within     int // words from the start at which the phrase may begin
	confidence float64
}{
	{draft.Decision, decisions, 8, 0.85},
	{draft.Preference, likings, 6, 0.85},
	{draft.Constraint, rules, 12, 0.75},
}

// Words that refer to something that the sentence does not name.
var (
	pronouns    = analysis.Set("it it's its it'll it'd they they're they've they'll they'd their theirs them he he's he'd he'll his him she she's she'd she'll her hers this that that's that'll these those both neither either such same one ones another others mine")
	standIns    = analysis.Set("it it's its they they're they've them he he's his him she she's her these those that's")
	pointing    = analysis.Set("this that these those")
	determiners = analysis.Set("this that these those both neither either such same one another others")
	dummies     = analysis.Set("when that to if who with in") // after "it" and "those": they refer to nothing earlier
	fragments   = analysis.Set("because which who whom whose where than especially including like until unless except instead otherwise hence therefore thus whereas though although meanwhile afterwards later even")
	settled     = analysis.Set("project repo repository codebase service team company app application year month week weekend morning afternoon evening summer winter spring fall autumn semester quarter monday tuesday wednesday thursday friday saturday sunday")
)

// Words of the first and the second person.
var (
	self  = analysis.Set("i i'm i've i'd i'll me my mine myself we we're we've we'd we'll us our ours ourselves let's")
	other = analysis.Set("you you're you've you'd you'll your yours yourself")
)

// mostDates bounds how many dates are added to a sentence.
const mostDates = 2

// explain adds the date to words that name a day by its distance: "yesterday (7 May
// 2023)". Words that could mean two dates are left as they are. So is the whole
// text if at is zero. A week is named by its Monday.
func explain(text string, at time.Time) string {
	if at.IsZero() {
		return text
	}
	words := wordsOf(text)
	var b strings.Builder
	done, n := 0, 0
	for i := 0; i < len(words) && n < mostDates; i++ {
		span, date := relativeTime(words, i, at)
		if date == "" {
			continue
		}
		end := words[i+span-1].end
		if strings.HasPrefix(strings.TrimLeft(text[end:], " "), "(") {
			continue // the speaker gave the date
		}
		b.WriteString(text[done:end])
		b.WriteString(" (" + date + ")")
		done = end
		n++
		i += span - 1
	}
	b.WriteString(text[done:])
	return b.String()
}

// relativeTime returns the number of words from i on that name a time by its distance, and
// the date. It returns 0 and "" for other words.
func relativeTime(words []word, i int, at time.Time) (span int, date string) {
	first, second := low(words, i), low(words, i+1)
	before := low(words, i-1)
	switch first {
	case "yesterday":
		if before == "before" || before == "just" || before == "like" {
			return 0, ""
		}
		return 1, day(at.AddDate(0, 0, -1))
	case "today", "tonight":
		return 1, day(at)
	case "tomorrow":
		if before == "after" {
			return 0, ""
		}
		return 1, day(at.AddDate(0, 0, 1))
	case "last", "next", "this":
		if before == "the" || before == "of" || before == "past" || before == "every" {
			return 0, "" // "the last week" is a stretch of time
		}
		return 2, relativeUnit(first, second, at)
	}
	if n := amount(words, i); n > 0 && low(words, i+2) == "ago" {
		return 3, ago(n, second, at)
	}
	return 0, ""
}

// relativeUnit returns the date that "last", "this" or "next" with a unit means; "" when
// that is not certain.
func relativeUnit(which, unit string, at time.Time) string {
	step := map[string]int{"last": -1, "this": 0, "next": 1}[which]
	monday := at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
	switch unit {
	case "night":
		if step == -1 {
			return day(at.AddDate(0, 0, -1))
		}
	case "morning", "afternoon", "evening":
		if step == 0 {
			return day(at)
		}
	case "week":
		return "the week of " + day(monday.AddDate(0, 0, 7*step))
	case "weekend":
		if step == -1 && monday.AddDate(0, 0, 5).Before(at) {
			return "" // on a Sunday it may mean this one
		}
		return "the weekend of " + day(monday.AddDate(0, 0, 7*step+5))
	case "month":
		first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, at.Location()).AddDate(0, step, 0)
		return first.Format("January 2006")
	case "year":
		return strconv.Itoa(at.Year() + step)
	}
	if d, ok := weekdays[unit]; ok {
		return weekday(d, step, monday, at)
	}
	if m, ok := monthsByName[unit]; ok && step != 0 {
		year := at.Year()
		switch {
		case step < 0 && m >= at.Month():
			year--
		case step > 0 && m <= at.Month():
			year++
		}
		return m.String() + " " + strconv.Itoa(year)
	}
	return ""
}

// weekday returns the date that "last Friday" and the like mean. It returns ""
// where two weeks are possible.
func weekday(d, step int, monday, at time.Time) string {
	here := monday.AddDate(0, 0, d)
	past, future := here.Day() != at.Day() && here.Before(at), here.Day() != at.Day() && here.After(at)
	switch {
	case step < 0 && !past:
		return day(here.AddDate(0, 0, -7))
	case step > 0 && !future:
		return day(here.AddDate(0, 0, 7))
	case step == 0 && future:
		return day(here)
	}
	return ""
}

// ago returns the time n units before at. A unit is a day, a week, a month or a
// year.
func ago(n int, unit string, at time.Time) string {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return day(at.AddDate(0, 0, -n))
	case "week":
		return "the week of " + day(at.AddDate(0, 0, -7*n-(int(at.Weekday())+6)%7))
	case "month":
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, at.Location()).AddDate(0, -n, 0).Format("January 2006")
	case "year":
		return strconv.Itoa(at.Year() - n)
	}
	return ""
}

// amount parses a small number: "3", "two", "a". It returns 0 for other words.
func amount(words []word, i int) int {
	w := low(words, i)
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 200 {
		return n
	}
	if w == "an" {
		return 1
	}
	for n, name := range [...]string{"", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"} {
		if w != "" && w == name {
			return max(n, 1)
		}
	}
	return 0
}

func day(t time.Time) string { return t.Format("2 January 2006") }

// weekdays maps the names of days to their number, Monday being 0.
var weekdays = map[string]int{"monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
	"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6}

var monthsByName = func() map[string]time.Month {
	m := map[string]time.Month{}
	for i := time.January; i <= time.December; i++ {
		m[lower(i.String())] = i
	}
	return m
}()

// isEmoji reports whether r is an emoji or a modifier of one.
func isEmoji(r rune) bool {
	return r == 0x200D || r == 0xFE0F || r >= 0x1F000 || r >= 0x2600 && r <= 0x27BF
}
