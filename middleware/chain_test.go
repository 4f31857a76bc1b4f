package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func using(m ...middleware.Middleware) func(*middleware.Options) {
	return func(o *middleware.Options) { o.Use = m }
}

func withVectors(o *middleware.Options) { o.Embedder = embedtest.Bag{} }

// patient leaves every leg its time, so that a busy machine changes no result.
func patient(c *config.Config) { c.Retrieval.Deadline = 30 * time.Second }

func TestUserMiddlewaresWrapInOrder(t *testing.T) {
	var calls []string
	named := func(name string) middleware.Middleware {
		return func(next middleware.Handler) middleware.Handler {
			return func(ctx context.Context, st *middleware.State) error {
				calls = append(calls, fmt.Sprintf("%s before: %d items", name, len(st.Block.Items)))
				err := next(ctx, st)
				calls = append(calls, fmt.Sprintf("%s after: %d items", name, len(st.Block.Items)))
				return err
			}
		}
	}
	l := open(t, settings(), using(named("outer"), named("inner")))
	learn(t, l, fact(t, "%s", about))
	l.Assemble(context.Background(), asked(question))
	want := []string{"outer before: 0 items", "inner before: 0 items", "inner after: 1 items", "outer after: 1 items"}
	if d := cmp.Diff(want, calls); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A middleware may change what the stages see: here it asks another question.
func TestUserMiddlewareChangesTheTurn(t *testing.T) {
	l := open(t, settings(), using(func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, st *middleware.State) error {
			st.Turn.Messages = []ken.Message{{Role: "user", Text: question}}
			return next(ctx, st)
		}
	}))
	learn(t, l, fact(t, "%s", about))
	messages := []ken.Message{{Role: "user", Text: "thanks!"}}
	a := l.Assemble(context.Background(), ken.Turn{Messages: messages})
	if !strings.Contains(a.Receipt.Block, "three times") || messages[0].Text != "thanks!" {
		t.Errorf("block %q, the client's message %q", a.Receipt.Block, messages[0].Text)
	}
}

// Whatever a user's middleware does, the model call goes on and the receipt says
// what happened.
func TestUserMiddlewareThatFailsLeavesTheTurnAlive(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		use   func(ctx context.Context, st *middleware.State, next middleware.Handler) error
		block bool
		says  string
	}{
		"errs before":    {func(context.Context, *middleware.State, middleware.Handler) error { return boom }, false, "middleware: boom"},
		"panics before":  {func(context.Context, *middleware.State, middleware.Handler) error { panic(boom) }, false, "middleware: panic: boom"},
		"skips the rest": {func(context.Context, *middleware.State, middleware.Handler) error { return nil }, false, ""},
		"errs after": {func(ctx context.Context, st *middleware.State, next middleware.Handler) error {
			next(ctx, st)
			return boom
		}, true, "middleware: boom"},
		"panics after": {func(ctx context.Context, st *middleware.State, next middleware.Handler) error {
			next(ctx, st)
			panic(boom)
		}, true, "middleware: panic: boom"},
		"breaks the turn": {func(ctx context.Context, st *middleware.State, next middleware.Handler) error {
			st.Turn = ken.Turn{}
			return next(ctx, st)
		}, false, ""},
		"spoils the receipt": {func(ctx context.Context, st *middleware.State, next middleware.Handler) error {
			st.Receipt.MS = nil
			return next(ctx, st)
		}, false, "middleware: panic"},
		"drops the receipt": {func(ctx context.Context, st *middleware.State, next middleware.Handler) error {
			st.Receipt = nil
			return next(ctx, st)
		}, false, "middleware: panic"},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, settings(), using(func(next middleware.Handler) middleware.Handler {
				return func(ctx context.Context, st *middleware.State) error { return tt.use(ctx, st, next) }
			}))
			learn(t, l, fact(t, "%s", about))
			a := l.Assemble(context.Background(), asked(question))
			r := a.Receipt
			if (r.Block != "") != tt.block || len(a.Insertions) > 0 != tt.block {
				t.Errorf("block %q, %d insertions; want a block: %v", r.Block, len(a.Insertions), tt.block)
			}
			if said := strings.Join(r.Degraded, "\n"); (tt.says != "") != (said != "") || !strings.Contains(said, tt.says) || said != "" && r.Cause == "" {
				t.Errorf("degraded %q, cause %q; want %q", said, r.Cause, tt.says)
			}
		})
	}
}

// A receipt reaches the program before the model call, one for each turn, and is
// the one that Assemble returns.
func TestOnReceipt(t *testing.T) {
	var got []ken.Receipt
	type key struct{}
	l := open(t, settings(), func(o *middleware.Options) {
		o.OnReceipt = func(ctx context.Context, r ken.Receipt) {
			if ctx.Value(key{}) != "the turn's" {
				t.Error("not the turn's context")
			}
			got = append(got, r)
		}
	})
	learn(t, l, fact(t, "%s", about))
	ctx := context.WithValue(context.Background(), key{}, "the turn's")
	var want []ken.Receipt
	for _, turn := range []ken.Turn{asked(question), asked("thanks!"), {}, {Weight: ken.WeightNone, Messages: asked(question).Messages}} {
		want = append(want, l.Assemble(ctx, turn).Receipt)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-returned +heard):\n%s", d)
	}
}

// Clients in other languages iterate over a receipt's lists without asking
// whether they are there; only what is documented as optional may be missing.
func TestReceiptIsCompleteJSON(t *testing.T) {
	l := open(t, settings(patient), withVectors)
	learn(t, l, fact(t, "%s", about), fact(t, "The payments team eats at noon."), pinned(t, "Reply in French."))
	broken := open(t, settings(func(c *config.Config) { c.Middleware.Knowledge = false }))
	for name, r := range map[string]ken.Receipt{
		"a block":           l.Assemble(context.Background(), asked(question)).Receipt,
		"small talk":        l.Assemble(context.Background(), asked("thanks!")).Receipt,
		"nothing found":     l.Assemble(context.Background(), asked("What does the weather forecast say about Oslo?")).Receipt,
		"weight none":       l.Assemble(context.Background(), ken.Turn{Weight: ken.WeightNone, Messages: asked(question).Messages}).Receipt,
		"no message":        l.Assemble(context.Background(), ken.Turn{}).Receipt,
		"switched off":      broken.Assemble(context.Background(), asked(question)).Receipt,
		"no such owner":     l.Assemble(context.Background(), ken.Turn{Owner: strings.Repeat("x", 5000), Messages: asked(question).Messages}).Receipt,
		"the caller's gone": l.Assemble(gone(), asked(question)).Receipt,
	} {
		b, err := json.Marshal(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("%s: null in %s", name, b)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"turn", "at", "owner", "mode", "cause", "block", "chars", "tokens", "signals", "items", "cut", "cached_bytes", "new_bytes", "ms"} {
			if m[field] == nil {
				t.Errorf("%s: no %s in %s", name, field, b)
			}
		}
		if r.Turn == "" || r.At.IsZero() || r.Mode == ken.ModeNone && r.Cause == "" {
			t.Errorf("%s: turn %q at %v, mode %q, cause %q", name, r.Turn, r.At, r.Mode, r.Cause)
		}
		for _, c := range r.Cut {
			if c.ID == "" || c.Reason == "" {
				t.Errorf("%s: cut %+v", name, c)
			}
		}
		for _, it := range r.Items {
			if it.ID == "" || it.Text == "" || it.Chars == 0 || len(it.Legs) == 0 {
				t.Errorf("%s: item %+v", name, it)
			}
		}
	}
}

func gone() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// slowFor is an embedder that takes its time over one question.
type slowFor struct {
	embedtest.Bag
	question string
	gate     chan struct{}
}

func (s slowFor) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if texts[0] == s.question {
		<-s.gate
	}
	return s.Bag.Embed(ctx, texts)
}

// What the vector leg found too late serves the session's next turn that asks
// for something; small talk in between neither gets it nor loses it.
func TestLateHitsReachTheNextTurnThatAsks(t *testing.T) {
	slow := slowFor{question: "What happens when money does not arrive?", gate: make(chan struct{})}
	there := make(chan struct{})
	var once sync.Once
	relay := func(next middleware.Handler) middleware.Handler { // tells when the hits are there
		return func(ctx context.Context, st *middleware.State) error {
			err := next(ctx, st)
			once.Do(func() {
				late, passed := st.Found.Late, make(chan store.Result, 1)
				st.Found.Late = passed
				go func() { passed <- <-late; close(there) }()
			})
			return err
		}
	}
	l := open(t, settings(only("vector"), func(c *config.Config) { c.Retrieval.Deadline, c.Middleware.Floor = 50*time.Millisecond, false }),
		using(relay), func(o *middleware.Options) { o.Embedder = slow })
	id := learn(t, l, fact(t, "When money does not arrive, an alert is what happens."))[0]
	turn := ken.Turn{Session: "s"}
	say := func(text string) ken.Receipt {
		turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: text})
		r := l.Assemble(context.Background(), turn).Receipt
		turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "…"})
		return r
	}
	if r := say(slow.question); r.Mode != ken.ModeLate || r.Cause != "vector: not there within 50ms" || len(r.Items) > 0 {
		t.Fatalf("mode %s, cause %q, items %+v", r.Mode, r.Cause, r.Items)
	}
	close(slow.gate)
	<-there
	if r := say("thanks!"); len(r.Items) > 0 {
		t.Errorf("small talk got %+v", r.Items)
	}
	r := say("Which colour has the zeppelin?")
	if len(r.Items) != 1 || r.Items[0].ID != id || r.Items[0].Legs["late"].Rank != 1 {
		t.Errorf("items %+v, cut %+v", r.Items, r.Cut)
	}
}

// A long loop of tool calls must not push the question out of what is read.
func TestQuestionStandsThroughALongToolLoop(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", about))
	turn := asked(question)
	for i := range 60 {
		turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: fmt.Sprint(i), Name: "ls", Arguments: "{}"}}},
			ken.Message{Role: "tool", ToolCallID: fmt.Sprint(i), Text: "nothing here"})
	}
	a := l.Assemble(context.Background(), turn)
	if len(a.Insertions) != 1 || a.Insertions[0].Before != 0 || !slices.Contains(a.Receipt.Signals.Keywords, "payments") {
		t.Errorf("insertions %+v, signals %+v, cause %q", a.Insertions, a.Receipt.Signals, a.Receipt.Cause)
	}
}

// Many goroutines, sessions and owners at once: everybody gets what is theirs.
func TestConcurrentAssemble(t *testing.T) {
	const owners, sessions, turns = 4, 4, 5
	l := open(t, settings(recording, patient), withVectors)
	for o := range owners {
		s, release, err := l.Store(context.Background(), fmt.Sprint("owner", o))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.WriteClaim(context.Background(), fact(t, "The payments service of owner%d retries a failed transfer.", o)); err != nil {
			t.Fatal(err)
		}
		release()
	}
	var wg sync.WaitGroup
	for o := range owners {
		for s := range sessions {
			for range 2 { // two clients in one session
				wg.Go(func() {
					turn := ken.Turn{Owner: fmt.Sprint("owner", o), Session: fmt.Sprint("session", s)}
					for i := range turns {
						turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: fmt.Sprintf("%s Try %d.", question, i)})
						a := l.Assemble(context.Background(), turn)
						if len(a.Insertions) == 0 || !strings.Contains(a.Insertions[0].Text, "of "+turn.Owner+" retries") ||
							strings.Count(a.Insertions[0].Text, " of owner") != 1 || a.Receipt.Owner != turn.Owner || a.Receipt.Session != turn.Session {
							t.Errorf("%s, turn %d: %+v", turn.Owner, i, a)
							return
						}
						turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."})
					}
				})
			}
		}
	}
	wg.Wait()
	for s := range sessions {
		if got := events(t, l, fmt.Sprint("session", s)); len(got) != owners*2*turns {
			t.Errorf("session%d: %d events, want %d", s, len(got), owners*2*turns)
		}
	}
}

// Close while turns run: each comes back, without knowledge if need be, none
// panics, and nothing is left open; TestMain looks for goroutines.
func TestCloseWhileTurnsRun(t *testing.T) {
	l := open(t, settings(recording, patient), withVectors)
	learn(t, l, fact(t, "%s", about))
	var wg sync.WaitGroup
	half := make(chan struct{}, 64)
	for range 8 {
		wg.Go(func() {
			for i := range 40 {
				a := l.Assemble(context.Background(), asked(question))
				if a.Receipt.Block == "" && a.Receipt.Cause == "" {
					t.Errorf("no block and no cause: %+v", a.Receipt)
				}
				if i == 5 {
					half <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-half
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	a := l.Assemble(context.Background(), asked(question))
	if len(a.Insertions) != 0 || a.Receipt.Mode != ken.ModeNone || a.Receipt.Cause == "" {
		t.Errorf("after Close: %+v", a)
	}
}
