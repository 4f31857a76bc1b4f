package consolidate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store/memory"
)

var day0 = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// said is a claim as a harvest makes it: what a user said in a session, on a day.
func said(session string, day int, text string, change ...func(*ken.Claim)) ken.Claim {
	at := day0.AddDate(0, 0, day)
	e := ken.FromUserStatement(session, "m1")
	e.FetchedAt = at
	c := ken.Claim{Kind: ken.KindFact, Text: text, Evidence: []ken.Evidence{e}, Status: ken.StatusObserved, Confidence: 0.8,
		Importance: 0.5, Session: session, Key: "fact/" + session + "/" + text, CreatedAt: at, Actor: ken.Actor{Type: "system", ID: "harvest"}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func status(s ken.Status) func(*ken.Claim) { return func(c *ken.Claim) { c.Status = s } }

// byAssistant makes it the assistant's word.
func byAssistant(c *ken.Claim) {
	e := ken.FromMessage(c.Session, "m2", c.Text)
	e.FetchedAt = c.Evidence[0].FetchedAt
	c.Evidence = []ken.Evidence{e}
}

// byPerson makes it what a person verified.
func byPerson(c *ken.Claim) {
	c.Status = ken.StatusVerified
	c.Evidence = append(c.Evidence, ken.FromHumanAssertion("ada", c.CreatedAt, "checked by hand"))
}

// opened is a store whose log is verified when the test ends.
func opened(t testing.TB) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(context.Background(), t.TempDir(), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.VerifyLog(context.Background()); err != nil {
			t.Errorf("verify log: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func inMemory() memory.Store { return memory.New(memory.Options{}) }

func learn(t testing.TB, st consolidate.Store, c ken.Claim) consolidate.Result {
	t.Helper()
	r, err := consolidate.Learn(context.Background(), st, c, nil)
	if err != nil {
		t.Fatalf("learn %q: %v", c.Text, err)
	}
	return r
}

func write(t testing.TB, st ken.Store, c ken.Claim) ken.Claim {
	t.Helper()
	id, err := st.WriteClaim(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.ID = id
	return c
}

// state is everything that a store holds, a line a claim, without ids and times.
func state(t testing.TB, st ken.Store) string {
	t.Helper()
	all, err := st.Query(context.Background(), ken.Query{Limit: 1000, Filter: ken.Filter{Statuses: ken.Statuses()}})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, c := range all {
		texts[c.ID] = c.Text
	}
	var lines []string
	for _, c := range all {
		line := fmt.Sprintf("%s: %s (%d pieces, seen again %d times)", c.Text, c.Status, len(c.Evidence), c.Reinforcements)
		if c.SupersededBy != "" {
			line += " replaced by: " + texts[c.SupersededBy]
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
