package engine_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

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
