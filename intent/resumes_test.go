package intent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

func TestAConversationThatBeginsWithGoingOnResumes(t *testing.T) {
	before := []ken.Message{user("How do I build it?"), {Role: "assistant", Text: "With make."}}
	for _, tc := range []struct {
		messages []ken.Message
		resumes  bool
	}{
		{[]ken.Message{user("continue")}, true},
		{[]ken.Message{{Role: "system", Text: "You are an agent."}, user("Please carry on.")}, true},
		{[]ken.Message{user("ok, go on")}, true},
		{[]ken.Message{user("keep going")}, true},
		{[]ken.Message{user("hi")}, false},
		{[]ken.Message{user("thanks!")}, false},
		{append(before, user("continue")), false}, // goes on with this conversation
		{[]ken.Message{user("continue with the ledger migration")}, false},
	} {
		s := Analyze(tc.messages)
		if s.Resumes != tc.resumes || s.Resumes && s.Asks {
			t.Errorf("%q: resumes %v, asks %v", tc.messages[len(tc.messages)-1].Text, s.Resumes, s.Asks)
		}
	}
}

// A follow-up takes its subject from an earlier message, within the same limit.
func TestTheQuestionKeepsItsLimitWhateverCameBefore(t *testing.T) {
	long := "s " + strings.Repeat("%", maxQuestion-2) // fills the limit by itself
	s := Analyze([]ken.Message{user("Where is Rome?"), {Role: "assistant", Text: "In Italy."}, user(long)})
	if n := utf8.RuneCountInString(s.Question); n > maxQuestion {
		t.Errorf("%d characters", n)
	}
}
