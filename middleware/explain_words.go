package middleware

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/retriever"
)

// found says which legs brought an item, best rank first.
func found(legs map[string]ken.LegScore) string {
	names := slices.SortedFunc(maps.Keys(legs), func(a, b string) int {
		if d := legs[a].Rank - legs[b].Rank; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s at rank %d", n, legs[n].Rank)
	}
	return strings.Join(names, " and ")
}

// injected words what became of an item of the block; standing is how it stands to what
// the turn was about.
func (x *explainer) injected(it *KeptItem, i int, standing string) {
	e := x.e
	e.Verdict, e.Item = VerdictInjected, it
	place := fmt.Sprintf("It is item %d of %d in the block", i+1, len(x.rec.Items))
	switch {
	case it.Kind == "":
		e.Why = place + ". It has been forgotten since, and with it how it was found."
	case it.Kind == budgeter.KindSymbol && it.Signals[retriever.SignalDistance] > 0:
		e.Why = place + ", found by " + found(it.Legs) + ": it hangs together with a symbol that the turn names. It was made of the files as they were."
	case it.Kind == budgeter.KindSymbol:
		e.Why = place + ", found by " + found(it.Legs) + ": the turn names it. It was made of the files as they were."
	case it.Kind == budgeter.KindObjectives:
		e.Why = place + ", and says what the project aims at: files of the project say so."
	case it.Kind == ken.KindDecision && it.Legs[legGraph].Rank > 0:
		e.Why = place + ", found by " + found(it.Legs) + ": it is a decision about a symbol that the turn names."
	case it.State == ItemMade:
		e.Why = place + ", and says where the session stands: the conversation had lost it."
	case it.Memory:
		e.Why = place + ", as memory, which is there beside what bears on the question: " + memoryBy(it.Legs) + "."
	case it.Constraint && standing != "":
		e.Why = place + ", whatever the ranking says: it is " + standing + "."
	case standing != "":
		e.Why = place + ", found by " + found(it.Legs) + "; it is " + standing + "."
	default:
		e.Why = place + ", found by " + found(it.Legs) + "."
	}
	if x.rec.Reused {
		e.Why += " An earlier request of the same turn had composed the block."
	}
	if it.State == ItemChanged {
		e.Why += " It has changed since: the text is the present one."
	}
}

// memoryBy says what makes an item memory.
func memoryBy(legs map[string]ken.LegScore) string {
	for _, leg := range []struct{ name, why string }{
		{retriever.LegPinned, "it belongs into every turn"},
		{retriever.LegPlaybooks, "it is a playbook that fits"},
		{retriever.LegSessions, "it is one of the last sessions"},
	} {
		if _, ok := legs[leg.name]; ok {
			return leg.why
		}
	}
	return "found by " + found(legs)
}

// cuts are what each reason means, and what would change it.
var cuts = map[ken.CutReason]struct{ why, try string }{
	ken.CutScope:     {"It was outside the scopes or kinds of the turn.", "Ask with a scope that it has, or learn it without one."},
	ken.CutStatus:    {"It was a hypothesis, disputed or superseded then, and no turn gets such a claim.", "Approve or verify it, if it is true."},
	ken.CutTier:      {"It was weaker than the agent's weight admits.", "Add evidence to it, or set retrieval.weight to default."},
	ken.CutTrust:     {"Its least trusted evidence was below retrieval.min_trust.", "Lower retrieval.min_trust, or have a person verify it."},
	ken.CutExpired:   {"Its time was over.", "Learn it again with another date, if it still holds."},
	ken.CutFloor:     {"There was not enough evidence that it bears on the question.", "Ask with more of its words, or lower retrieval.floor."},
	ken.CutDuplicate: {"The context held it already.", ""},
	ken.CutBudget:    {"It did not fit beside what is stronger or bears on the question more.", "Raise budget.chars, or shorten it."},
	ken.CutPool:      {"Others bore on the question more than it.", "Ask with more of its words."},
	ken.CutLate:      {"It arrived after the deadline of the turn.", "Raise retrieval.deadline, or look at ken doctor for a slow embedder."},
}

func (x *explainer) cut(reason ken.CutReason, detail string) {
	e := x.e
	e.Verdict, e.Reason, e.Detail = VerdictCut, reason, detail
	says, ok := cuts[reason]
	if !ok {
		says.why = "It was left out: " + string(reason) + "."
	}
	e.Why, e.Try = says.why, says.try
}

// absent explains a claim that the receipt does not name.
func (x *explainer) absent(then *life) {
	e := x.e
	e.Verdict = VerdictUnknown
	switch {
	case then.forgotten:
		e.Why = "It had been forgotten before the turn."
	case !then.there:
		e.Why = "It was not known yet: it was written at " + then.written.UTC().Format(time.RFC3339) + ", after the turn."
	case x.rec.Mode == ken.ModeNone:
		e.Verdict, e.Why = VerdictSilent, "Nothing was looked for in that turn: "+orUnknown(x.rec.Cause)+"."
	case then.status != "" && !slices.Contains(ken.RecallStatuses(), then.status):
		x.cut(ken.CutStatus, string(then.status))
		e.Why = "It was " + string(then.status) + " then, and no turn gets such a claim."
		if then.status == ken.StatusSuperseded {
			e.Try = "Look at what replaced it."
		}
	case then.expired:
		x.cut(ken.CutExpired, "")
	default:
		e.Verdict, e.Why = VerdictUnseen, "No leg found it among the best: "+x.asked()
		e.Try = "Ask with words that it has; ken recall shows what a question finds."
	}
}

func orUnknown(cause string) string {
	if cause == "" {
		return "the receipt does not say why"
	}
	return cause
}

// asked says what was looked for, and how.
func (x *explainer) asked() string {
	s := &x.rec.Signals
	words := slices.Concat(s.Keywords, s.Symbols, s.Entities, s.Failures)
	out := "nothing of the question was kept"
	if len(words) > 0 {
		out = "the question was read as " + strings.Join(words, ", ")
	}
	switch {
	case x.rec.Mode == ken.ModeHybrid:
		out += ", and searched for by words and by meaning."
	case x.rec.Cause != "":
		out += ", and searched for in mode " + string(x.rec.Mode) + ": " + strings.TrimSuffix(x.rec.Cause, ".") + "."
	default:
		out += ", and searched for in mode " + string(x.rec.Mode) + "."
	}
	return out
}
