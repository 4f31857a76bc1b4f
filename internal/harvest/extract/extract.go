package extract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/run/session"
)

// Defaults of Options.
const (
	DefaultFactChars    = 300
	DefaultSummaryChars = 1500
)

// Options bounds a draft. The zero value is the default; so is anything below zero.
type Options struct {
	// MaxFacts bounds the statements. By default a session may teach 12, and beyond
	// twelve messages of persons one more for every two, up to 40.
	MaxFacts     int
	FactChars    int // characters (code points) of a statement's text, at least 80
	SummaryChars int // characters of the summary, at least 200
}

func (o Options) withDefaults() Options {
	if o.FactChars <= 0 {
		o.FactChars = DefaultFactChars
	}
	if o.SummaryChars <= 0 {
		o.SummaryChars = DefaultSummaryChars
	}
	o.FactChars, o.SummaryChars = max(o.FactChars, 80), max(o.SummaryChars, 200)
	return o
}

// Draft extracts what a session taught. It is a pure function: the same transcript
// and options give the same draft. It reads nothing but tr, keeps no reference to
// it beyond substrings of its texts, and never fails; a session that taught nothing
// gives a draft without statements, and one in which nobody said anything an empty
// summary. Its time is linear in the number of messages, and what it reads of a
// message is bounded.
//
// Draft may be called from several goroutines, also with one transcript.
func Draft(tr *session.Transcript, o Options) draft.Draft {
	o = o.withDefaults()
	drop := dropped{}
	all := speeches(tr)
	if o.MaxFacts <= 0 {
		o.MaxFacts = factsOf(all)
	}
	toAgent := !twoPeople(tr)
	found := listen(all, toAgent, o.FactChars, drop)
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

// How many statements a session may teach. A model condenses what was said into
// twelve; a rule can only choose, and from a long session it then leaves out most.
// On long technical chats (34 messages of the user each) 12 statements quote 0.28 of
// the messages that questions are about, this many 0.49, and all that could be had 0.56.
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
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}
