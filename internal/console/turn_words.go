package console

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
)

// stageWords say what a stage of a turn does, or what a leg looks for.
var stageWords = map[string]string{
	"guard": "clean what is read", "intent": "read the question", "graph": "look at the code", "retrieve": "search", "budget": "fill the block",
	retriever.LegKeyword: "search by words", retriever.LegVector: "search by meaning", retriever.LegPinned: "what is in every turn",
	retriever.LegSessions: "the last sessions", retriever.LegPlaybooks: "playbooks that fit", retriever.LegStructure: "what is filed under its entities",
	retriever.LegLate: "found too late for the turn before", "store": "open the store", "middleware": "a middleware of the program",
	"recovery": "where the session stands", "objectives": "the objectives", "scorer": "the learned order", "lineage": "which turn it follows",
}

// fault is a stage that failed or was left out.
type fault struct{ Stage, Says, Why string }

// faults reads what a receipt says of them, "stage: why".
func faults(degraded []string) (out []fault) {
	for _, d := range degraded {
		stage, why, ok := strings.Cut(d, ": ")
		if !ok {
			stage, why = "", d
		}
		out = append(out, fault{stage, stageWords[stage], why})
	}
	return out
}

// cutWord says what a reason to leave something out means.
type cutWord struct {
	reason ken.CutReason
	says   string
}

// cutWords are all reasons, in the order of the page.
var cutWords = []cutWord{
	{ken.CutBudget, "did not fit into the block"},
	{ken.CutPool, "others bore on the question more"},
	{ken.CutFloor, "too little says that it bears on the question"},
	{ken.CutDuplicate, "the context held it already"},
	{ken.CutStatus, "disputed, superseded or a hypothesis: no turn gets that"},
	{ken.CutTier, "weaker than the agent’s weight admits"},
	{ken.CutTrust, "from somebody who is trusted too little"},
	{ken.CutScope, "outside the scopes or kinds of the turn"},
	{ken.CutExpired, "its time was over"},
	{ken.CutLate, "it came after the deadline"},
}

// stateWords say what became of an item since its turn; what is as it was says nothing.
var stateWords = map[middleware.ItemState]string{
	middleware.ItemChanged:   "perhaps changed since: these are its words now",
	middleware.ItemForgotten: "forgotten since",
	middleware.ItemMade:      "made for this turn",
}

// verdictWords head the answer to why a claim was there or not.
var verdictWords = map[middleware.Verdict]string{
	middleware.VerdictInjected: "It was given.", middleware.VerdictCut: "It was found and left out.", middleware.VerdictUnseen: "It was not found.",
	middleware.VerdictUnknown: "It was not there.", middleware.VerdictSilent: "Nothing was looked for.",
}

// mark is something about a turn or an item in a word, with the tone of it.
type mark struct{ Tone, Says string }

// useMarks say what the model's answer made of an item.
func useMarks(u ken.Use) (out []mark) {
	for _, m := range []struct {
		is   bool
		mark mark
	}{
		{u.Cited, mark{"success", "the answer cites it"}}, {u.Repeated, mark{"success", "the answer repeats it"}},
		{u.ToolOK, mark{"success", "a tool was called with it"}}, {u.Corrected, mark{"danger", "the person says it is wrong"}},
	} {
		if m.is {
			out = append(out, m.mark)
		}
	}
	return out
}

// modeTone is the tone of a mode.
func modeTone(m ken.Mode) string {
	switch m {
	case ken.ModeHybrid:
		return "success"
	case ken.ModeLate:
		return "warning"
	case ken.ModeNone:
		return ""
	}
	return "info"
}

// countMarks say in a word each what is remarkable about a turn, the worst first.
func countMarks(corrected, tainted, degraded, overflowed, used int) (out []mark) {
	for _, m := range []struct {
		n         int
		tone      string
		one, many string
	}{
		{corrected, "danger", "item corrected", "items corrected"}, {tainted, "danger", "tainted call", "tainted calls"},
		{overflowed, "danger", "rule did not fit", "rules did not fit"}, {degraded, "warning", "stage degraded", "stages degraded"},
		{used, "success", "item used", "items used"},
	} {
		if m.n > 0 {
			out = append(out, mark{m.tone, plural(m.n, m.one, m.many)})
		}
	}
	return out
}
