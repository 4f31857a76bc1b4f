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
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/run/telemetry"
	"github.com/kenlayer/ken/middleware"
)

var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func recording(c *config.Config) { c.Middleware.Events = true }

// events reads what the layer wrote about a session.
func events(t testing.TB, l *middleware.Layer, owner, session string) (out []telemetry.ContextAssembly) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.Operator().EventsDir(owner), telemetry.FileName(session)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var ev telemetry.ContextAssembly
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, ev)
	}
	return out
}

func pinned(t testing.TB, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Kind = ken.KindHot
	return c
}

// Every number of a turn's event is compared with the known content of the
// turn. Characters are code points, memory and knowledge are separate, and the
// parts add up to the total.
func TestEventCountsWhatTheTurnHolds(t *testing.T) {
	l := open(t, settings(recording, func(c *config.Config) { c.Knowledge.TopK, c.Knowledge.Provider = 1, config.ProviderNone }), func(o *middleware.Options) {
		o.Now = func() time.Time { return monday }
	})
	learn(t, l, fact(t, "%s", retryFact), fact(t, "The payments service, so Müller, retries a failed card transfer never. 你好"), pinned(t, "Reply in 日本語, please."))
	a := l.Assemble(context.Background(), ken.Turn{ID: "turn-1", Session: "s/1", Tools: 3, Messages: []ken.Message{
		{Role: "system", Text: "Sei nützlich."},             // 13 code points, 14 bytes
		{Role: "developer", Text: "Be brief."},              // 9
		{Role: "user", Text: "Grüß dich!"},                  // 10
		{Role: "assistant", Text: "👋"},                      // 1
		{Role: "tool", ToolCallID: "c", Text: "{\"ok\":1}"}, // 8
		{Role: "user", Text: question},
	}})
	var memory, knowledge int
	for _, it := range a.Receipt.Items {
		if it.Kind == ken.KindHot {
			memory += it.Chars
		}
	}
	for _, ins := range a.Insertions {
		knowledge += utf8.RuneCountInString(ins.Text)
	}
	knowledge -= memory
	if memory == 0 || len(a.Receipt.Items) != 2 || len(a.Insertions) != 1 {
		t.Fatalf("the turn is not the one that was meant: %+v", a)
	}
	history := 10 + 1 + 8 + len(question)
	want := telemetry.ContextAssembly{Event: "context_assembly", Timestamp: monday, SessionID: "s/1", Turn: "turn-1",
		KnowledgeRetrieved: 2, KnowledgeIncluded: 1, MemoryLoaded: 1, MemoryIncluded: 1, Artifacts: 2,
		SystemPromptChars: 22, ContextChars: 22 + memory + knowledge + history,
		Breakdown: telemetry.Breakdown{SystemPrompt: 22, Memory: memory, Knowledge: knowledge, History: history},
		ToolCount: 3, ToolSchemaEstTokens: 1350, Mode: "keyword", Cause: a.Receipt.Cause}
	got := events(t, l, "", "s/1")
	if len(got) != 1 {
		t.Fatalf("%d events for one turn", len(got))
	}
	if d := cmp.Diff(want, got[0], cmpopts.IgnoreFields(want, "AssemblyMS")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got[0].AssemblyMS <= 0 || got[0].AssemblyMS != a.Receipt.MS["total"] {
		t.Errorf("assembly_ms is %v, the receipt says %v", got[0].AssemblyMS, a.Receipt.MS["total"])
	}
	if kept, err := l.Operator().Turn(context.Background(), "", "turn-1"); err != nil || kept.Context == nil || *kept.Context != want.Breakdown {
		t.Errorf("the receipt has %+v, %v", kept.Context, err)
	}
	if !strings.Contains(got[0].Cause, "embed_provider is none") {
		t.Errorf("cause %q", got[0].Cause)
	}
}

// A turn without a block has an event too: what was not injected, and why, is
// what rival systems never tell.
func TestEventOfATurnWithoutABlock(t *testing.T) {
	l := open(t, settings(recording))
	learn(t, l, fact(t, "%s", retryFact))
	for _, text := range []string{"thanks!", "What does the weather forecast say about Oslo?"} {
		l.Assemble(context.Background(), ken.Turn{Session: "quiet", Messages: []ken.Message{{Role: "user", Text: text}}})
	}
	got := events(t, l, "", "quiet")
	if len(got) != 2 {
		t.Fatalf("%d events", len(got))
	}
	for _, ev := range got {
		if ev.KnowledgeIncluded+ev.MemoryIncluded+ev.Artifacts+ev.Breakdown.Knowledge+ev.Breakdown.Memory != 0 || ev.ContextChars != ev.Breakdown.History {
			t.Errorf("%+v", ev)
		}
	}
	if got[0].Mode != "none" || got[0].Cause != "the message asks for nothing" {
		t.Errorf("small talk: mode %q, cause %q", got[0].Mode, got[0].Cause)
	}
}

// The context holds what was inserted, so a dry run adds nothing to it.
func TestEventOfADryRunCountsNoInsertedCharacters(t *testing.T) {
	l := open(t, settings(recording, func(c *config.Config) { c.Middleware.Inject = false }))
	learn(t, l, fact(t, "%s", retryFact), pinned(t, "Reply in French."))
	l.Assemble(context.Background(), ken.Turn{Session: "dry", Messages: []ken.Message{{Role: "user", Text: question}}})
	ev := events(t, l, "", "dry")[0]
	if ev.ContextChars != len(question) || ev.KnowledgeIncluded != 1 || ev.MemoryIncluded != 1 {
		t.Errorf("%+v", ev)
	}
}

func TestEventsAreApartBySession(t *testing.T) {
	l := open(t, settings(recording))
	for _, session := range []string{"a", "b", "a", "../../up"} {
		l.Assemble(context.Background(), ken.Turn{Session: session, Messages: []ken.Message{{Role: "user", Text: "and " + session}}})
	}
	for session, n := range map[string]int{"a": 2, "b": 1, "../../up": 1} {
		if got := events(t, l, "", session); len(got) != n || got[0].SessionID != session {
			t.Errorf("%s: %d events, want %d", session, len(got), n)
		}
	}
}

// A record that can't be written counts as lost, and not as written.
func TestCountsSayWhatIsLost(t *testing.T) {
	l := open(t, settings(), func(o *middleware.Options) { o.Strict = false })
	path := filepath.Join(l.Config().State(l.Root()), "ana") // a file where her store belongs
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Assemble(context.Background(), ken.Turn{Owner: "ana", Session: "s", Messages: []ken.Message{{Role: "user", Text: "We deploy on Fridays."}}})
	if err := l.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := l.Operator().Counts(); got.Written != 0 || got.Lost != 1 {
		t.Errorf("%+v, want one that is lost", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestCountsFollowTheWork(t *testing.T) {
	l := open(t, settings())
	if got := l.Operator().Counts(); got.Written+got.Lost+got.Harvested+got.Retried+got.Dead != 0 || got.Waiting != 0 {
		t.Errorf("at first %+v", got)
	}
	turn := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: "Remember that we deploy the billing service on Fridays."}}}
	for range 3 {
		l.Assemble(context.Background(), turn)
	}
	if err := l.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := l.Operator().Counts(); got.Written != 3 || got.Waiting != 0 || got.Lost != 0 {
		t.Errorf("after three turns %+v", got)
	}
	if err := l.End(context.Background(), "", "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Harvest(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if got := l.Operator().Counts(); got.Harvested != 1 || got.Retried+got.Dead != 0 {
		t.Errorf("after the harvest %+v", got)
	}
}

// keptTurns lists the turns of a session that have one, newest first.
func keptTurns(t testing.TB, l *middleware.Layer, session string) (turns []string) {
	t.Helper()
	if err := l.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, _, err := l.Operator().Receipts("").List(context.Background(), receipt.Query{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		turns = append(turns, r.Turn)
	}
	return turns
}

const portFact = "The ledger service listens on port 8071."

func TestATurnLeavesItsReceipt(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "%s", portFact))
	turn := asked("On which port does the ledger service listen?")
	turn.Session, turn.Project, turn.Model, turn.Agent, turn.Branch = "s1", "p", "m", "a", "b"
	given := l.Assemble(t.Context(), turn).Receipt
	if len(given.Items) != 1 || given.Items[0].Text == "" {
		t.Fatalf("%+v", given)
	}
	if got := keptTurns(t, l, "s1"); !slices.Equal(got, []string{given.Turn}) {
		t.Fatalf("%q", got)
	}
	kept, err := l.Operator().Receipts("").Get(t.Context(), given.Turn)
	if err != nil || kept.Items[0].ID != ids[0] || kept.Items[0].Text != "" || kept.Block != "" || kept.Chars != given.Chars ||
		kept.Project != "p" || kept.Model != "m" || kept.Agent != "a" || kept.Branch != "b" || kept.MS["total"] == 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	// A turn without a session has one too, and one that asks for nothing.
	turn = asked("Thanks!")
	none := l.Assemble(t.Context(), turn).Receipt
	if got := keptTurns(t, l, ""); !slices.Equal(got, []string{none.Turn, given.Turn}) {
		t.Errorf("%q", got)
	}
	if given.Items[0].Text == "" || given.Block == "" {
		t.Error("the receipt that was handed out changed")
	}
}

func TestReceiptsAreAnOwnersAndCanBeSwitchedOff(t *testing.T) {
	l := open(t, settings())
	turn := asked("On which port does the ledger service listen?")
	turn.Owner, turn.Session = "ada", "s1"
	r := l.Assemble(t.Context(), turn).Receipt
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("another owner's: %q", got)
	}
	if _, err := l.Operator().Receipts("").Get(t.Context(), r.Turn); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := l.Operator().Receipts("ada").Get(t.Context(), r.Turn); err != nil {
		t.Error(err)
	}
	l = open(t, settings(func(c *config.Config) { c.Session.Receipts = 0 }))
	turn.Owner = ""
	l.Assemble(t.Context(), turn)
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("kept although none are: %q", got)
	}
	if tr, err := l.Operator().Journal("").Read(t.Context(), "s1"); err != nil || len(tr.Entries) != 1 {
		t.Errorf("the journal: %+v, %v", tr, err)
	}
}

// The receipts of a session go with it, and of a forgotten claim nothing stays but
// its id.
func TestForgettingReachesTheReceipts(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	ids := learn(t, l, fact(t, "%s", portFact))
	ask := func(session string) ken.Receipt {
		turn := asked("Why can the billing worker not connect to the ledger service through its port since the migration?")
		turn.Session = session
		return l.Assemble(t.Context(), turn).Receipt
	}
	shown, gone, deleted := ask("shown"), ask("gone"), ask("deleted")
	c := asked("Note that " + portFact)
	c.Session = "said"
	l.Assemble(t.Context(), c)
	if err := l.Operator().ForgetSession(t.Context(), "", "gone"); err != nil {
		t.Fatal(err)
	}
	if err := l.Operator().End(t.Context(), "", "deleted", session.Deleted); err != nil {
		t.Fatal(err)
	}
	for _, r := range []ken.Receipt{gone, deleted} {
		if got := keptTurns(t, l, r.Session); len(got) != 0 {
			t.Errorf("of %s: %q", r.Session, got)
		}
	}
	if _, err := l.Forget(t.Context(), "", ids[0], "asked for", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	kept, err := l.Operator().Receipts("").Get(t.Context(), shown.Turn)
	if err != nil || kept.Items[0].ID != ids[0] || kept.Items[0].Kind != "" || len(kept.Items[0].Legs) != 0 {
		t.Errorf("%+v, %v", kept, err)
	}
	if got := keptTurns(t, l, "said"); len(got) != 0 {
		t.Errorf("of the session in which it was said: %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, root, "port 8071", "ledger service listens") // random ids may contain the digits alone
}

// An incognito turn gets knowledge and leaves nothing on the disk. A later turn
// of the same conversation does not store its words either.
func TestAnIncognitoTurnLeavesNothing(t *testing.T) {
	root := t.TempDir()
	var told []ken.Receipt
	l := open(t, settings(func(c *config.Config) { c.Middleware.Events = true }), func(o *middleware.Options) {
		o.Root, o.OnReceipt = root, func(_ context.Context, r ken.Receipt) { told = append(told, r) }
	})
	learn(t, l, fact(t, "%s", portFact))
	turn := asked("My sister Zerlina is ill. On which port does the ledger service listen?")
	turn.Session, turn.Incognito = "zerlina-session", true
	r := l.Assemble(t.Context(), turn).Receipt
	if len(r.Items) != 1 || len(told) != 1 {
		t.Errorf("it was given %+v, and %d were told", r.Items, len(told))
	}
	answer := ken.Message{Role: "assistant", Text: "Zerlina should rest; the port is eightyseventyone."}
	l.Answered(turn, answer)
	h := l.Session(turn)
	if _, err := h.Add(t.Context(), ken.Message{Role: "user", Text: "Zerlina again"}); err != nil {
		t.Error(err)
	}
	if got := keptTurns(t, l, ""); len(got) != 0 {
		t.Errorf("receipts: %q", got)
	}
	if list, err := l.Operator().Journal("").List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	wantGone(t, root, "zerlina", "eightyseventyone", r.Turn)

	// The conversation continues without incognito: from here on, messages are kept.
	turn.Incognito = false
	turn.Messages = append(slices.Clone(turn.Messages), answer, ken.Message{Role: "user", Text: "Back to the ledger: which database has it?"})
	open := l.Assemble(t.Context(), turn).Receipt
	wantSaid(t, l, "zerlina-session", "user: Back to the ledger: which database has it?")
	if got := keptTurns(t, l, ""); !slices.Equal(got, []string{open.Turn}) {
		t.Errorf("receipts: %q", got)
	}

	// The same question without incognito is a new turn, whoever composed the block.
	again := asked(turn.Messages[0].Text)
	again.Session, again.Incognito = "other", true
	first := l.Assemble(t.Context(), again).Receipt
	again.Incognito = false
	again.Messages = append(again.Messages, ken.Message{Role: "assistant", Text: "Let me look.", ToolCalls: []ken.ToolCall{{ID: "1", Name: "look"}}})
	second := l.Assemble(t.Context(), again).Receipt
	if first.Turn == second.Turn || !second.Reused || second.Block != first.Block {
		t.Errorf("turn %s, then %s, reused %v", first.Turn, second.Turn, second.Reused)
	}
	if got := keptTurns(t, l, "other"); !slices.Equal(got, []string{second.Turn}) {
		t.Errorf("receipts: %q", got)
	}
}

// A gateway's turns, many at once: each message and each receipt is there once.
func TestNoTurnIsLostUnderLoad(t *testing.T) {
	l := open(t, settings())
	learn(t, l, fact(t, "%s", portFact))
	const clients, turns = 16, 12
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			turn := ken.Turn{Session: fmt.Sprint("s", c)}
			for i := range turns {
				turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: fmt.Sprintf("Question %d: which port has the ledger service?", i)})
				l.Assemble(context.Background(), turn)
				answer := ken.Message{Role: "assistant", Text: fmt.Sprintf("Answer %d of %d.", i, c)}
				l.Answered(turn, answer)
				turn.Messages = append(slices.Clone(turn.Messages), answer)
			}
		})
	}
	wg.Wait()
	for c := range clients {
		id := fmt.Sprint("s", c)
		if got := keptTurns(t, l, id); len(got) != turns {
			t.Errorf("%s has %d receipts, want %d", id, len(got), turns)
		}
		if got := journaledTexts(t, l, "", id); len(got) != 2*turns || got[2*turns-1] != fmt.Sprintf("assistant: Answer %d of %d.", turns-1, c) {
			t.Errorf("%s has %d messages, want %d", id, len(got), 2*turns)
		}
	}
}

// A layer announces its process before anything has its name, and withdraws the
// announcement at the end.
func TestALayerIsAnnouncedWhileItLives(t *testing.T) {
	root := t.TempDir()
	announced := func() (names []string) {
		entries, _ := os.ReadDir(filepath.Join(root, ".ken", "state", ".processes"))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	l := openWithin(t, root)
	turn := asked("On which port does the ledger service listen?")
	turn.Session = "s1"
	l.Assemble(t.Context(), turn)
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	info, err := l.Operator().Journal("").Info(t.Context(), "s1")
	if got := announced(); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], info.Process) {
		t.Errorf("announced are %q; the session is of %q, %v", got, info.Process, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := announced(); len(got) != 0 {
		t.Errorf("still announced: %q", got)
	}
}

func askTurn(l *middleware.Layer, id, session, question string) {
	l.Assemble(context.Background(), ken.Turn{ID: id, Session: session, Messages: []ken.Message{{Role: "user", Text: question}}})
}

func plainFact(text string, change ...func(*ken.Claim)) ken.Claim {
	c := ken.Claim{Text: text, Kind: ken.KindFact, Status: ken.StatusObserved, Confidence: 1, Importance: 0.5,
		Evidence: []ken.Evidence{ken.FromFile("a.go", "", "")}}
	for _, f := range change {
		f(&c)
	}
	return c
}

// Explain gives every possible answer from the receipt and the history.
func TestExplain(t *testing.T) {
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	var seconds atomic.Int64
	l := open(t, settings(), func(o *middleware.Options) {
		o.Now = func() time.Time { return at.Add(time.Duration(seconds.Add(1)) * time.Second) }
	})
	ids := learn(t, l,
		plainFact("Payments are retried three times with backoff."),
		plainFact("Deploys are frozen until Friday.", func(c *ken.Claim) { c.Kind = ken.KindHot }),
		plainFact("The zeppelin is moored in the north."),
		plainFact("Payments may be retried ten times.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }),
		plainFact("Xylophones are tuned at dawn.", func(c *ken.Claim) { c.Status = ken.StatusHypothesis }),
		plainFact("Obelisks stand in row four.", func(c *ken.Claim) { c.ExpiresAt = at.Add(-time.Hour) }),
		plainFact("Marmots whistle at noon."))
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.Forget(t.Context(), ids[6], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	askTurn(l, "turn-2", "s1", "thanks!")
	later := learn(t, l, plainFact("Payments are retried on Sundays."))[0]
	// Later events do not change the explanation of the turn.
	if err := s.Transition(t.Context(), ken.Transition{ID: ids[4], To: ken.StatusObserved}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, turn, claim string
		verdict           inspect.Verdict
		reason            ken.CutReason
		status            ken.Status
		says              string
	}{
		{"injected", "turn-1", ids[0], inspect.Injected, "", ken.StatusObserved, "found by keyword at rank 1"},
		{"memory", "turn-1", ids[1], inspect.Injected, "", ken.StatusObserved, "in the memory part"},
		{"cut", "turn-1", ids[3], inspect.Cut, ken.CutStatus, ken.StatusHypothesis, "hypothesis"},
		{"not to be recalled then, found by nothing", "turn-1", ids[4], inspect.Cut, ken.CutStatus, ken.StatusHypothesis, "It was"},
		{"expired then", "turn-1", ids[5], inspect.Cut, ken.CutExpired, ken.StatusObserved, "had expired"},
		{"forgotten before", "turn-1", ids[6], inspect.Unknown, "", "", "forgotten before"},
		{"written later", "turn-1", later, inspect.Unknown, "", "", "not known yet"},
		{"nothing was asked", "turn-2", ids[2], inspect.Silent, "", ken.StatusObserved, "asks for nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := l.Operator().Explain(t.Context(), "", tt.turn, tt.claim)
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict != tt.verdict || e.Reason != tt.reason || !strings.Contains(e.Why, tt.says) || e.Claim != tt.claim || e.Turn != tt.turn {
				t.Errorf("got %+v", e)
			}
			if tt.status != "" && e.Status != tt.status {
				t.Errorf("status %q, want %q", e.Status, tt.status)
			}
			if (e.Item != nil) != (tt.verdict == inspect.Injected) {
				t.Errorf("item %+v", e.Item)
			}
		})
	}
	far, err := l.Operator().Explain(t.Context(), "", "turn-1", ids[2])
	if err != nil || far.Verdict != inspect.Unseen && far.Reason != ken.CutFloor || far.Why == "" {
		t.Errorf("a claim that has nothing to do with it: %+v, %v", far, err)
	}
	for _, claim := range []string{"0198c0de-0000-7000-8000-00000000dead", "", "x"} {
		if _, err := l.Operator().Explain(t.Context(), "", "turn-1", claim); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("%q: %v", claim, err)
		}
	}
	if _, err := l.Operator().Explain(t.Context(), "", "turn-9", ids[0]); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("a turn that was not: %v", err)
	}
	if _, err := l.Operator().Explain(t.Context(), "bert", "turn-1", ids[0]); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("another owner: %v", err)
	}
}

// A claim that no leg returned is distinguished from one that was cut, and the
// explanation has the question.
func TestExplainWhatNoLegFound(t *testing.T) {
	l := open(t, settings(func(c *config.Config) { c.Knowledge.Provider = config.ProviderNone }))
	ids := learn(t, l, plainFact("The zeppelin is moored in the north."), plainFact("Payments are retried."))
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	e, err := l.Operator().Explain(t.Context(), "", "turn-1", ids[0])
	if err != nil || e.Verdict != inspect.Unseen || !strings.Contains(e.Why, "payments") || !strings.Contains(e.Why, "keyword") || e.Try == "" {
		t.Errorf("got %+v, %v", e, err)
	}
}

// A receipt keeps no text: a turn that is read shows the claim as it is now, and says so.
func TestTurnShowsClaimsAsTheyAre(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, plainFact("Payments are retried three times.", func(c *ken.Claim) { c.Key = "retries" }),
		plainFact("Deploys are frozen.", func(c *ken.Claim) { c.Kind = ken.KindHot }))
	askTurn(l, "turn-1", "s1", "how are payments retried?")
	states := func() map[string]inspect.Item {
		v, err := l.Operator().Turn(t.Context(), "", "turn-1")
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]inspect.Item{}
		for _, it := range v.Items {
			out[it.ID] = it
		}
		return out
	}
	if got := states(); len(got) != 2 || got[ids[0]].State != inspect.Same || got[ids[0]].Key != "retries" || !strings.Contains(got[ids[0]].Text, "three") {
		t.Fatalf("got %+v", got)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.WriteClaim(t.Context(), plainFact("Payments are retried five times.", func(c *ken.Claim) { c.Key = "retries" })); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Forget(t.Context(), "", ids[1], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	got := states()
	if got[ids[0]].State != inspect.Changed || !strings.Contains(got[ids[0]].Text, "five") {
		t.Errorf("a claim that was revised: %+v", got[ids[0]])
	}
	if it := got[ids[1]]; it.State != inspect.Forgotten || it.Text != "" {
		t.Errorf("a claim that was forgotten: %+v", it)
	}
	if e, err := l.Operator().Explain(t.Context(), "", "turn-1", ids[1]); err != nil || e.Verdict != inspect.Injected || !strings.Contains(e.Why, "forgotten since") {
		t.Errorf("asked why: %+v, %v", e, err)
	}
}
