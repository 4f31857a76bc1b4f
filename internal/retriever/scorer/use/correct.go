package use

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// objections are beginnings of messages that contradict what was said before.
var objections = []string{"no,", "no.", "no!", "no -", "no –", "no —", "no;", "no that", "no it", "no we", "no the", "nope", "nah,", "wrong", "incorrect", "not quite",
	"not true", "not anymore", "not any more", "that's not", "thats not", "that is not", "that isn't", "it's not", "this is not right", "you're wrong", "you are wrong"}

// polite are beginnings that look like an objection but are not.
var polite = []string{"no, thanks", "no, thank", "no, that's all", "no, that is all", "no, that's fine", "no, that's it", "no, nothing", "no, all good", "no, go ahead", "no, please", "no, i'm good",
	"no, it's fine", "no, that will do", "no, sounds good", "no, perfect", "nope, all good", "nope, that's", "nope, thanks", "no. thanks", "no. that's all", "not quite sure", "that's not a problem", "that's not needed",
	"that's not bad", "wrong window", "wrong chat"}

// complaints are phrases near the beginning of a message that say that something is no longer true.
var complaints = []string{"is outdated", "that's outdated", "thats outdated", "are outdated", "out of date", "that's wrong", "thats wrong", "that is wrong", "was wrong", "is incorrect", "that's incorrect",
	"not correct", "isn't correct", "isn't right", "not right anymore", "no longer true", "no longer valid", "no longer the case", "no longer use", "no longer uses", "doesn't apply anymore", "does not apply anymore",
	"not true anymore", "has changed since", "that changed", "that has changed", "that's old", "is stale", "that's stale", "don't use that anymore", "we don't do that", "is wrong now", "is deprecated"}

// corrected returns the used items that the user's next message says were wrong. If several items
// were used, these are the ones whose terms it repeats. If one was used, it is that one.
func corrected(next string, uses []ken.Use, r *reading) (items []int) {
	if !Objects(next) {
		return nil
	}
	var used []int
	for i := range uses {
		if uses[i].Used() {
			used = append(used, i)
		}
	}
	if len(used) < 2 {
		return used
	}
	named := map[int]bool{}
	for _, t := range analysis.Tokens(nil, prefix(next, maxNext)) {
		if at, ok := r.at[t.Term]; ok {
			named[int(r.terms[at].was)] = true // shared terms identify no item
		}
	}
	for _, i := range used {
		if named[i] {
			items = append(items, i)
		}
	}
	return items
}

// Objects reports whether a user's message says that what was said before is wrong. If Next does
// not object, Judge returns the same as without Next.
func Objects(text string) bool {
	low := strings.ToLower(strings.TrimSpace(prefix(text, maxNext)))
	low = strings.ReplaceAll(low, "’", "'")
	begins := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(low, p) })
	}
	if begins(polite) {
		return false
	}
	if begins(objections) {
		return true
	}
	beginning := prefix(low, 160)
	if at := strings.IndexByte(beginning, '?'); at >= 0 { // a question is not a complaint
		beginning = beginning[:0]
	}
	return slices.ContainsFunc(complaints, func(p string) bool { return strings.Contains(beginning, p) })
}
