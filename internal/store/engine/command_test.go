package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// What commands do to a store is tested on every store, by storetest. Here are
// the events that they return.

func byKey(claims ...ken.Claim) func(string) (string, error) {
	return func(key string) (string, error) {
		for _, c := range claims {
			if c.Key == key {
				return c.ID, nil
			}
		}
		return "", nil
	}
}

func decode(t *testing.T, ev *store.Event) store.Payload {
	t.Helper()
	p, err := ev.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWriteCommandEvents(t *testing.T) {
	c := baseClaim()
	prior := []ken.ClaimEvent{{Seq: 4, At: someDay, Type: ken.EventWritten}}
	id, ev, err := engine.Write(among(), byKey(), c, prior, env)
	if err != nil || id != c.ID || ev == nil {
		t.Fatalf("%q, %v, %v", id, ev, err)
	}
	if ev.Type != ken.EventWritten || ev.Claim != claimID || !ev.At.Equal(someDay) || ev.Salt == [16]byte{} {
		t.Errorf("event %+v", ev)
	}
	p := decode(t, ev)
	var stored ken.Claim
	if err := json.Unmarshal(p.Claim, &stored); err != nil || !cmp.Equal(c, stored) || !cmp.Equal(prior, p.Prior) {
		t.Errorf("payload %s, prior %+v, %v", p.Claim, p.Prior, err)
	}

	_, again, err := engine.Write(among(), byKey(), c, prior, env)
	if err != nil || again.Salt == ev.Salt {
		t.Errorf("two events share a salt (%v)", err)
	}
}

func TestWriteCommandIsNoChange(t *testing.T) {
	have := baseClaim()
	have.Key, have.Status, have.SupersededBy, have.Reinforcements = "k", ken.StatusSuperseded, otherID, 4
	have.Evidence = []ken.Evidence{file, human} // gathered since
	source := baseClaim()
	source.Key, source.ID = "k", otherID
	source.CreatedAt, source.UpdatedAt = someDay.Add(1e9), someDay.Add(2e9)
	id, ev, err := engine.Write(among(have), byKey(have), source, nil, env)
	if err != nil || id != have.ID || ev != nil {
		t.Errorf("%q, %+v, %v; want the claim that is there and no event", id, ev, err)
	}
}

func TestWriteCommandRevises(t *testing.T) {
	have := baseClaim()
	have.Key, have.Status, have.Supersedes, have.Reinforcements, have.ReinforcedAt = "k", ken.StatusVerified, otherID, 4, someDay
	for name, change := range map[string]func(*ken.Claim){
		"text":       func(c *ken.Claim) { c.Text = "other" },
		"heading":    func(c *ken.Claim) { c.Heading = "other" },
		"body":       func(c *ken.Claim) { c.Body = json.RawMessage(`{}`) },
		"tags":       func(c *ken.Claim) { c.Tags = nil },
		"scope":      func(c *ken.Claim) { c.Scope = ken.Scope{Type: ken.ScopeRun, ID: "x"} },
		"confidence": func(c *ken.Claim) { c.Confidence = 0.5 },
		"evidence":   func(c *ken.Claim) { c.Evidence = []ken.Evidence{human} },
		"expires_at": func(c *ken.Claim) { c.ExpiresAt = someDay },
	} {
		source := baseClaim()
		source.Key, source.ID, source.UpdatedAt = "k", otherID, someDay.Add(2e9)
		source.Status = ken.StatusHypothesis
		change(&source)
		id, ev, err := engine.Write(among(have), byKey(have), source, nil, env)
		if err != nil || id != have.ID || ev == nil || ev.Type != ken.EventRevised || ev.Claim != claimID {
			t.Errorf("%s: %q, %+v, %v", name, id, ev, err)
			continue
		}
		var c ken.Claim
		if err := json.Unmarshal(decode(t, ev).Claim, &c); err != nil {
			t.Fatal(err)
		}
		want := have.Status
		if name == "text" { // nobody verified the new words
			want = source.Status
		}
		if c.ID != have.ID || c.Status != want || c.Supersedes != have.Supersedes || c.Reinforcements != 4 ||
			!c.CreatedAt.Equal(have.CreatedAt) || !c.UpdatedAt.Equal(source.UpdatedAt) {
			t.Errorf("%s: revised into %+v", name, c)
		}
	}
}

func TestCommandsPassOnLookupErrors(t *testing.T) {
	broken := errors.New("disk")
	get := func(string) (*ken.Claim, error) { return nil, broken }
	keys := func(string) (string, error) { return "", broken }
	keyed := baseClaim()
	keyed.Key = "k"
	for name, call := range map[string]func() error{
		"write":       func() error { _, _, err := engine.Write(get, byKey(), baseClaim(), nil, env); return err },
		"write a key": func() error { _, _, err := engine.Write(among(), keys, keyed, nil, env); return err },
		"revise":      func() error { _, _, err := engine.Write(get, byKey(keyed), keyed, nil, env); return err },
		"transition": func() error {
			_, err := engine.Transition(get, ken.Transition{ID: otherID, To: ken.StatusVerified}, env)
			return err
		},
		"supersede": func() error {
			_, err := engine.Supersede(get, otherID, claimID.String(), "", ken.Actor{}, env)
			return err
		},
		"forget": func() error { _, err := engine.Forget(get, otherID, "", ken.Actor{}, env); return err },
	} {
		if err := call(); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The tombstone says that something was forgotten, and nothing of what.
func TestForgetCommandKeepsNothing(t *testing.T) {
	actor := ken.Actor{Type: "user", ID: "ada"}
	ev, err := engine.Forget(among(baseClaim()), claimID.String(), "asked to", actor, env)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Payload{From: ken.StatusObserved, Reason: "asked to", Actor: actor}
	if diff := cmp.Diff(want, decode(t, ev)); diff != "" || ev.Type != ken.EventForgotten {
		t.Errorf("%s (-want +got):\n%s", ev.Type, diff)
	}
	if strings.Contains(string(ev.Payload), "sagas") {
		t.Errorf("it repeats the text: %s", ev.Payload)
	}
	if _, err := engine.Forget(among(), claimID.String(), "", actor, env); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("an unknown claim: %v", err)
	}
}

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

// A key that JSON can't represent would be read back changed, so that the same write
// would create another claim each time.
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
