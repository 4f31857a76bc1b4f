package middleware_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// Two layers over one folder, as a gateway and an MCP server are: with sessions of
// their own and one that both have at once, no message and no receipt is lost or
// there twice, and neither ends what the other is at.
func TestTwoLayersKeepSessionsInOneFolder(t *testing.T) {
	root := t.TempDir()
	layers := map[string]*middleware.Layer{"one": within(t, root), "two": within(t, root)}
	const turns = 8
	var wg sync.WaitGroup
	for name, l := range layers {
		wg.Go(func() {
			own, both := ken.Turn{Session: "of " + name}, ken.Turn{Session: "of both"}
			for i := range turns {
				for _, turn := range []*ken.Turn{&own, &both} {
					turn.Messages = append(slices.Clone(turn.Messages), ken.Message{Role: "user", Text: fmt.Sprintf("question %d", i)})
					l.Assemble(context.Background(), *turn)
					answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("answer %d", i)}
					l.Answered(*turn, answer)
					turn.Messages = append(slices.Clone(turn.Messages), answer)
				}
			}
			if err := l.Recorded(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var want []string
	for i := range turns {
		want = append(want, fmt.Sprintf("user: question %d", i), fmt.Sprintf("assistant: answer %d", i))
	}
	for name, l := range layers {
		if _, err := l.Harvest(t.Context(), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, id := range []string{"of one", "of two", "of both"} {
			got := userText(t, l, "", id)
			if id == "of both" { // an answer may come between another's question and answer
				slices.Sort(got)
				want := slices.Sorted(slices.Values(want))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s sees %s (-want +got):\n%s", name, id, diff)
				}
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s sees %s (-want +got):\n%s", name, id, diff)
			}
			info, err := l.Journal("").Info(t.Context(), id)
			if err != nil || info.State != session.Open {
				t.Errorf("%s: %s is %s, %v", name, id, info.State, err)
			}
		}
		if n := len(keptTurns(t, l, "")); n != 4*turns {
			t.Errorf("%s sees %d receipts, want %d", name, n, 4*turns)
		}
	}

	// The one that ends leaves the shared session to the other.
	if err := layers["one"].Close(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]session.State{"of one": session.Harvested, "of two": session.Open, "of both": session.Open} {
		info, err := layers["two"].Journal("").Info(t.Context(), id)
		if err != nil || info.State != want {
			t.Errorf("%s is %s, want %s, %v", id, info.State, want, err)
		}
	}
}

// Both harvest what waits, and what was said is learned once.
func TestTwoLayersHarvestOneQueue(t *testing.T) {
	root := t.TempDir()
	one, two := within(t, root), within(t, root)
	const sessions = 6
	for i := range sessions {
		l := []*middleware.Layer{one, two}[i%2]
		turn := ken.Turn{Session: fmt.Sprint("s", i), Messages: []ken.Message{{Role: "user", Text: fmt.Sprintf("Remember that deploys of service-%d happen on Tuesdays after 14:00.", i)}}}
		l.Assemble(t.Context(), turn)
		l.Answered(turn, ken.Message{Role: "assistant", Text: "Noted."})
		if err := l.End(t.Context(), "", turn.Session, session.Closed); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for _, l := range []*middleware.Layer{one, two} {
		wg.Go(func() {
			rep, err := l.Harvest(context.Background(), "")
			if err != nil || rep.Retried+rep.Dead+rep.Lost > 0 {
				t.Errorf("%+v, %v", rep, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done += rep.Done
		})
	}
	wg.Wait()
	if done != sessions {
		t.Errorf("%d harvests of %d sessions", done, sessions)
	}
	s, release, err := two.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	facts := map[string]int{}
	for c, err := range s.Claims(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Kind == ken.KindFact && strings.Contains(c.Text, "Tuesdays") {
			facts[c.Text]++
		}
	}
	if len(facts) != sessions {
		t.Errorf("learned: %v", facts)
	}
	for text, n := range facts {
		if n != 1 {
			t.Errorf("%q was learned %d times", text, n)
		}
	}
}
