package session_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/store/memory"
)

// The reactive pattern: a hook learns from a tool's result as it comes.
func TestHookLearnsFromAToolResult(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	s := session.New(session.HandleOptions{About: about, Store: memory.New(memory.Options{}), Journal: b.Journal})
	s.OnMessage(func(ctx context.Context, s *session.Session, e session.Entry) {
		if e.Message.Role != "tool" {
			return
		}
		if _, err := s.Learn(ctx, e.Message.Text, []ken.Evidence{ken.FromToolResult(e.Message.ToolCallID, "")}); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Add(ctx, user("which port?"), calls("1", "bash", `{"command":"ss"}`), tool("1", "port 8443 listens"), assistant("8443.")); err != nil {
		t.Fatal(err)
	}
	got, err := s.Recall(ctx, "port", session.RecallOptions{})
	if err != nil || len(got) != 1 || got[0].Evidence[0].ToolCallID != "1" || got[0].Session != "s1" {
		t.Errorf("recalled %+v, %v", got, err)
	}
}

func TestHooksRunInOrderForWhatIsKept(t *testing.T) {
	for name, journal := range map[string]bool{"with a journal": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := session.HandleOptions{About: about, Log: slog.New(slog.NewTextHandler(&out, nil)), Now: newClock().now}
			if journal {
				o.Journal = newBench(t, session.Options{}).Journal
			}
			s := session.New(o)
			var got []string
			s.OnMessage(func(_ context.Context, _ *session.Session, e session.Entry) {
				got = append(got, "first "+e.ID()+" "+e.Message.Text)
				if e.Message.Text == "b" {
					panic("boom")
				}
			})
			s.OnMessage(func(ctx context.Context, s *session.Session, e session.Entry) {
				got = append(got, "second "+e.ID()+" "+e.Message.Text)
				if e.Message.Text == "b" { // it adds one itself, which comes after what waits
					if _, err := s.Add(ctx, user("of a hook")); err != nil {
						t.Error(err)
					}
				}
			})
			entries, err := s.Add(t.Context(), user("a"), ken.Message{Role: "system", Text: "x"}, user("b"), assistant("<think>c</think>"), user("a"))
			if err != nil || len(entries) != 3 || !entries[0].At.Equal(monday) {
				t.Fatalf("added %+v, %v", entries, err)
			}
			want := []string{"first m1 a", "second m1 a", "first m2 b", "second m2 b", "first m3 a", "second m3 a", "first m4 of a hook", "second m4 of a hook"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("hooks (-want +got):\n%s", diff)
			}
			if n := strings.Count(out.String(), "boom"); n != 1 {
				t.Errorf("the log tells of %d panics: %s", n, out.String())
			}
		})
	}
}

func TestHooksOfABranch(t *testing.T) {
	s := session.New(session.HandleOptions{About: about})
	var got []string
	hear := func(who string) func(context.Context, *session.Session, session.Entry) {
		return func(_ context.Context, s *session.Session, e session.Entry) {
			got = append(got, who+" "+s.About().Branch+" "+e.ID()+" "+e.Message.Text)
		}
	}
	s.OnMessage(hear("before"))
	b := s.Branch("b2", session.BranchOptions{})
	s.OnMessage(hear("after"))
	for _, h := range []*session.Session{s, b} {
		if _, err := h.Add(t.Context(), user("x")); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"before b1 m1 x", "after b1 m1 x", "before b2 m2 x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// A hook of an Add that failed hears nothing.
func TestNoHookForWhatIsNotKept(t *testing.T) {
	b := newBench(t, session.Options{})
	s := session.New(session.HandleOptions{Journal: b.Journal}) // no id
	s.OnMessage(func(context.Context, *session.Session, session.Entry) { t.Error("told") })
	if _, err := s.Add(t.Context(), user("x")); !isInvalid(err) {
		t.Errorf("add: %v", err)
	}
}

// Add takes nothing for a repetition, and the layer in front of the model may send
// the whole conversation all the same.
func TestAddIsNeverARepetition(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	s := session.New(session.HandleOptions{About: about, Journal: b.Journal})
	for _, text := range []string{"yes", "go on", "yes", "yes"} {
		if got, err := s.Add(ctx, user(text)); len(got) != 1 || err != nil {
			t.Fatalf("add %s: %v, %v", text, got, err)
		}
	}
	if got := b.append(t, "s1", request("yes go-on")...); len(got) != 1 {
		t.Errorf("kept %v", texts(got))
	}
	if got := b.append(t, "s1", user("yes"), user("go on"), user("yes"), user("yes"), user("next")); len(got) != 1 || got[0].Message.Text != "next" {
		t.Errorf("kept %v, want what was not added", texts(got))
	}
}

func TestConcurrentAdds(t *testing.T) {
	b := newBench(t, session.Options{})
	s := session.New(session.HandleOptions{About: about, Journal: b.Journal})
	var mu sync.Mutex
	var heard []uint64
	s.OnMessage(func(_ context.Context, _ *session.Session, e session.Entry) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e.Seq)
	})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				if _, err := s.Add(context.Background(), user(fmt.Sprint(w, i)), user("again")); err != nil {
					t.Error(err)
				}
				s.OnMessage(func(context.Context, *session.Session, session.Entry) {})
			}
		})
	}
	wg.Wait()
	if len(heard) != 320 {
		t.Errorf("heard of %d messages, want 320", len(heard))
	}
	for i, seq := range heard {
		if seq != uint64(i+1) {
			t.Fatalf("heard of number %d as the %d. one", seq, i+1)
		}
	}
}
