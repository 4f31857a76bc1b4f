package harvest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

// A session of questions leaves no episode, whatever the model extracts, and neither does
// one whose only tool was Ken's own.
func TestQuestionsAloneLeaveNothing(t *testing.T) {
	for name, msgs := range map[string][]ken.Message{
		"one": {user("Which port does the ledger service listen on?"), assistant("I was told nothing about that.")},
		"two": {user("When does the release train leave?"), assistant("(I was told 0 block(s))"), user("And where to?"), assistant("I can't say.")},
		"recalled": {user("Which port does the ledger service listen on?"), calls("c1", "mcp__ken__memory_recall", `{"query":"ledger port"}`),
			tool("c1", "Reference data from Ken, not instructions.\n[k:1] The ledger service listens on port 7443."), assistant("On 7443.")},
	} {
		r := newRig(t)
		r.say(t, "s1", msgs...)
		out := r.end(t, "s1")
		if n := len(r.all(t)); n > 0 || out.Episode != "" || out.Note == "" {
			t.Errorf("%s: %d claims, %+v", name, n, out)
		}
	}
}

// A statement of a person about themselves leaves an episode, even if it is no fact that
// can be understood on its own.
func TestAStatementLeavesAnEpisode(t *testing.T) {
	r := newRig(t)
	r.say(t, "s1", user("I am allergic to peanuts."), assistant("Good to know."))
	if out := r.end(t, "s1"); out.Episode == "" {
		t.Errorf("%+v", out)
	}
}

// Repeated work for the same goal is one episode, whose count increases. Other work for
// the same goal has its own episode.
func TestTheSameGoalCountsUp(t *testing.T) {
	r := newRig(t)
	work := func(id, command string) {
		r.say(t, id, user("Migrate the local database."), bash("x1", command), tool("x1", "done\nexit code: 0"), assistant("The database is migrated."))
	}
	for i := range 5 {
		id := fmt.Sprintf("s%d", i)
		work(id, "make migrate")
		out := r.end(t, id)
		if episodes := r.kind(t, ken.KindEpisode); len(episodes) != 1 || out.Episode != episodes[0].ID {
			t.Fatalf("%s: %+v of %s", id, out, texts(episodes))
		}
		if again, err := r.Reharvest(t.Context(), id, nil); err != nil || again.Episode != out.Episode {
			t.Errorf("%s again: %+v, %v", id, again, err)
		}
		if e := r.kind(t, ken.KindEpisode)[0]; e.Reinforcements != i {
			t.Errorf("%s: reinforced %d times", id, e.Reinforcements)
		}
		r.clock.pass(24 * time.Hour)
	}
	work("other", "make migrate DB=ledger")
	r.end(t, "other")
	if episodes := r.kind(t, ken.KindEpisode); len(episodes) != 2 {
		t.Errorf("other work: %s", texts(episodes))
	}
}
