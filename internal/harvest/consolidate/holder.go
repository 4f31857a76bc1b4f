package consolidate

import (
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// replacedHolder returns the holder of a responsibility in the earlier statement, if the later
// one says that they gave it up and names the next holder: "Priyanka owns the ledger." "Priyanka
// went to payments, the ledger is with Tomasz now."
func replacedHolder(before, after string) (change, bool) {
	gone := leavers(after)
	if len(gone) == 0 || !holderCue.MatchString(" "+lower(before)+" ") {
		return change{}, false
	}
	old, fresh := valuesOf(before), valuesOf(after)
	for _, g := range gone {
		x := after[g.from:g.to]
		var next []string
		for _, at := range names(after) {
			if y := after[at.from:at.to]; y != x && !opens(after, at) && !strings.Contains(before, y) && !toPlace.MatchString(after[:at.from]) && !slices.Contains(next, y) {
				next = append(next, y)
			}
		}
		if len(next) != 1 {
			continue
		}
		for _, at := range names(before) {
			if before[at.from:at.to] != x || noteBehind(before, at.to) {
				continue
			}
			m := mention{span: at}
			i := old.clauseOf(&m)
			c := old.clauses[i]
			if !holderCue.MatchString(" " + lower(before[c.from:c.to]) + " ") {
				continue
			}
			rest := func(list []term) (out []term) {
				for _, t := range list {
					if !strings.EqualFold(t.stem, x) {
						out = append(out, t)
					}
				}
				return out
			}
			if alike, _ := shared(rest(old.all()), rest(fresh.all())); alike == 0 {
				continue
			}
			return change{was: at, clause: c, is: next[0], onlyContent: old.single(), bond: 2}, true
		}
	}
	return change{}, false
}

// opens reports whether a word at the start of a sentence is not its subject. The capital of such
// a word does not make it a name.
func opens(text string, at span) bool {
	head := strings.TrimPrefix(strings.TrimSpace(text[:at.from]), "User:")
	if head = strings.TrimSpace(head); head != "" && !strings.ContainsAny(head[len(head)-1:], ".!?:") {
		return false
	}
	next, _, _ := strings.Cut(strings.TrimPrefix(text[at.to:], " "), " ")
	return lexicon()[lower(strings.Trim(next, ".,;"))].is&(verb|be|modal) == 0
}

// noteBehind reports whether a note on a change follows text[:at].
func noteBehind(text string, at int) bool {
	notes := analysis.PastNotes(text[at:])
	return len(notes) > 0 && notes[0][0] == 0
}

// names returns the words of a text that are written like names of people: with a capital, and
// without an article of a language that capitalises every noun.
func names(text string) (out []span) {
	for _, at := range nameWord.FindAllStringIndex(text, 32) {
		w := lower(text[at[0]:at[1]])
		if weekdayName.MatchString(w) || function(w) || lexicon()[w].is&(verb|timely) != 0 || articleBefore.MatchString(text[:at[0]]) || strings.HasPrefix(text[at[1]:], ":") {
			continue
		}
		if len(out) > 0 && out[len(out)-1].to+1 == at[0] && text[at[0]-1] == ' ' { // Mr. Banerjee is two, Ana Pereira one
			out[len(out)-1].to = at[1]
			continue
		}
		out = append(out, span{at[0], at[1]})
	}
	return out
}

// leavers returns the names of people who, as the text says, gave up what they did.
func leavers(text string) (out []span) {
	for _, at := range names(text) {
		if leavesAfter.MatchString(text[at.to:]) || leavesBefore.MatchString(text[:at.from]) {
			out = append(out, at)
		}
	}
	return out
}

var (
	nameWord      = lazyregexp.New(`\b\p{Lu}[\pL]{1,20}`)
	articleBefore = lazyregexp.New(`(?i)(?:^|[ (])(?:der|die|das|dem|den|des|eine?[rnms]?|keine?[rnms]?|meine?[rnms]?|unsere?[rnms]?|the|this|beim|zum|zur|vom|im|am) $`)
	toPlace       = lazyregexp.New(`(?i)(?:^|[ (])(?:to|in|into|at|on|nach|zu|ins|à|en|para|pra|no|na) (?:the )?$`)
	leavesAfter   = lazyregexp.New(`(?i)^(?:(?:'s| is| has| will| ist| hat| est| a| ha| está| foi| vai)? )(?:went|goes|moves|moved|left|leaves|leaving|off|out|gone|ill|sick|got ill|fell ill|krank|im urlaub|in elternzeit|en arrêt|en congé|malade|de baja|de vacaciones|de férias|doente|quit|quits|retires|retired|resigned|on (?:parental |maternity |paternity |sick )?leave|steps? down|stepped down|handed|hands over|gave up|gives up|hört auf|aufgehört|geht|gegangen|ging|wechselt|gewechselt|verlässt|verlassen|gibt ab|weg|part|parti|partie|parte|quitte|quitté|s'en va|se va|se fue|ido|deja|dejó|dejado|sai|saiu|saindo|deixou|sair)\b`)
	leavesBefore  = lazyregexp.New(`(?i)(?:^|[ ,;(])(?:took over from|takes over from|taking over from|over from|instead of|replaces|replaced|in place of|no longer|not|antes era|antes lo (?:llevaba|hacía)|früher|vorher|bisher|statt|anstelle von|löst|au lieu de|à la place de|avant c'était|remplace|en lugar de|en vez de|sustituye a|em vez de|no lugar d[eao]|substitui) (?:[ao] )?$`)
	holderCue     = lazyregexp.New(`[ ,.;:](?:owns?|owned|owner|owner's|leads?|led|lead's|manages?|managed|manager|manager's|maintains?|maintained|maintainer|responsible|in charge|looks after|runs|takes care|contact|contact's|moderates|coordinates?|coordinator|chairs|handles|signs off|approves|reviews|` +
		`gehört|verantwortlich|verantwortet|zuständig|leitet|betreut|kümmert|pflegt|ansprechpartner(?:in)?|macht|führt|gère|responsable|s'occupe|propriétaire|dueñ[oa]|don[oa]|titular|dirige|pilote|lleva|encargad[oa]|coordina|se ocupa|cuida|coordena|responde|responsável|toca|quem)[ ,.;:]|担当|负责`)
)

// doneTask returns the whole earlier statement as the old value if it is a task that is still to be done,
// and the later one says that it was done: "We still need to rotate the staging certificate." "The
// staging certificate is rotated."
func doneTask(before, after string) (change, bool) {
	task, open := strings.CutPrefix(spoken(before), draft.OpenPrefix)
	if after = spoken(after); !open || !TellsDone(after) {
		return change{}, false
	}
	old, fresh := valuesOf(task), valuesOf(after)
	mine, theirs := old.all(), fresh.all()
	mine = slices.DeleteFunc(mine, func(t term) bool { return t.stem == "need" || t.stem == "todo" || t.stem == "miss" })
	if slices.ContainsFunc(mine, func(t term) bool { return t.open && !holds(theirs, t.stem) }) {
		return change{}, false // it is about another thing
	}
	if alike, equal := shared(mine, theirs); equal < leastSharedTerms || float64(alike) < leastOfTask*float64(len(mine)) {
		return change{}, false
	}
	from := strings.Index(before, task)
	all := span{from, from + len(strings.TrimRight(task, ".!。 "))}
	return change{was: all, clause: all, is: inNote(after), onlyContent: old.single()}, true
}

// TellsDone reports whether a statement says that something was done.
func TellsDone(text string) bool {
	return isDone.MatchString(text) && !strings.HasPrefix(text, draft.OpenPrefix) && !notDone.MatchString(text) && !plans(text)
}

// PerhapsDone returns the text of a task that is still to be done, with a note that it may be done by now, as a
// report made at the time at says. The note has no words of the report, which may repeat anything. It returns
// false if the report is about something else, and for a claim that no session made or a person verified.
func PerhapsDone(task *ken.Claim, report string, at time.Time) (string, bool) {
	c, ok := doneTask(task.Text, report)
	if !ok || task.Session == "" || task.Status != ken.StatusObserved && task.Status != ken.StatusInferred || at.Before(said(task)) || len(analysis.PastNotes(task.Text)) > 0 {
		return task.Text, false
	}
	c.perhaps, c.is = true, "done, says the assistant"
	return c.amend(task.Text, said(task), at), true
}

// leastOfTask is the minimum share of a task's terms in a statement that it was done.
const leastOfTask = 0.75

var (
	isDone  = lazyregexp.New(`(?i)\b(?:done|finished|ready|\pL+ed|written|wrote|sent|made|built|bought|paid|put|set)\b`)
	notDone = lazyregexp.New(`(?i)\b(?:needs?|must|has to|have to|should|will|still|yet|not|never|nobody|almost|half|once|until|before|if)\b|n't\b`)
)

// ends reports whether the later statement says only that something ended which the earlier one names:
// "There is a deploy freeze until the audit." "The deploy freeze is over."
func ends(before, after string) bool {
	after = spoken(after)
	if !ended.MatchString(after) || notDone.MatchString(after) {
		return false
	}
	known, gone := valuesOf(spoken(before)).all(), valuesOf(ended.ReplaceAllString(after, " ")).all()
	return len(gone) > 0 && !slices.ContainsFunc(gone, func(t term) bool { return !slices.ContainsFunc(known, func(o term) bool { return o.stem == t.stem }) })
}

// ended matches words that say that something ended.
var ended = lazyregexp.New(`(?i)\b(?:(?:is|are|was|were|has|have|has been|have been) (?:now )?(?:over|gone|ended|removed|switched off|turned off|shut down|discontinued|cancell?ed|called off|lifted|retired)|no longer exists?|left (?:us|the (?:team|company|project|band|club))|moved out|(?:we|they|i) (?:removed|dropped|deleted|retired|shut down|switched off|turned off|got rid of|no longer use|stopped using))\b`)
