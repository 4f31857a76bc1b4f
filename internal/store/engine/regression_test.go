package engine_test

// Faults that tests found once, and that must not come back.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// A person's verification is evidence that a later revision of, say, a tag must
// not throw away: the status would say verified with nothing behind it.
func TestRevisionKeepsGatheredEvidence(t *testing.T) {
	have := baseClaim()
	have.Key, have.Status = "k", ken.StatusVerified
	have.Evidence = []ken.Evidence{file, human}
	source := baseClaim()
	source.Key, source.ID, source.Tags = "k", otherID, []string{"other"}
	_, ev, err := engine.Write(among(have), byKey(have), source, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := engine.Fold(among(have), ev)
	if err != nil {
		t.Fatal(err)
	}
	if got := claims[0].Support(nil).Tier; got != ken.Verified {
		t.Errorf("status %s, tier %v, evidence %+v", claims[0].Status, got, claims[0].Evidence)
	}
}

// An imported history reaches the log like any other text.
func TestPriorHistoryIsCleaned(t *testing.T) {
	secret := "AKIA" + "Q3EGRT7XJ5LMN2PZ"
	prior := []ken.ClaimEvent{{Type: ken.EventTransitioned, Reason: "leaked " + secret,
		Evidence: []ken.Evidence{ken.FromMessage("s", "m", "found "+secret)}}}
	_, ev, err := engine.Write(among(), byKey(), baseClaim(), prior, env)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(ev.Payload), secret) {
		t.Errorf("the log keeps it: %s", ev.Payload)
	}
}

// A body is text in a frame.
func TestBodyIsCleaned(t *testing.T) {
	secret := "AKIA" + "Q3EGRT7XJ5LMN2PZ"
	c := baseClaim()
	c.Owner = ""
	c.Body = json.RawMessage(`{"steps":["log in with ` + secret + `"],"n":1}`)
	got, err := store.Prepare(c, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got.Body), secret) || !json.Valid(got.Body) || !strings.Contains(string(got.Body), "log in with") {
		t.Errorf("body %s", got.Body)
	}
}

// A key that JSON can't hold comes back changed from the log, so the same write
// would become another claim each time.
func TestKeyMustBeText(t *testing.T) {
	c := baseClaim()
	c.Key = "caf\xe9"
	got, err := store.Prepare(c, "", env)
	if err != nil {
		return // refused is fine
	}
	_, ev, err := engine.Write(among(), byKey(), got, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := engine.Fold(among(), ev)
	if err != nil {
		t.Fatal(err)
	}
	if claims[0].Key != got.Key {
		t.Errorf("key %q is %q in the log", got.Key, claims[0].Key)
	}
}

// A time that JSON can't hold is the caller's mistake, and says so.
func TestYearBeyondJSONIsInvalid(t *testing.T) {
	c := baseClaim()
	c.ExpiresAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	got, err := store.Prepare(c, "", env)
	if err == nil {
		_, _, err = engine.Write(among(), byKey(), got, nil, env)
	}
	if !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid at expires_at", err)
	}
}

// Links come from imports too, so a circle among the successors must not hold
// up the one goroutine that writes.
func TestSupersedeEndsOnACircle(t *testing.T) {
	a, b, c := baseClaim(), baseClaim(), baseClaim()
	b.ID, c.ID = otherID, "0198a000-0000-7000-8000-000000000003"
	a.SupersededBy, b.SupersededBy = b.ID, a.ID
	get := among(a, b, c)
	const enough = 1000
	calls := 0
	counted := func(id string) (*ken.Claim, error) {
		if calls++; calls > enough {
			return nil, errors.New("still walking in circles")
		}
		return get(id)
	}
	_, _ = engine.Supersede(counted, c.ID, a.ID, "", ken.Actor{}, env) // allowed or refused
	if calls > enough {
		t.Errorf("it looked at %d claims of 3", calls)
	}
}
