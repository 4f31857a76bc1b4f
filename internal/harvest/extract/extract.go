package extract

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// Defaults of Options.
const (
	DefaultFactChars    = 300
	DefaultSummaryChars = 1500
)

// Options bounds a draft. A field that is zero or negative has its default.
type Options struct {
	// MaxFacts bounds the statements. The default is 12, and for every two messages of
	// persons beyond twelve one more, up to 40.
	MaxFacts     int
	FactChars    int // maximum length of a statement's text in characters (code points), at least 80
	SummaryChars int // maximum length of the summary in characters, at least 200
}

func (o Options) withDefaults() Options {
	o.FactChars = cmp.Or(max(o.FactChars, 0), DefaultFactChars)
	o.SummaryChars = cmp.Or(max(o.SummaryChars, 0), DefaultSummaryChars)
	o.FactChars, o.SummaryChars = max(o.FactChars, 80), max(o.SummaryChars, 200)
	return o
}

// Draft extracts what a session taught. It is a pure function of transcript and options,
// and never fails. It keeps no reference to tr besides substrings of its texts. A
// session that taught nothing gives a draft without statements, and one without messages
// an empty summary. The time is linear in the number of messages; of each message, a
// bounded part is read.
//
// Draft may be called from several goroutines, also with the same transcript.
func Draft(tr *session.Transcript, o Options) draft.Draft {
	o = o.withDefaults()
	drop := dropped{}
	all := speeches(tr)
	if o.MaxFacts <= 0 {
		o.MaxFacts = factsOf(all)
	}
	toAgent := !twoPeople(tr)
	found := collect(all, toAgent, o.FactChars, drop)
	if toAgent {
		found = append(found, agreed(all, o.FactChars)...)
	}
	best := choose(found, max(o.MaxFacts, mostInSummary), drop)
	chosen := slices.Clone(best[:min(len(best), o.MaxFacts)])
	if over := len(best) - len(chosen); over > 0 {
		drop[reasonLimit] += over
	}
	slices.SortFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.order, b.order) })
	d := draft.Draft{Dropped: drop}
	for i := range chosen {
		d.Statements = append(d.Statements, chosen[i].statement(o.FactChars))
	}
	d.Summary = (&digest{tr: tr, all: all, found: best, people: !toAgent}).summary(o.SummaryChars)
	return d
}

// How many statements a session may teach. A model condenses what was said into twelve.
// Rules can only choose, and would leave out most of a long session. On long technical
// chats (34 messages of the user each), 12 statements quote 0.28 of the messages that
// questions are about, these limits 0.49, and no limit 0.56.
const (
	leastFacts = 12
	mostFacts  = 40
)

func factsOf(all []speech) int {
	said := 0
	for i := range all {
		if all[i].person {
			said++
		}
	}
	return min(leastFacts+max(0, said-leastFacts)/2, mostFacts)
}

// mostInSummary is how many candidates a summary chooses from.
const mostInSummary = 40

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}

// candidate is a sentence that may become a statement.
type candidate struct {
	from       *speech
	order      int    // position among the candidates
	text       string // the statement without the speaker's name
	quote      string // the sentence as it is in the message
	corrected  string // the earlier statement that it corrects
	question   string // the question that it answers, if it can't be understood without
	sort       draft.Sort
	confidence float64
	explicit   bool
	answer     bool // the text is a question of the assistant with the user's answer
	agents     bool // the text is a sentence of the assistant with the user's value in it
	open       bool // it is a task that is still to be done
	brief      bool // it says in few words what the speaker is

	terms   []string // index terms, distinct
	weight  []float64
	figures []string // the terms that are numbers or negations
	own     float64  // its score without that of its terms
}

// dropped counts the sentences that were left out, by reason.
type dropped map[string]int

// maxCandidates bounds the candidates to choose from. Of a very long session, those with
// the highest scores are kept.
const maxCandidates = 2000

// strongest returns the n candidates with the highest scores, in their original order.
func strongest(all []candidate, n int) []candidate {
	byWorth := make([]int, len(all))
	for i := range byWorth {
		byWorth[i] = i
	}
	slices.SortStableFunc(byWorth, func(a, b int) int { return cmp.Compare(all[b].worth(), all[a].worth()) })
	byWorth = byWorth[:min(n, len(all))]
	slices.Sort(byWorth)
	kept := make([]candidate, len(byWorth))
	for i, k := range byWorth {
		kept[i] = all[k]
	}
	return kept
}

// keep merges the sort, confidence and explicit mark of the sentence before into k, when
// the two sentences become one.
func (k *candidate) keep(before *candidate) {
	if before.sort != draft.Fact {
		k.sort = before.sort
	}
	k.confidence = min(k.confidence, before.confidence)
	k.explicit = k.explicit || before.explicit
}

// Phrases with which an assistant proposes something and a user accepts or refuses it.
var (
	proposals = list(`i suggest, i'd suggest, i would suggest, i recommend, i'd recommend, i would recommend, i propose, i'd propose, i'd go with, i would go with, i'll use, we should use,
		we should go with, we should keep, we could use, we can use, let's use, let's go with, let's keep, let's switch, let's store, let's put, my recommendation is, my suggestion is, the best option is, i'd use, i would use,
		should we use, should i use, shall we use, shall i use, should we go with, shall we go with, should we switch, shall we switch, should i switch, shall i switch`)
	assent   = analysis.Set("yes yep yeah yup sure ok okay agreed perfect great lgtm absolutely definitely go do sounds good fine exactly correct right approved please let's that works excellent nice")
	refusals = analysis.Set("no not don't nope but instead rather wait stop however although except unless only why what how which when where never actually maybe hold before after first")
)

// longestAssent is the maximum number of words of an assent. A longer answer says itself
// what was decided.
const longestAssent = 12

// agreed finds what the assistant proposed and the user accepted in the next message: "I
// suggest pgx, because lib/pq is not maintained." "Yes, do that." The candidate quotes
// the assistant's message. Only the last proposal of a message counts, since an assent
// answers that.
func agreed(all []speech, limit int) []candidate {
	var out []candidate
	for i := 1; i < len(all); i++ {
		user, agent := &all[i], &all[i-1]
		if !user.person || agent.person || !assents(user) || givesOrders(agent.text) {
			continue
		}
		if c, ok := proposed(agent, limit-characters(acceptedPrefix)); ok {
			out = append(out, c)
		}
	}
	return out
}

// assents reports whether a message accepts a proposal and says nothing else.
func assents(s *speech) bool {
	if len(s.text) > 120 {
		return false
	}
	w := wordsOf(squeeze(s.text))
	if len(w) == 0 || len(w) > longestAssent || !assent[w[0].low] {
		return false
	}
	return !has(w, len(w), refusals) && s.text[len(s.text)-1] != '?'
}

// proposed returns the last proposal in an assistant's message.
func proposed(agent *speech, limit int) (candidate, bool) {
	parts := sentences(agent.text)
	for k := len(parts) - 1; k >= 0; k-- {
		p := parts[k]
		p.open(nil)
		if proposals.starts(p.words) == 0 || hasCredential(&p) {
			continue
		}
		if characters(p.text) > limit || needsContext(p.words[1:], false) {
			break
		}
		k := candidate{from: agent, text: p.text, quote: p.text, sort: draft.Decision, confidence: 0.6, terms: analysis.Terms(p.text)}
		return k, k.weigh(&p, nil)
	}
	return candidate{}, false
}

// page is a text that is written line by line up to a limit.
type page struct {
	lines []string
	left  int // characters that still fit
}

func (p *page) text() string { return strings.Join(p.lines, "\n") }

func (p *page) empty() bool { return len(p.lines) <= 1 }

// line adds a line if it fits.
func (p *page) line(s string) {
	if n := characters(s) + 1; s != "" && n <= p.left {
		p.lines = append(p.lines, s)
		p.left -= n
	}
}

// section adds a line of items, as many as fit into room characters.
func (p *page) section(title, between string, items []string, room int) {
	room = min(room, p.left)
	var b strings.Builder
	n := characters(title) + 1
	for _, item := range items {
		more := characters(item)
		if b.Len() > 0 {
			more += characters(between)
		}
		if n+more > room {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(item)
		n += more
	}
	if b.Len() > 0 {
		p.line(title + b.String())
	}
}

// How candidates are chosen: the next one is always that which adds most to those
// already chosen.
const (
	termWorth     = 0.5  // of the weight of new terms
	knownTerm     = 0.25 // of the weight of a term, if a chosen candidate has it already
	mostTerms     = 10.0 // upper limit for the weight of new terms
	repeatedShare = 0.4  // share of its own score that is left to a candidate without new terms
	sameShare     = 0.8  // of the shorter one's terms: from this share on, two candidates say the same
	postingMax    = 64   // chosen candidates that are looked at for a term
)

// choose picks at most max candidates, and returns them best first.
func choose(all []candidate, max int, drop dropped) []candidate {
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.from.entry.Seq, b.from.entry.Seq) })
	for i := range all {
		all[i].order = i
	}
	p := picker{known: map[string][]int{}}
	queue := make(queue, len(all))
	for i := range all {
		queue[i] = ranked{&all[i], p.gain(&all[i]), 0}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		best := &queue[0]
		if best.at != len(p.chosen) { // candidates chosen since then may have reduced its gain
			best.gain, best.at = p.gain(best.c), len(p.chosen)
			heap.Fix(&queue, 0)
			continue
		}
		c := best.c
		heap.Pop(&queue)
		switch {
		case p.isDuplicate(c):
			drop[reasonDuplicate]++
		case len(p.chosen) >= max:
			drop[reasonLimit]++
		default:
			p.take(c)
		}
	}
	return p.chosen
}

type picker struct {
	chosen []candidate
	known  map[string][]int // term to the chosen ones that have it
}

// gain returns how much a candidate adds to the chosen ones.
func (p *picker) gain(c *candidate) float64 {
	sum, all := 0.0, 0.0
	for i, t := range c.terms {
		all += c.weight[i]
		if p.known[t] != nil {
			sum += knownTerm * c.weight[i]
		} else {
			sum += c.weight[i]
		}
	}
	own := c.own
	if own > 0 && all > 0 { // the tenth decision in the same words is worth less
		own *= repeatedShare + (1-repeatedShare)*sum/all
	}
	return own + termWorth*math.Min(sum, mostTerms)
}

// worth returns the gain of a candidate when no other is chosen.
func (k *candidate) worth() float64 { return (&picker{}).gain(k) }

func (p *picker) take(c *candidate) {
	for _, t := range c.terms {
		if len(p.known[t]) < postingMax {
			p.known[t] = append(p.known[t], len(p.chosen))
		}
	}
	p.chosen = append(p.chosen, *c)
}

// isDuplicate reports whether a chosen candidate of the same speaker says the same: nearly the
// same terms, with the same numbers and the same negation.
func (p *picker) isDuplicate(c *candidate) bool {
	shared := map[int]int{}
	for _, t := range c.terms {
		for _, i := range p.known[t] {
			shared[i]++
		}
	}
	for i, n := range shared {
		o := &p.chosen[i]
		if float64(n) >= sameShare*float64(min(len(c.terms), len(o.terms))) && o.from.name == c.from.name && equalFigures(c, o) &&
			(c.question != "" && c.question == o.question || covers(o.terms, c.terms) || covers(c.terms, o.terms)) {
			return true
		}
	}
	return false
}

// covers reports whether terms contains all of another sentence's terms. If each
// sentence has a term that the other lacks, they are about different things: "The mailer
// service is owned by Cy." and "The auth service is owned by Cy."
func covers(terms, of []string) bool {
	return !slices.ContainsFunc(of, func(t string) bool { return !slices.Contains(terms, t) })
}

// equalFigures reports whether two candidates have the same numbers and are both
// negated or both not.
func equalFigures(a, b *candidate) bool { return slices.Equal(a.figures, b.figures) }

// figures returns the numbers and negations among terms, sorted. They distinguish
// sentences that are otherwise similar.
func figures(terms []string) []string {
	var out []string
	for _, t := range terms {
		if t == "not" || t == "no" || t == "never" {
			t = "not"
		} else if !numbered(t) {
			continue
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// queue is a heap of candidates, the one with the greatest gain first.
type queue []ranked

type ranked struct {
	c    *candidate
	gain float64
	at   int // number of chosen candidates when gain was computed
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].gain != q[j].gain {
		return q[i].gain > q[j].gain
	}
	return q[i].c.order < q[j].c.order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface; nothing is ever added.
func (q *queue) Push(any) {}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
