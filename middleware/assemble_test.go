package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

func using(m ...middleware.Middleware) func(*middleware.Options) {
	return func(o *middleware.Options) { o.Use = m }
}

func withVectors(o *middleware.Options) { o.Embedder = embedtest.Bag{} }

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
	learn(t, l, fact(t, "%s", retryFact))
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
	learn(t, l, fact(t, "%s", retryFact))
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
			learn(t, l, fact(t, "%s", retryFact))
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
	learn(t, l, fact(t, "%s", retryFact))
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
	l := open(t, settings(), withVectors)
	learn(t, l, fact(t, "%s", retryFact), fact(t, "The payments team eats at noon."), pinned(t, "Reply in French."))
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

// Late hits of the vector leg go to the session's next turn that needs
// knowledge. Small talk in between does not get them, and does not discard
// them.
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
	middleware.AwaitTurns(l)
	answer := sync.OnceFunc(func() { close(slow.gate) })
	t.Cleanup(answer) // before the layer is closed, which waits for the embedder
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
	answer()
	<-there
	if r := say("thanks!"); len(r.Items) > 0 {
		t.Errorf("small talk got %+v", r.Items)
	}
	r := say("Which colour has the zeppelin?")
	if len(r.Items) != 1 || r.Items[0].ID != id || r.Items[0].Legs["late"].Rank != 1 {
		t.Errorf("items %+v, cut %+v", r.Items, r.Cut)
	}
}

// After a long loop of tool calls, the question must still be read.
func TestQuestionStandsThroughALongToolLoop(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", retryFact))
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

// With many goroutines, sessions and owners at once, each gets its own results.
func TestConcurrentAssemble(t *testing.T) {
	const owners, sessions, turns = 4, 4, 5
	l := open(t, settings(recording), withVectors)
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
	for o := range owners {
		for s := range sessions {
			if got := events(t, l, fmt.Sprint("owner", o), fmt.Sprint("session", s)); len(got) != 2*turns {
				t.Errorf("owner%d, session%d: %d events, want %d", o, s, len(got), 2*turns)
			}
		}
	}
}

// Close while turns run: each comes back, without knowledge if need be, none
// panics, and nothing is left open; TestMain looks for goroutines.
func TestCloseWhileTurnsRun(t *testing.T) {
	l := open(t, settings(recording), withVectors)
	learn(t, l, fact(t, "%s", retryFact))
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

// One number says when a verified claim decays: lifecycle.yaml's where it is set,
// the configuration's otherwise, for turns and for gc alike.
func TestTheLifecyclePolicyDecidesWhenClaimsDecay(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		want int
	}{
		"no file":          {"", 90},
		"not set":          {lifecycle.Example(), 90},
		"set":              {"confidence_decay_days: 7\n", 7},
		"never":            {"confidence_decay_days: -1\n", 0},
		"can't be read":    {"confidence_decay_days: soon\n", 90},
		"about other days": {"events_days: 3\n", 90},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if tc.file != "" {
				path := filepath.Join(root, memoryfile.Dir, lifecycle.FileName)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(tc.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := open(t, settings(), in(root)).Config().Knowledge.DecayDays; got != tc.want {
				t.Errorf("%d days, want %d", got, tc.want)
			}
		})
	}
}

// A retriever that a program makes by itself ranks as a configured one does.
func TestRetrieverAndConfigurationAgreeOnDefaults(t *testing.T) {
	k := config.Default().Knowledge
	if k.Sessions != retriever.DefaultSessions || k.Playbooks != retriever.DefaultPlaybooks {
		t.Errorf("the configuration has %d sessions and %d playbooks, the retriever %d and %d", k.Sessions, k.Playbooks, retriever.DefaultSessions, retriever.DefaultPlaybooks)
	}
	c := config.Default().Retrieval
	if got := retriever.Weights(c.Signals); got != retriever.DefaultWeights {
		t.Errorf("the configuration's weights are %+v, the retriever's %+v", got, retriever.DefaultWeights)
	}
	if c.Floor != retriever.DefaultFloor {
		t.Errorf("the configuration's floor is %v, the retriever's %v", c.Floor, retriever.DefaultFloor)
	}
}

// retrieval.legs.keyword and retrieval.legs.vector each bound their own leg.
func TestEachLegHasItsOwnLimit(t *testing.T) {
	for _, limit := range []struct{ keyword, vector int }{{2, 5}, {5, 2}} {
		l := open(t, settings(func(c *config.Config) {
			c.Retrieval.Legs.Keyword, c.Retrieval.Legs.Vector = limit.keyword, limit.vector
			c.Middleware.Floor = false
		}), func(o *middleware.Options) { o.Embedder = embedtest.Bag{} })
		var facts []ken.Claim
		for _, day := range []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"} {
			facts = append(facts, fact(t, "The payments service pays out in batch %s.", day))
		}
		learn(t, l, facts...)
		found := map[string]int{}
		for _, it := range l.Assemble(context.Background(), asked("When does the payments service pay out?")).Receipt.Items {
			for leg := range it.Legs {
				found[leg]++
			}
		}
		if found["keyword"] != limit.keyword || found["vector"] != limit.vector {
			t.Errorf("limits %+v, found %v", limit, found)
		}
	}
}

// While the maximum number of turns are composed, another turn does not wait: it gets
// the earlier blocks of its conversation, but no new one, and the receipt says why.
// The next step of a turn that has its block is no turn to compose.
func TestTurnsBeyondTheBoundDoNotWait(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	l := open(t, settings(func(c *config.Config) { c.Retrieval.AtOnce = 2 }), func(o *middleware.Options) {
		o.Use = append(o.Use, func(next middleware.Handler) middleware.Handler {
			return func(ctx context.Context, st *middleware.State) error {
				if strings.HasPrefix(st.Turn.Session, "slow") {
					entered <- struct{}{}
					<-hold
				}
				return next(ctx, st)
			}
		})
	})
	learn(t, l, fact(t, "The payments service retries three times."))
	d := testDialects[0]
	opening := []string{d.user("How often does the payments service retry?")}
	if x := begin(t, l, d, d.body("", opening...), inSession("before")); x.Untouched != "" || !strings.Contains(string(x.Body), "three times") {
		t.Fatalf("untouched %q: %s", x.Untouched, x.Body)
	}
	var slow sync.WaitGroup
	for _, s := range []string{"slow1", "slow2"} {
		slow.Go(func() {
			if x, err := l.Operator().Begin(context.Background(), d.Dialect, []byte(d.body("", opening...)), as(s)); err != nil || x.Untouched != "" || !strings.Contains(string(x.Body), "three times") {
				t.Errorf("a turn that was let in: %+v, %v", x, err)
			}
		})
		<-entered
	}
	fresh := d.body("", opening...)
	x := begin(t, l, d, fresh, inSession("fresh"))
	if x.Untouched != "turns" || string(x.Body) != fresh || len(x.Receipt.Degraded) != 1 || x.Receipt.Mode != ken.ModeNone {
		t.Errorf("a fresh turn: untouched %q, %+v, %s", x.Untouched, x.Receipt, x.Body)
	}
	step := begin(t, l, d, d.body("", append(opening[:1:1], d.call, d.result)...), inSession("before"))
	if step.Untouched != "" || !step.Receipt.Reused || !strings.Contains(string(step.Body), "three times") {
		t.Errorf("a step of a turn: untouched %q, %s", step.Untouched, step.Body)
	}
	next := begin(t, l, d, d.body("", append(append(opening[:1:1], d.said("Three times.")...), d.user("And when?"))...), inSession("before"))
	if next.Untouched != "turns" || strings.Count(string(next.Body), "[Pipeline Knowledge]") != 1 {
		t.Errorf("a conversation's next turn: untouched %q, %s", next.Untouched, next.Body)
	}
	if got := preview(t, l, d, fresh, as("fresh")); got != fresh {
		t.Errorf("counted as %s", got)
	}
	close(hold)
	slow.Wait()
	if x := begin(t, l, d, fresh, inSession("fresh")); x.Untouched != "" || !strings.Contains(string(x.Body), "three times") {
		t.Errorf("afterwards: untouched %q, %s", x.Untouched, x.Body)
	}
}

func as(session string) func(*wire.Request) ken.Turn {
	return func(*wire.Request) ken.Turn { return inSession(session) }
}

// The receipt of a turn says which rule decided what it gets. A call that gets no block
// and stores nothing is sent unchanged, and nothing of it is kept.
func TestATurnNamesTheRuleThatDecided(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "The ledger service listens on port 7443."))
	const body = `{"messages":[{"role":"user","content":"Which port does the ledger service listen on?"}]}`
	begin := func(turn ken.Turn) ken.Receipt {
		x, err := l.Operator().Begin(t.Context(), wire.Chat, []byte(body), func(*wire.Request) ken.Turn { return turn })
		if err != nil {
			t.Fatal(err)
		}
		if none := turn.Weight == ken.WeightNone; none != (string(x.Body) == body) {
			t.Errorf("%+v: %s", turn, x.Body)
		}
		return x.Receipt
	}
	if r := begin(ken.Turn{Session: "a", Policy: "policy[0]"}); r.Policy != "policy[0]" || r.Cause != "" && r.Mode == ken.ModeNone {
		t.Errorf("%+v", r)
	}
	if r := begin(ken.Turn{Session: "b", Policy: "policy[1]", Weight: ken.WeightNone}); r.Policy != "policy[1]" || r.Cause != "policy[1] gives this call no knowledge" {
		t.Errorf("%+v", r)
	}
	begin(ken.Turn{Session: "c", Policy: "side:title", Weight: ken.WeightNone, Incognito: true})
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := l.Operator().Journal("").List(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
