package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/store/null"
	"github.com/kenlayer/ken/store/memory"
)

var repo = ken.Scope{Type: ken.ScopeRepo, ID: "acme/payments"}

var about = session.About{ID: "s1", Project: "payments", Branch: "b1", Agent: "reviewer", Scope: repo, Scopes: []ken.Scope{repo}}

func sagas() []ken.Evidence {
	return []ken.Evidence{ken.FromFile("src/saga.py", "acme/payments", "abc123"), ken.FromToolResult("tc_1", "compensate() in the error path"),
		ken.FromFile("src/other.py", "acme/payments", "abc123")}
}

// spy is a store that says when it is asked.
type spy struct {
	ken.Store
	asked func()
}

func (s spy) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	s.asked()
	return s.Store.WriteClaim(ctx, c)
}

func (s spy) Transition(ctx context.Context, t ken.Transition) error {
	s.asked()
	return s.Store.Transition(ctx, t)
}

func TestLearnFillsInWhoAndWhere(t *testing.T) {
	st := memory.New(memory.Options{})
	s := session.New(session.HandleOptions{About: about, Store: st, Now: newClock().now})
	id, err := s.Learn(t.Context(), "payments uses the saga pattern", sagas(), func(c *ken.Claim) { c.Status = ken.StatusInferred }, func(c *ken.Claim) { c.Confidence = 0.8 },
		func(c *ken.Claim) { c.Domain = "architecture" }, func(c *ken.Claim) { c.Tags = append(c.Tags, "saga") }, func(c *ken.Claim) { c.Tags = append(c.Tags, "transactions") }, session.WithKind(ken.KindFinding),
		session.WithKey("saga"), func(c *ken.Claim) { c.Entities = append(c.Entities, "payments") })
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Recall(t.Context(), "saga pattern", session.RecallOptions{})
	if err != nil || len(got) != 1 {
		t.Fatalf("recalled %v, %v", got, err)
	}
	want := ken.Claim{ID: id, Key: "saga", Owner: ken.DefaultOwner, Kind: ken.KindFinding, Text: "payments uses the saga pattern", Evidence: sagas(),
		Status: ken.StatusInferred, Confidence: 0.8, Importance: 0.5, Scope: repo, Project: "payments", Session: "s1", Branch: "b1",
		Actor: ken.Actor{Type: "agent", ID: "reviewer"}, Domain: "architecture", Tags: []string{"saga", "transactions"}, Entities: []string{"payments"},
		SourceType: "learn", CreatedAt: monday, UpdatedAt: monday}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	other := ken.Scope{Type: ken.ScopeRun, ID: "r1"}
	if _, err := s.Learn(t.Context(), "this run is slow", sagas(), func(c *ken.Claim) { c.Scope = other }); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Recall(t.Context(), "slow run", session.RecallOptions{}); len(got) != 0 || err != nil {
		t.Errorf("a claim of another scope came up: %v, %v", got, err)
	}
	if got, err := s.Recall(t.Context(), "slow run", session.RecallOptions{Scopes: []ken.Scope{other}}); len(got) != 1 || err != nil {
		t.Errorf("asked for by scope: %v, %v", got, err)
	}
}

func TestRecallLimitsAndStatuses(t *testing.T) {
	st := memory.New(memory.Options{})
	s := session.New(session.HandleOptions{Store: st})
	var ids []string
	for _, word := range []string{"one", "two", "three", "four", "five", "six", "seven"} {
		id, err := s.Learn(t.Context(), "the saga of "+word, []ken.Evidence{ken.FromUserStatement("s", "m1")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Dispute(t.Context(), ids[0], "somebody checked", ken.FromMessage("s", "m2", "no")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    session.RecallOptions
		want int
	}{
		{session.RecallOptions{}, 5},
		{session.RecallOptions{Limit: 2}, 2},
		{session.RecallOptions{Limit: 10}, 6},
		{session.RecallOptions{Statuses: []ken.Status{ken.StatusDisputed}}, 1},
		{session.RecallOptions{Kinds: []ken.Kind{ken.KindEpisode}}, 0},
	} {
		if got, err := s.Recall(t.Context(), "saga", c.o); len(got) != c.want || err != nil {
			t.Errorf("%+v: %d claims, %v; want %d", c.o, len(got), err, c.want)
		}
	}
}

// The entry is a contract: these fields, in this form, null for what is not known.
func TestActionForm(t *testing.T) {
	b, err := json.Marshal(session.Action{Event: session.EventLearn, ClaimID: "c", ClaimStatus: "observed", EvidenceCount: 2,
		EvidenceKinds: []string{"file", "tool_result"}, ScopeType: "repo", ScopeID: "acme", ActorType: "agent", ActorID: "a", BranchID: "b",
		SessionID: "s", Timestamp: 1779091200.25})
	const full = `{"event":"knowledge.learn","claim_id":"c","claim_status":"observed","evidence_count":2,"evidence_kinds":["file","tool_result"],` +
		`"actor_type":"agent","branch_id":"b","timestamp":1779091200.25,"scope_type":"repo","scope_id":"acme","actor_id":"a","session_id":"s"}`
	if string(b) != full || err != nil {
		t.Errorf("%s, %v\nwant %s", b, err, full)
	}
	b, err = json.Marshal(session.Action{})
	const empty = `{"event":"","claim_id":"","claim_status":"","evidence_count":0,"evidence_kinds":[],"actor_type":"","branch_id":"",` +
		`"timestamp":0,"scope_type":null,"scope_id":null,"actor_id":null,"session_id":null}`
	if string(b) != empty || err != nil {
		t.Errorf("%s, %v\nwant %s", b, err, empty)
	}
	var backReferences session.Action
	if err := json.Unmarshal([]byte(full), &backReferences); err != nil || backReferences.ScopeID != "acme" || backReferences.SessionID != "s" || backReferences.Timestamp != 1779091200.25 {
		t.Errorf("read %+v, %v", backReferences, err)
	}
}

// Every action is in the trail, as it will be, before the store hears of it.
func TestActionsAreLoggedFirst(t *testing.T) {
	ctx := t.Context()
	var got []session.Action
	var order []string
	st := spy{memory.New(memory.Options{}), func() { order = append(order, "store") }}
	s := session.New(session.HandleOptions{About: about, Store: st, Now: newClock().now, Logger: func(_ context.Context, a session.Action) error {
		got = append(got, a)
		order = append(order, a.Event)
		return nil
	}})
	id, err := s.Learn(ctx, "payments uses sagas", sagas())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(ctx, id, ken.FromHumanAssertion("ann", monday, "read it")); err != nil {
		t.Fatal(err)
	}
	operator := s.Branch("b2", session.BranchOptions{Actor: ken.Actor{Type: "user", ID: "ann"}})
	if err := operator.Dispute(ctx, id, "two-phase commit now"); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(ctx, "no such claim"); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("verify nothing: %v", err)
	}
	at := float64(monday.Unix())
	want := []session.Action{
		{Event: "knowledge.learn", ClaimID: id, ClaimStatus: "observed", EvidenceCount: 3, EvidenceKinds: []string{"file", "tool_result"},
			ScopeType: "repo", ScopeID: "acme/payments", ActorType: "agent", ActorID: "reviewer", BranchID: "b1", SessionID: "s1", Timestamp: at},
		{Event: "knowledge.verify", ClaimID: id, ClaimStatus: "verified", EvidenceCount: 1, EvidenceKinds: []string{"human_assertion"},
			ActorType: "agent", ActorID: "reviewer", BranchID: "b1", SessionID: "s1", Timestamp: at},
		{Event: "knowledge.dispute", ClaimID: id, ClaimStatus: "disputed", EvidenceKinds: []string{}, ActorType: "user", ActorID: "ann",
			BranchID: "b2", SessionID: "s1", Timestamp: at},
		{Event: "knowledge.verify", ClaimID: "no such claim", ClaimStatus: "verified", EvidenceKinds: []string{}, ActorType: "agent",
			ActorID: "reviewer", BranchID: "b1", SessionID: "s1", Timestamp: at},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trail (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"knowledge.learn", "store", "knowledge.verify", "store", "knowledge.dispute", "store", "knowledge.verify", "store"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	events, err := st.History(ctx, id)
	if err != nil || len(events) != 3 || events[2].Actor.ID != "ann" || events[2].Reason != "two-phase commit now" || len(events[1].Evidence) != 1 {
		t.Errorf("history %+v, %v", events, err)
	}
}

// A claim that nothing backs is refused, in library mode too, and somebody is told.
func TestRefusedForWantOfEvidence(t *testing.T) {
	for name, st := range map[string]ken.Store{"no store": nil, "null": null.Store{}, "memory": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			var told []session.Action
			s := session.New(session.HandleOptions{About: about, Store: st,
				Logger: func(_ context.Context, a session.Action) error { t.Errorf("logged %+v", a); return nil },
				Rejected: func(_ context.Context, a session.Action, text string, err error) {
					if told = append(told, a); text != "payments is fast" || !isInvalid(err) || ken.Hint(err) == "" {
						t.Errorf("told %q, %v", text, err)
					}
				}})
			if _, err := s.Learn(t.Context(), "payments is fast", nil); !isInvalid(err) {
				t.Errorf("learn: %v", err)
			}
			if len(told) != 1 || told[0].Event != session.EventLearn || told[0].SessionID != "s1" || told[0].EvidenceCount != 0 {
				t.Errorf("told %+v", told)
			}
			for what, learn := range map[string]func() (string, error){
				"no text":          func() (string, error) { return s.Learn(t.Context(), " ", sagas()) },
				"no such evidence": func() (string, error) { return s.Learn(t.Context(), "x", []ken.Evidence{{Kind: "hearsay"}}) },
				"too confident": func() (string, error) {
					return s.Learn(t.Context(), "x", sagas(), func(c *ken.Claim) { c.Confidence = 2 })
				},
				"verified at birth": func() (string, error) {
					return s.Learn(t.Context(), "x", sagas(), func(c *ken.Claim) { c.Status = ken.StatusVerified })
				},
				"disputed at birth": func() (string, error) {
					return s.Learn(t.Context(), "x", sagas(), func(c *ken.Claim) { c.Status = ken.StatusDisputed })
				},
			} {
				if id, err := learn(); err == nil || id != "" || ken.Hint(err) == "" {
					t.Errorf("%s: %q, %v", what, id, err)
				}
			}
			if err := s.Dispute(t.Context(), "x", "  "); !isInvalid(err) {
				t.Errorf("dispute without a reason: %v", err)
			}
			if len(told) != 1 {
				t.Errorf("told of what is not for want of evidence: %+v", told[1:])
			}
		})
	}
}

// Library mode: everything is there and does nothing.
func TestWithoutAStore(t *testing.T) {
	ctx := t.Context()
	s := session.New(session.HandleOptions{})
	if id, err := s.Learn(ctx, "the sky is blue", sagas()); id != "" || err != nil {
		t.Errorf("learn: %q, %v", id, err)
	}
	if got, err := s.Recall(ctx, "sky", session.RecallOptions{}); len(got) != 0 || err != nil {
		t.Errorf("recall: %v, %v", got, err)
	}
	if err := errors.Join(s.Verify(ctx, "x"), s.Dispute(ctx, "x", "why not")); err != nil {
		t.Error(err)
	}
	if ended, err := s.End(ctx, session.Closed); ended || err != nil {
		t.Errorf("end: %v, %v", ended, err)
	}
	if info, err := s.Info(ctx); info.State != session.Open || err != nil {
		t.Errorf("info: %+v, %v", info, err)
	}
}

// A branch that opts out leaves nothing behind; its siblings do.
func TestBranchOverridesTheStore(t *testing.T) {
	ctx := t.Context()
	st := memory.New(memory.Options{})
	s := session.New(session.HandleOptions{About: about, Store: st})
	sandbox := s.Branch("sandbox", session.BranchOptions{Store: null.Store{}})
	sibling := s.Branch("sibling", session.BranchOptions{})
	if id, err := sandbox.Learn(ctx, "the sandbox is wet", sagas()); id != "" || err != nil {
		t.Errorf("sandbox: %q, %v", id, err)
	}
	if _, err := sibling.Learn(ctx, "the sandbox is dry", sagas()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Recall(ctx, "sandbox", session.RecallOptions{})
	if err != nil || len(got) != 1 || got[0].Branch != "sibling" || got[0].Session != "s1" || got[0].Actor.ID != "reviewer" {
		t.Errorf("recalled %+v, %v", got, err)
	}
	if s.About().Branch != "b1" {
		t.Errorf("the session's own branch became %s", s.About().Branch)
	}
}

// A claim that is known by its key keeps its id, and the handle returns that one.
func TestLearnUnderAKnownKey(t *testing.T) {
	ctx := t.Context()
	s := session.New(session.HandleOptions{Store: memory.New(memory.Options{})})
	first, err := s.Learn(ctx, "the port is 8443", sagas(), session.WithKey("port"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Learn(ctx, "the port is 9443", sagas(), session.WithKey("port"))
	if second != first || err != nil {
		t.Errorf("%q then %q, %v", first, second, err)
	}
}

func TestHandleLivesItsSession(t *testing.T) {
	ctx := t.Context()
	b := newBench(t, session.Options{})
	s := session.New(session.HandleOptions{About: about, Journal: b.Journal})
	if _, err := s.Info(ctx); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("info before anything was said: %v", err)
	}
	if _, err := s.Add(ctx, user("hello"), assistant("<think>x</think>"), assistant("hi")); err != nil {
		t.Fatal(err)
	}
	b.clock.pass(time.Minute)
	if _, err := s.Branch("b2", session.BranchOptions{}).Add(ctx, user("hello")); err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(ctx)
	if err != nil || info.Messages != 3 || info.Project != "payments" || info.Scope != repo {
		t.Errorf("info %+v, %v", info, err)
	}
	if ended, err := s.End(ctx, session.Closed); !ended || err != nil {
		t.Errorf("end: %v, %v", ended, err)
	}
	if got := jobsOf(t, b); len(got) != 1 || got[0].Upto != 3 {
		t.Errorf("jobs %+v", got)
	}
}

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
