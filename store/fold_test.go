package store_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const otherID = "0198a000-0000-7000-8000-000000000002"

var (
	file  = ken.FromFile("a.go", "", "")
	human = ken.FromHumanAssertion("ada", someDay, "read the code")
)

func baseClaim() ken.Claim {
	return ken.Claim{ID: claimID.String(), Kind: ken.KindFact, Text: "payments uses sagas", Status: ken.StatusObserved,
		Confidence: 1, Evidence: []ken.Evidence{file}, CreatedAt: someDay, UpdatedAt: someDay, Tags: []string{"saga"}}
}

// among looks claims up in a list.
func among(claims ...ken.Claim) store.Lookup {
	return func(id string) (*ken.Claim, error) {
		for i := range claims {
			if claims[i].ID == id {
				return &claims[i], nil
			}
		}
		return nil, nil
	}
}

func written(t *testing.T, c ken.Claim) store.Payload {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Payload{Claim: raw}
}

func TestFoldByType(t *testing.T) {
	at := someDay.Add(1e9)
	next := baseClaim()
	next.ID, next.Text = otherID, "payments uses two-phase commit"
	revised := baseClaim()
	revised.Text = "payments uses sagas everywhere"

	for _, tt := range []struct {
		typ  ken.EventType
		p    store.Payload
		want func() []ken.Claim
	}{
		{ken.EventWritten, written(t, baseClaim()), func() []ken.Claim { return []ken.Claim{baseClaim()} }},
		{ken.EventRevised, written(t, revised), func() []ken.Claim { return []ken.Claim{revised} }},
		{ken.EventTransitioned, store.Payload{From: ken.StatusObserved, To: ken.StatusVerified, Evidence: []ken.Evidence{human, file}},
			func() []ken.Claim {
				c := baseClaim()
				c.Status, c.UpdatedAt, c.Evidence = ken.StatusVerified, at, []ken.Evidence{file, human}
				return []ken.Claim{c}
			}},
		{ken.EventReinforced, store.Payload{}, func() []ken.Claim {
			c := baseClaim()
			c.Reinforcements, c.ReinforcedAt, c.UpdatedAt = 1, at, at
			return []ken.Claim{c}
		}},
		{ken.EventSuperseded, store.Payload{From: ken.StatusObserved, To: ken.StatusSuperseded, Other: otherID}, func() []ken.Claim {
			c, n := baseClaim(), next
			c.Status, c.SupersededBy, c.UpdatedAt = ken.StatusSuperseded, otherID, at
			n.Supersedes = c.ID
			return []ken.Claim{c, n}
		}},
		{ken.EventForgotten, store.Payload{Reason: "asked to"}, func() []ken.Claim { return []ken.Claim{{ID: claimID.String()}} }},
	} {
		t.Run(string(tt.typ), func(t *testing.T) {
			before, beforeNext := baseClaim(), next
			ev := &store.Event{At: at, Type: tt.typ, Claim: claimID, Payload: payload(t, tt.p)}
			got, err := store.Fold(among(before, beforeNext), ev)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]ken.Claim{baseClaim(), next}, []ken.Claim{before, beforeNext}); diff != "" {
				t.Errorf("the claims before were changed:\n%s", diff)
			}
		})
	}
}

func TestFoldOddities(t *testing.T) {
	event := func(typ ken.EventType, p []byte) *store.Event {
		return &store.Event{Seq: 3, Type: typ, Claim: claimID, Payload: p}
	}
	t.Run("an erased write is a forgotten claim", func(t *testing.T) {
		got, err := store.Fold(among(), event(ken.EventWritten, nil))
		if err != nil || !cmp.Equal(got, []ken.Claim{{ID: claimID.String()}}) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("nothing happens to a claim that is gone", func(t *testing.T) {
		got, err := store.Fold(among(), event(ken.EventTransitioned, payload(t, store.Payload{To: ken.StatusVerified})))
		if err != nil || len(got) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a successor that is gone", func(t *testing.T) {
		got, err := store.Fold(among(baseClaim()), event(ken.EventSuperseded, payload(t, store.Payload{Other: otherID})))
		if err != nil || len(got) != 1 || got[0].SupersededBy != otherID {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for name, ev := range map[string]*store.Event{
		"unknown type":        event("claim.renamed", []byte("{}")),
		"payload not JSON":    event(ken.EventTransitioned, []byte("{")),
		"claim not an object": event(ken.EventWritten, []byte(`{"claim":7}`)),
	} {
		if _, err := store.Fold(among(baseClaim()), ev); !errors.Is(err, ken.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	broken := errors.New("disk")
	if _, err := store.Fold(func(string) (*ken.Claim, error) { return nil, broken }, event(ken.EventReinforced, []byte("{}"))); !errors.Is(err, broken) {
		t.Errorf("a lookup that fails: %v", err)
	}
}

func TestMergeEvidence(t *testing.T) {
	test := ken.FromTestResult("T", "ok")
	again := ken.FromTestResult("T", "ok, later")
	sameRefOtherKind := ken.FromValidator("T", "")
	for _, tt := range []struct {
		name             string
		have, more, want []ken.Evidence
	}{
		{"nothing", nil, nil, nil},
		{"new", []ken.Evidence{file}, []ken.Evidence{test}, []ken.Evidence{file, test}},
		{"the first record of a piece stays", []ken.Evidence{test}, []ken.Evidence{again}, []ken.Evidence{test}},
		{"twice among the new", nil, []ken.Evidence{test, again}, []ken.Evidence{test}},
		{"another kind is another piece", []ken.Evidence{test}, []ken.Evidence{sameRefOtherKind}, []ken.Evidence{test, sameRefOtherKind}},
	} {
		got := store.MergeEvidence(tt.have, tt.more)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	have := append(make([]ken.Evidence, 0, 8), file)
	store.MergeEvidence(have, []ken.Evidence{test})[0].Detail = "spoilt"
	if have[0].Detail != "" || have[:2][1].Kind != "" {
		t.Error("the argument's memory was used")
	}
}

func TestView(t *testing.T) {
	prior := []ken.ClaimEvent{{Seq: 9, At: someDay.Add(-1e9), Type: ken.EventWritten, To: ken.StatusHypothesis}}
	c := baseClaim()
	c.Actor = ken.Actor{Type: "agent", ID: "reviewer"}
	full := written(t, c)
	full.Prior = prior
	superseded := store.Payload{From: ken.StatusObserved, To: ken.StatusSuperseded, Other: otherID}
	moved := store.Payload{From: ken.StatusObserved, To: ken.StatusVerified, Reason: "read", Evidence: []ken.Evidence{human}, Actor: ken.Actor{ID: "ada"}}

	for _, tt := range []struct {
		name string
		typ  ken.EventType
		p    []byte
		id   string
		want []ken.ClaimEvent
	}{
		{"written, with a life before", ken.EventWritten, payload(t, full), claimID.String(), append(prior,
			ken.ClaimEvent{Seq: 5, At: someDay, Type: ken.EventWritten, To: ken.StatusObserved, Evidence: []ken.Evidence{file}, Actor: c.Actor})},
		{"transitioned", ken.EventTransitioned, payload(t, moved), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventTransitioned, From: "observed", To: "verified", Reason: "read", Evidence: []ken.Evidence{human}, Actor: ken.Actor{ID: "ada"}}}},
		{"superseded, seen by the old claim", ken.EventSuperseded, payload(t, superseded), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventSuperseded, From: "observed", To: "superseded", Other: otherID}}},
		{"superseded, seen by the new claim", ken.EventSuperseded, payload(t, superseded), otherID, []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventSuperseded, Other: claimID.String(), Reason: "supersedes"}}},
		{"erased", ken.EventWritten, nil, claimID.String(), []ken.ClaimEvent{{Seq: 5, At: someDay, Type: ken.EventWritten, Erased: true}}},
		{"forgotten", ken.EventForgotten, payload(t, store.Payload{Reason: "asked to"}), claimID.String(), []ken.ClaimEvent{
			{Seq: 5, At: someDay, Type: ken.EventForgotten, Reason: "asked to"}}},
	} {
		got, err := store.View(&store.Event{Seq: 5, At: someDay, Type: tt.typ, Claim: claimID, Payload: tt.p}, tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

var env = store.Env{Now: func() time.Time { return someDay }, NewID: func() string { return otherID }}

func TestPrepareFillsIn(t *testing.T) {
	given := ken.Claim{Text: "payments uses sagas", Evidence: []ken.Evidence{file}}
	got, err := store.Prepare(given, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	want := ken.Claim{ID: otherID, Owner: "ada", Kind: ken.KindFact, Status: ken.StatusObserved, Text: "payments uses sagas",
		Evidence: []ken.Evidence{file}, CreatedAt: someDay, UpdatedAt: someDay}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Evidence[0].Detail = "spoilt"
	if given.Evidence[0].Detail != "" {
		t.Error("the caller's evidence is shared")
	}
}

func TestPrepareKeepsWhatIsGiven(t *testing.T) {
	zone := time.FixedZone("", 3600)
	want := baseClaim()
	want.Owner, want.Kind, want.Status = "ada", ken.KindDecision, ken.StatusDisputed
	want.CreatedAt = someDay.AddDate(-1, 0, 0).In(zone)
	want.UpdatedAt = someDay.AddDate(0, -1, 0).In(zone)
	got, err := store.Prepare(want, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.CreatedAt.Location() != time.UTC || got.UpdatedAt.Location() != time.UTC {
		t.Error("times are kept in UTC")
	}
}

func TestPrepareRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*ken.Claim)
		want   *ken.Error
		field  string
	}{
		{"another owner", func(c *ken.Claim) { c.Owner = "ben" }, ken.ErrRefused, "owner"},
		{"an id that is no UUID", func(c *ken.Claim) { c.ID = "adr-7" }, ken.ErrInvalid, "id"},
		{"nothing but reasoning", func(c *ken.Claim) { c.Text = "<think>hm</think>" }, ken.ErrRefused, "text"},
		{"empty", func(c *ken.Claim) { c.Text = "  " }, ken.ErrInvalid, "text"},
		{"too long", func(c *ken.Claim) { c.Text = strings.Repeat("a", ken.MaxTextBytes+1) }, ken.ErrInvalid, "text"},
		{"no evidence", func(c *ken.Claim) { c.Evidence = nil }, ken.ErrInvalid, "evidence"},
		{"bad status", func(c *ken.Claim) { c.Status = "confirmed" }, ken.ErrInvalid, "status"},
	} {
		c := baseClaim()
		tt.change(&c)
		_, err := store.Prepare(c, "ada", env)
		var e *ken.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Field != tt.field || ken.Hint(err) == "" {
			t.Errorf("%s: %v, want %s at %s with advice", tt.name, err, tt.want.Code, tt.field)
		}
	}
}

func TestPrepareCleans(t *testing.T) {
	secret := "AKIA" + "Q3EGRT7XJ5LMN2PZ"
	dirty := "<think>hm</think>key " + secret + " a\x00b \xff"
	c := baseClaim()
	c.Heading, c.Text = dirty, dirty
	c.Evidence = []ken.Evidence{ken.FromMessage("s", "m", dirty), ken.FromExitCode(dirty, 0)}
	got, err := store.Prepare(c, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"heading": got.Heading, "text": got.Text,
		"detail": got.Evidence[0].Detail, "command": got.Evidence[1].ID} {
		for _, bad := range []string{secret, "think", "hm", "\x00", "\xff"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s keeps %q: %q", name, bad, text)
			}
		}
		if !strings.Contains(text, "key ") {
			t.Errorf("%s lost its words: %q", name, text)
		}
	}
}

func TestEmbedText(t *testing.T) {
	c := ken.Claim{Text: "t"}
	if got := store.EmbedText(&c); got != "t" {
		t.Errorf("got %q", got)
	}
	c.Heading = "h"
	if got := store.EmbedText(&c); got != "h\nt" {
		t.Errorf("got %q", got)
	}
}

func TestPinned(t *testing.T) {
	for kind, want := range map[ken.Kind]bool{ken.KindHot: true, ken.KindPattern: true, ken.KindObjective: true,
		ken.KindFact: false, ken.KindEpisode: false, ken.KindPlaybook: false, ken.KindFinding: false,
		ken.KindDecision: false, ken.KindDocument: false, "": false} {
		if store.Pinned(kind) != want {
			t.Errorf("%q: %v", kind, !want)
		}
	}
}
