package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

// The console shows an owner the shared claims that its turns received, and no other
// claims of the other owner.
func TestPagesOfWhoReadsWhatIsShared(t *testing.T) {
	c := open(t, bare, func(s *setup) {
		s.config.Repository.Index, s.config.Knowledge.Shares, s.config.Retrieval.Deadline = false, []string{"team"}, 30*time.Second
	})
	ana := access.Principal{Name: "ana", Owner: "ana", Rights: access.Rights()}
	team := access.Principal{Name: "lead", Owner: "team", Rights: access.Rights()}
	shared := c.learn("team", "The harbour is closed by lanterns.", func(k *ken.Claim) {
		k.Evidence = []ken.Evidence{ken.FromHumanAssertion("ada", now, "")}
		k.Evidence[0].SessionID = "session-of-team"
	})
	private := c.learn("team", "The harbour has a quagmire.", func(k *ken.Claim) { k.Evidence = []ken.Evidence{ken.FromUserStatement("session-of-team", "m")} })
	own := c.learn("ana", "The harbour of ana is shallow.", func(k *ken.Claim) { k.Evidence = []ken.Evidence{ken.FromHumanAssertion("ana", now, "")} })
	for _, who := range []access.Principal{ana, team} {
		c.layer.Assemble(t.Context(), ken.Turn{ID: "turn-" + who.Owner, Owner: who.Owner, Session: "session-of-" + who.Owner,
			Messages: []ken.Message{{Role: "user", Text: "How is the harbour closed, and is there a lantern?"}}})
	}
	paths := append(c.everyPage(), "claims?q=harbour", "claims?q=quagmire", "turns/turn-ana", "turns/turn-ana/replay", "turns/turn-ana/whatif",
		"turns/turn-team", "sessions/session-of-ana", "sessions/session-of-team", "claims/"+shared, "claims/"+private, "try?text=how+is+the+harbour+closed",
		"entities/harbour")
	told := false
	for _, path := range paths {
		status, p := get(t, c, "/console/"+path, ana)
		text := p.text()
		told = told || status == http.StatusOK && strings.Contains(text, "lanterns")
		if strings.Contains(text, "quagmire") && path != "claims?q=quagmire" || strings.Contains(text, "has a quagmire") ||
			strings.Contains(text, "session-of-team") && path != "sessions/session-of-team" {
			t.Errorf("%s: ana sees\n%s", path, text)
		}
		if _, p := get(t, c, "/console/"+path, team); strings.Contains(p.text(), "is shallow") {
			t.Errorf("%s: team sees\n%s", path, p.text())
		}
	}
	if !told {
		t.Error("no page tells ana what her turn was given: the test shows nothing")
	}
	if status, _ := get(t, c, "/console/claims/"+own, team); status != http.StatusNotFound {
		t.Errorf("team reads a claim of ana's: %d", status)
	}
}
