package middleware_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/wire"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// dialog is a conversation of a client that names no session. Each request may go to
// another layer.
type dialog struct {
	t      *testing.T
	system string
	items  []string
	sent   []string // what the last request had upstream, its instructions left out
	calls  int

	session string
	blocks  int                  // in the last request
	waits   *middleware.Exchange // the last request, while it has no answer
	at      *middleware.Layer    // that it went through
}

func newDialog(t *testing.T, system string) *dialog { return &dialog{t: t, system: system} }

// send sends the conversation through a layer, and checks that everything sent before
// is still in its place. The provider answers with answer; "" for no answer.
func (c *dialog) send(l *middleware.Layer, answer string) {
	c.t.Helper()
	d := testDialects[0]
	items := append([]string{object("role", "system", "content", c.system)}, c.items...)
	x, err := l.Operator().Begin(c.t.Context(), d.Dialect, []byte(d.body("", items...)), func(r *wire.Request) ken.Turn {
		return ken.Turn{Session: wire.SessionOf("", "", r)}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if len(x.Receipt.Degraded) > 0 {
		c.t.Errorf("degraded: %v", x.Receipt.Degraded)
	}
	c.session = x.Turn.Session
	var body struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(x.Body, &body); err != nil {
		c.t.Fatal(err)
	}
	var sent []string
	c.blocks = 0
	for _, m := range body.Messages[1:] {
		sent = append(sent, string(m))
		if strings.Contains(string(m), "[/Pipeline Knowledge]") {
			c.blocks++
		}
	}
	for i, was := range c.sent {
		if i >= len(sent) || sent[i] != was {
			c.t.Fatalf("the prefix breaks at message %d of %d: was\n%s\nis\n%s", i, len(c.sent), was, strings.Join(sent[min(i, len(sent)):], "\n"))
		}
	}
	c.sent = sent
	c.waits, c.at = x, l
	if answer != "" {
		c.hears(d.whole("x", answer))
		c.items = append(c.items, object("role", "assistant", "content", answer))
	}
	if err := l.Operator().Recorded(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// hears passes body to the layer as the answer to the last request.
func (c *dialog) hears(body string) {
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	c.waits.Listen(resp, nil)
	io.Copy(io.Discard, resp.Body)
	if err := c.at.Operator().Recorded(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a question of the user.
func (c *dialog) ask(l *middleware.Layer, question, answer string) {
	c.t.Helper()
	c.items = append(c.items, testDialects[0].user(question))
	c.send(l, answer)
}

// tool lets the model call a tool, and sends the result.
func (c *dialog) tool(l *middleware.Layer, answer string) {
	c.t.Helper()
	c.calls++
	id := fmt.Sprintf("call %p %d", c, c.calls)
	call := strings.ReplaceAll(testDialects[0].call, `"c1"`, quoted(id))
	c.hears(`{"id":"x","choices":[{"index":0,"message":` + call + `,"finish_reason":"tool_calls"}]}`)
	c.items = append(c.items, call, strings.ReplaceAll(testDialects[0].result, `"c1"`, quoted(id)))
	c.send(l, answer)
}

// facts maps each question to the text that its turn must get.
func facts(t *testing.T) (claims []ken.Claim, questions []string) {
	for _, f := range [][2]string{
		{"The compass-crew oils the wheelhouse instruments before winter.", "Who oils the wheelhouse instruments?"},
		{"Ferry tickets cost nine crowns for residents.", "How much do ferry tickets cost for residents?"},
		{"Lantern glass comes from a workshop in Aarhus.", "Which workshop makes the lantern glass?"},
		{"The harbour invoice exporter writes semicolon-separated files.", "Which files does the invoice exporter write?"},
		{"Turbine vibration above seven millimetres triggers a shutdown.", "When does turbine vibration trigger a shutdown?"},
	} {
		claims, questions = append(claims, fact(t, "%s", f[0])), append(questions, f[1])
	}
	return claims, questions
}

// Through whatever process a request goes, and at whatever time, the earlier blocks of
// its conversation are in their places, byte for byte.
func TestBlocksStandAfterARestart(t *testing.T) {
	root := t.TempDir()
	claims, questions := facts(t)
	l := open(t, settings(), in(root))
	learn(t, l, claims...)
	c := newDialog(t, "Be brief. It is 10:00.")
	c.ask(l, questions[0], "The compass crew.")
	c.ask(l, questions[1], "")
	if c.blocks != 2 {
		t.Fatalf("%d blocks before the restart", c.blocks)
	}
	session := c.session
	l.Close()

	l = open(t, settings(), in(root))
	learn(t, l, fact(t, "The night watch reads the turbine vibration."))
	c.system = "Be brief. It is 10:05, and the branch is main."
	c.tool(l, "The turbine crew.")
	if c.blocks != 2 {
		t.Errorf("%d blocks in a turn that goes on after the restart", c.blocks)
	}
	c.ask(l, questions[2], "The ferry crew.")
	if c.blocks != 3 || c.session != session {
		t.Errorf("%d blocks, session %q, before %q", c.blocks, c.session, session)
	}
	c.ask(l, questions[0], "")
	if sent := strings.Join(c.sent, "\n"); strings.Count(sent, "compass-crew") != 1 {
		t.Errorf("what the conversation holds was told again:\n%s", sent)
	}
}

// Three processes that take turns on one conversation send the same.
func TestBlocksStandInEveryProcess(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{open(t, settings(), in(root)), open(t, settings(), in(root)), open(t, settings(), in(root))}
	claims, questions := facts(t)
	learn(t, layers[0], claims...)
	talks := []*dialog{newDialog(t, "A."), newDialog(t, "B."), newDialog(t, "C.")}
	for i, q := range questions {
		for j, c := range talks {
			c.ask(layers[(i+j)%3], q, "")
			c.tool(layers[(i+2*j+1)%3], fmt.Sprintf("Answer %d of conversation %d.", i, j))
		}
	}
	for _, c := range talks {
		if c.blocks != len(questions) {
			t.Errorf("%d blocks for %d questions", c.blocks, len(questions))
		}
	}
}

// Conversations that begin with the same words stay apart in whichever process they go
// on, and each keeps its own blocks.
func TestEqualBeginningsInEveryProcess(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{open(t, settings(), in(root)), open(t, settings(), in(root))}
	claims, questions := facts(t)
	learn(t, layers[0], claims...)
	var talks []*dialog
	for i := range race.Pick(40, 6) {
		c := newDialog(t, "Be brief.")
		c.ask(layers[i%2], questions[0], fmt.Sprintf("Answer of %d.", i))
		talks = append(talks, c)
		learn(t, layers[0], fact(t, "Wheelhouse instruments were oiled %d times last year.", i)) // so that their blocks differ
	}
	for round := 1; round < 3; round++ {
		for i, c := range talks {
			before := c.session
			c.ask(layers[(i+round)%2], questions[round], fmt.Sprintf("Round %d of %d.", round, i))
			if c.session != before {
				t.Errorf("conversation %d was %q and goes on as %q", i, before, c.session)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range talks {
		seen[c.session] = true
	}
	if len(seen) != len(talks) {
		t.Errorf("%d conversations have %d sessions", len(talks), len(seen))
	}
	layers[0].Close()
	layers[1].Close()
	l := open(t, settings(), in(root))
	for i, c := range talks {
		before := c.session
		if c.ask(l, questions[3], ""); c.session != before {
			t.Errorf("after a restart, conversation %d is %q, not %q", i, c.session, before)
		}
	}
}

// Two conversations that begin at the same time, before either is answered, share their
// first turn and then go apart. Neither loses its first block.
func TestEqualBeginningsAtTheSameTime(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{open(t, settings(), in(root)), open(t, settings(), in(root))}
	claims, questions := facts(t)
	learn(t, layers[0], claims...)
	a, b := newDialog(t, "Be brief."), newDialog(t, "Be brief.")
	a.ask(layers[0], questions[0], "")
	b.ask(layers[1], questions[0], "")
	a.send(layers[0], "Answer of a.")
	b.send(layers[1], "Answer of b.")
	for i := 1; i < 4; i++ {
		a.ask(layers[i%2], questions[i], fmt.Sprint("a", i))
		b.ask(layers[(i+1)%2], questions[i], fmt.Sprint("b", i))
	}
	if a.session == b.session || a.blocks != 4 || b.blocks != 4 {
		t.Errorf("sessions %q and %q, %d and %d blocks", a.session, b.session, a.blocks, b.blocks)
	}
}

// A block goes from the disk with its claim, and comes up in no process any more.
func TestAStoredBlockIsForgottenWithItsClaim(t *testing.T) {
	root := t.TempDir()
	l := open(t, settings(), in(root))
	claims, questions := facts(t)
	ids := learn(t, l, claims...)
	c := newDialog(t, "Be brief.")
	c.ask(l, questions[0], "Noted.")
	l.Close()
	l = open(t, settings(), in(root))
	gone, err := l.Forget(t.Context(), "", ids[0], "", ken.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	checks, err := l.Operator().CheckForgotten(t.Context(), "", claims[:1], gone)
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range checks {
		if !ch.Clean {
			t.Errorf("%s: %s", ch.Name, ch.Detail)
		}
	}
	c.sent = nil
	if c.ask(l, questions[1], ""); strings.Contains(strings.Join(c.sent, ""), "compass-crew") || c.blocks != 1 {
		t.Errorf("%d blocks:\n%s", c.blocks, strings.Join(c.sent, "\n"))
	}
}

// The block of an incognito turn is not kept, nor are blocks if journals are
// switched off.
func TestBlocksThatAreNotStored(t *testing.T) {
	for name, c := range map[string]*config.Config{
		"incognito": settings(),
		"journal":   settings(func(c *config.Config) { c.Middleware.Journal = false }),
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			l := open(t, c, in(root))
			claims, questions := facts(t)
			learn(t, l, claims...)
			turn := asked(questions[0])
			turn.Session, turn.Incognito = "s", name == "incognito"
			if a := l.Assemble(t.Context(), turn); len(a.Insertions) != 1 {
				t.Fatalf("%d insertions", len(a.Insertions))
			}
			l.Close()
			l = open(t, c, in(root))
			turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Noted."}, ken.Message{Role: "user", Text: "thanks!"})
			if a := l.Assemble(t.Context(), turn); len(a.Insertions) != 0 {
				t.Errorf("%d insertions after a restart", len(a.Insertions))
			}
		})
	}
}

// Hundreds of turns go through three processes that are restarted. There are tool calls,
// conversations with equal beginnings, changing instructions, edited messages and
// dropped beginnings. A prefix changes only where the client itself changed it.
func TestNoPrefixBreaks(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	root := t.TempDir()
	layers := make([]*middleware.Layer, 3)
	for i := range layers {
		layers[i] = open(t, settings(), in(root))
	}
	claims, questions := facts(t)
	learn(t, layers[0], claims...)
	talks := make([]*dialog, race.Pick(10, 4))
	for i := range talks {
		talks[i] = newDialog(t, "Be brief.")
	}
	var turns, restarts, edits, compactions, learned int
	for round := range 25 {
		for i, c := range talks {
			at := func() *middleware.Layer { return layers[r.IntN(len(layers))] }
			switch r.IntN(12) {
			case 0:
				n := r.IntN(len(layers))
				layers[n].Close()
				layers[n] = open(t, settings(), in(root))
				restarts++
			case 1:
				learn(t, layers[0], fact(t, "%s Note %d.", claims[r.IntN(len(claims))].Text, learned))
				learned++
			case 2:
				if len(c.items) > 4 { // the client drops its beginning, and starts anew
					c.items, c.sent = c.items[len(c.items)-1:], nil
					c.items = append([]string{testDialects[0].user(fmt.Sprintf("Summary of conversation %d up to round %d.", i, round))}, c.items...)
					compactions++
				}
			case 3:
				if len(c.items) > 4 { // what was said last is edited
					c.items = c.items[:len(c.items)-2]
					c.sent = nil
					edits++
				}
			}
			c.system = fmt.Sprintf("Be brief. It is round %d, and the branch is b%d.", round, r.IntN(3))
			q := questions[r.IntN(len(questions))]
			if c.sent == nil { // other words than before
				q = fmt.Sprintf("%s (%d)", q, round)
			}
			if r.IntN(2) == 0 {
				c.ask(at(), q, "")
				for range r.IntN(3) {
					c.tool(at(), "")
				}
				c.tool(at(), fmt.Sprintf("Answer %d of conversation %d.", round, i))
			} else {
				c.ask(at(), q, fmt.Sprintf("Answer %d of conversation %d.", round, i))
			}
			turns++
		}
	}
	t.Logf("%d turns of %d conversations, %d restarts, %d edits, %d compactions, %d claims learned meanwhile: no prefix broke", turns, len(talks), restarts, edits, compactions, learned)
}

// One turn that is sent to two processes at once may be composed twice. From the next turn
// on, both go on with the block that was stored first.
func TestTheSameTurnInTwoProcesses(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{open(t, settings(), in(root)), open(t, settings(), in(root))}
	claims, questions := facts(t)
	learn(t, layers[0], claims...)
	ask := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: questions[0]}}}
	var together sync.WaitGroup
	for _, l := range layers {
		together.Go(func() {
			if a := l.Assemble(t.Context(), ask); len(a.Insertions) != 1 {
				t.Errorf("%d insertions", len(a.Insertions))
			}
		})
	}
	together.Wait()
	var after []string
	ask.Messages = append(ask.Messages, ken.Message{Role: "assistant", Text: "The compass crew."}, ken.Message{Role: "user", Text: questions[1]})
	for _, l := range layers {
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range layers {
		a := l.Assemble(t.Context(), ask)
		if len(a.Insertions) != 2 {
			t.Fatalf("%d insertions", len(a.Insertions))
		}
		after = append(after, a.Insertions[0].Text)
	}
	if after[0] != after[1] {
		t.Errorf("they go on with\n%s\nand\n%s", after[0], after[1])
	}
}

// A block of another version of Ken is sent as it is, whatever that version's format and
// fields.
func TestABlockOfAnotherVersionStands(t *testing.T) {
	root := t.TempDir()
	l := open(t, settings(), in(root))
	claims, questions := facts(t)
	learn(t, l, claims...)
	ask := ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: questions[0]}}}
	l.Assemble(t.Context(), ask)
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = s.Shelf().Update(t.Context(), func(tx store.ShelfTx) error {
		n = 0
		for key := range tx.Scan("session/block/s/") {
			n++
			if err := tx.Put(key, []byte(`{"turn":"t","at":"2026-11-25T06:00:00Z","text":"<<another format>>","of a later version":[1]}`)); err != nil {
				return err
			}
			break // keys must not change while they are read
		}
		return nil
	})
	release()
	if err != nil || n != 1 {
		t.Fatalf("%d blocks, %v", n, err)
	}
	l.Close()
	l = open(t, settings(), in(root))
	ask.Messages = append(ask.Messages, ken.Message{Role: "assistant", Text: "The compass crew."}, ken.Message{Role: "user", Text: "thanks!"})
	if a := l.Assemble(t.Context(), ask); len(a.Insertions) != 1 || a.Insertions[0].Text != "<<another format>>" {
		t.Errorf("%+v", a.Insertions)
	}
}

// If a claim of an earlier block is disputed, that block stays as it is, and the next block
// says once that the claim is disputed. When the claim is valid again, a block may contain
// it again.
func TestADisputeIsToldToTheConversationThatKnowsTheClaim(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "The staging host of the ledger is called heron."), fact(t, "The ledger keeps its backups for ninety days."))
	turn := ken.Turn{Session: "s1"}
	ask := func(text string) ken.Receipt {
		turn.Messages = append(turn.Messages, ken.Message{Role: "user", Text: text})
		r := l.Assemble(t.Context(), turn).Receipt
		turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Done."})
		return r
	}
	first := ask("What is the staging host of the ledger called, and how long are its backups kept?")
	if inBlock(&first, ids[0]) == nil || inBlock(&first, ids[1]) == nil {
		t.Fatalf("the claims are not told:\n%s", first.Block)
	}
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	move := func(to ken.Status) {
		t.Helper()
		if err := s.Transition(t.Context(), ken.Transition{ID: ids[0], To: to, Reason: "it was renamed"}); err != nil {
			t.Fatal(err)
		}
	}
	move(ken.StatusDisputed)
	second := ask("How do I restart the staging host of the ledger?")
	it := inBlock(&second, ids[0])
	if it == nil || it.NewStatus != ken.StatusDisputed || second.Items[0].ID != ids[0] || !strings.Contains(second.Block, ", disputed since it was told |") || inBlock(&second, ids[1]) != nil {
		t.Errorf("%+v in\n%s", it, second.Block)
	}
	if third := ask("And how do I stop the staging host of the ledger?"); inBlock(&third, ids[0]) != nil {
		t.Errorf("it is announced twice:\n%s", third.Block)
	}
	move(ken.StatusVerified)
	fourth := ask("So what is the staging host of the ledger called?")
	if it := inBlock(&fourth, ids[0]); it == nil || it.NewStatus != "" {
		t.Errorf("it stands again, and %+v is told\n%s", it, fourth.Block)
	}
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Operator().Replay(t.Context(), "", second.Turn); err != nil || !r.Exact || r.Block != second.Block {
		t.Errorf("replayed as %+v, %v\n%s", r, err, second.Block)
	}
}

// guess begins a turn of a session that is guessed, and answers it unless answer is
// "".
func guess(t *testing.T, l *middleware.Layer, answer string, items ...string) string {
	t.Helper()
	d := testDialects[0]
	x, err := l.Operator().Begin(t.Context(), d.Dialect, []byte(d.body("", items...)), func(r *wire.Request) ken.Turn {
		return ken.Turn{Owner: "o", Session: wire.SessionOf("o", "", r)}
	})
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(d.whole("x", answer)))}
	if answer == "" {
		resp.StatusCode = 503
	}
	x.Listen(resp, nil)
	io.Copy(io.Discard, resp.Body)
	return x.Turn.Session
}

// Conversations with the same beginning are distinguished by the messages that follow.
func TestConversationsThatBeginAlike(t *testing.T) {
	l := open(t, settings())
	d := testDialects[0]
	hi := d.user("hi")
	a := guess(t, l, "", hi)
	if again := guess(t, l, "Hello!", hi); again != a || a == "" {
		t.Errorf("sent again after a failure: %q, then %q", a, again)
	}
	b := guess(t, l, "Good morning!", hi)
	c := guess(t, l, "Yes?", hi)
	if a == b || b == c || a == c {
		t.Errorf("three conversations: %q, %q, %q", a, b, c)
	}
	on := func(answer string) string {
		return guess(t, l, "Sure.", hi, object("role", "assistant", "content", answer), d.user("Why?"))
	}
	if got := on("Yes?"); got != c {
		t.Errorf("the newest goes on as %q, not %q", got, c)
	}
	if x, y := on("Hello!"), on("Good morning! "); x != a || y != b {
		t.Errorf("they go on as %q and %q, not %q and %q", x, y, a, b)
	}
	d4 := guess(t, l, "<think>A greeting.</think>Welcome.", hi)
	if x := on("Welcome."); x != d4 || on("Welcome.") != d4 || on("Hello!") != a {
		t.Errorf("whose client sends the answer back in other words goes on as %q, not %q", x, d4)
	}
}

// One after the other, each conversation keeps its session.
func TestAConversationKeepsItsGuessedSession(t *testing.T) {
	l := open(t, settings())
	d := testDialects[0]
	hi, why := d.user("hi"), d.user("Why?")
	var sessions []string
	for _, answer := range []string{"Hello!", "Good morning!"} {
		said := object("role", "assistant", "content", answer)
		first := guess(t, l, answer, hi)
		if second, third := guess(t, l, "Sure.", hi, said, why), guess(t, l, "Bye.", hi, said, why, object("role", "assistant", "content", "Sure."), why); second != first || third != first {
			t.Errorf("%q went on as %q and %q", first, second, third)
		}
		sessions = append(sessions, first)
	}
	if sessions[0] == sessions[1] || !strings.HasPrefix(sessions[1], sessions[0]) {
		t.Errorf("sessions %q", sessions)
	}
	if s := guess(t, l, "x", d.user("another beginning")); s == sessions[0] || strings.Contains(s, ".") {
		t.Errorf("another beginning is %q", s)
	}
}
