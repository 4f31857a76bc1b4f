package harvest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// What a correction takes back is gone, and nothing else is.
func TestCorrectionsTakeBackWhatTheyCorrect(t *testing.T) {
	for name, tt := range map[string]struct {
		said       []ken.Message
		keep, lose []string
	}{
		"a pronoun behind a correction": {[]ken.Message{user("The ledger service is owned by Cy."), assistant("Noted."),
			user("The cache uses Redis for sessions. Scratch that, it uses Memcached for sessions on port 11211."), assistant("Noted.")}, []string{"owned by Cy"}, []string{"Redis"}},
		"no correction": {[]ken.Message{user("The ledger service listens on port 8080. Make that configurable by an environment variable."), assistant("Noted.")},
			[]string{"8080"}, nil},
		"a word that corrects elsewhere": {[]ken.Message{user("The backup of the ledger runs at 2am. Error correction uses Reed-Solomon with 4 parity shards."), assistant("Noted.")},
			[]string{"2am", "Error correction uses"}, nil},
		"an old answer": {[]ken.Message{user("Please look at the ledger service of the shop."), assistant("Which port does the ledger service use?"), user("8080"), assistant("Noted."),
			user("The lamp of the lighthouse is green."), assistant("Noted."), user("I meant the staging log of the shop."), assistant("Noted.")}, []string{"8080"}, []string{"use? Answer: the staging"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.say(t, "s", tt.said...)
			r.end(t, "s")
			facts := texts(r.kind(t, ken.KindFact))
			for _, w := range tt.keep {
				if !strings.Contains(facts, w) {
					t.Errorf("lost %q:\n%s", w, facts)
				}
			}
			for _, w := range tt.lose {
				if strings.Contains(facts, w) {
					t.Errorf("kept %q:\n%s", w, facts)
				}
			}
		})
	}
}

// A question of the assistant does not carry a secret into what the user says.
func TestAnAnswerKeepsNoSecretOfItsQuestion(t *testing.T) {
	r := newRig(t)
	r.say(t, "s", user("I have to log in to db1 of the shop."), assistant("The database password is hunter2Xy9zz on db1. Which one do you want?"), user("the second one"), assistant("Noted."))
	r.end(t, "s")
	if facts := texts(r.kind(t, ken.KindFact)); strings.Contains(facts, "hunter2") {
		t.Errorf("kept\n%s", facts)
	}
}

// A value of another unit replaces nothing.
func TestASizeReplacesNoTime(t *testing.T) {
	r := newRig(t)
	old := r.knows(t, "The payments service keeps its logs for 30 days.")
	r.say(t, "s", user("The payments service keeps its logs for 20 gb of disk now."), assistant("Noted."))
	out := r.end(t, "s")
	if slices.Contains(out.Superseded, old.ID) {
		t.Errorf("a size replaced a time: %+v", out)
	}
}
