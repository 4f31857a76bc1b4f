package middleware_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// usedIn is what a kept receipt says of an item.
func usedIn(t testing.TB, l *middleware.Layer, turn, id string) ken.Use {
	t.Helper()
	if err := l.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	rec, err := l.Operator().Receipts("").Get(context.Background(), turn)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rec.Used, func(u ken.Use) bool { return u.ID == id })
	if i < 0 {
		return ken.Use{}
	}
	return rec.Used[i]
}

// aboutPayments is a fact that is filed under an aspect of payments.
func aboutPayments(t testing.TB, text string) ken.Claim {
	c := fact(t, "%s", text)
	c.Entities, c.Aspect = []string{"payments"}, "ports"
	return c
}

const portQuestion = "On which port does the payments service listen?"

// dialogue is a session that goes on, message by message.
type dialogue struct {
	l    *middleware.Layer
	turn ken.Turn
}

func (d *dialogue) ask(text string) ken.Receipt {
	d.turn.Messages = append(d.turn.Messages, ken.Message{Role: "user", Text: text})
	return d.l.Assemble(context.Background(), d.turn).Receipt
}

func (d *dialogue) answer(m ken.Message) {
	m.Role = "assistant"
	d.l.Answered(d.turn, m)
	d.turn.Messages = append(d.turn.Messages, m)
}

// The items that an answer used are in its receipt at once. They count after the
// user's next message, which may say that the answer was wrong.
func TestWhatAnAnswerUsedIsKeptAndCounts(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, aboutPayments(t, "The payments service listens on port 8071."), aboutPayments(t, "The payments service writes its metrics to port 9464."))
	d := dialogue{l: l, turn: ken.Turn{Session: "s"}}
	first := d.ask(portQuestion)
	if len(first.Items) != 2 || first.Ranking == nil || len(first.Ranking.Candidates) != 2 || first.Used != nil {
		t.Fatalf("%+v", first)
	}
	d.answer(ken.Message{Text: "It listens on port 8071."})
	if a, b := usedIn(t, l, first.Turn, ids[0]), usedIn(t, l, first.Turn, ids[1]); !a.Repeated || a.Corrected || b.Used() || b.ID == "" {
		t.Errorf("%+v, %+v", a, b)
	}
	if shown, _ := l.Operator().Learner("").Counts("payments", "ports"); shown != 0 {
		t.Errorf("%v counted before the person went on", shown)
	}
	second := d.ask("Great. And on which port are its metrics?")
	if u := usedIn(t, l, first.Turn, ids[0]); !u.Helped() {
		t.Errorf("%+v", u)
	}
	if shown, used := l.Operator().Learner("").Counts("payments", "ports"); int(shown+0.5) != 2 || int(used+0.5) != 1 {
		t.Errorf("%v of %v", used, shown)
	}
	if n := l.Operator().Learner("").Standing().Turns; n != 1 {
		t.Errorf("%d turns learned from", n)
	}
	if len(second.Items) != 0 { // the block of the first turn is still in its place
		t.Errorf("%+v", second.Items)
	}
}

func TestACorrectionIsHeard(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, aboutPayments(t, "The payments service listens on port 8071."))
	d := dialogue{l: l, turn: ken.Turn{Session: "s"}}
	r := d.ask(portQuestion)
	d.answer(ken.Message{Text: "Port 8071."})
	d.ask("No, that's outdated, it moved.")
	if u := usedIn(t, l, r.Turn, ids[0]); !u.Corrected || u.Helped() {
		t.Errorf("%+v", u)
	}
	if shown, used := l.Operator().Learner("").Counts("payments", "ports"); shown == 0 || used != 0 {
		t.Errorf("%v of %v", used, shown)
	}
}

// A loop of tool calls is one turn. Its answer is everything that follows, including
// results that only the next request has. Nothing is said of it before.
func TestUseInAToolLoop(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, fact(t, "Tests of payments run with make check-payments SHARD=7."))
	d := dialogue{l: l, turn: ken.Turn{Session: "s"}}
	r := d.ask("Please run the tests of payments.")
	call := ken.Message{ToolCalls: []ken.ToolCall{{ID: "1", Name: "bash", Arguments: `{"command":"make check-payments SHARD=7"}`}}}
	d.answer(call)
	if u := usedIn(t, l, r.Turn, ids[0]); u.ID != "" {
		t.Errorf("before the result: %+v", u)
	}
	d.turn.Messages = append(d.turn.Messages, ken.Message{Role: "tool", ToolCallID: "1", Text: "ok 212 tests"})
	again := d.l.Assemble(context.Background(), d.turn).Receipt
	d.answer(ken.Message{Text: "All green."})
	if u := usedIn(t, l, r.Turn, ids[0]); again.Turn != r.Turn || !u.ToolOK {
		t.Errorf("%s, %s: %+v", r.Turn, again.Turn, u)
	}
}

// The use of items in an incognito turn is not recorded, and its message does not
// affect the previous turn.
func TestUseOfAnIncognitoTurnLeavesNothing(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, aboutPayments(t, "The payments service listens on port 8071."))
	d := dialogue{l: l, turn: ken.Turn{Session: "s", Incognito: true}}
	d.ask(portQuestion)
	d.answer(ken.Message{Text: "Port 8071."})
	d.ask("Thanks!")
	if err := l.Operator().Recorded(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := scored(t, l); len(left) != 0 {
		t.Errorf("left %q", left)
	}
	d = dialogue{l: l, turn: ken.Turn{Session: "open"}}
	r := d.ask(portQuestion)
	d.answer(ken.Message{Text: "Port 8071."})
	d.turn.Incognito = true
	d.ask("No, that's wrong.")
	if u := usedIn(t, l, r.Turn, ids[0]); !u.Repeated || u.Corrected {
		t.Errorf("%+v", u)
	}
}

// scored returns the keys under which use is stored.
func scored(t testing.TB, l *middleware.Layer) (keys []string) {
	t.Helper()
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Shelf().View(context.Background(), func(r store.ShelfReader) error {
		keys = nil
		for k := range r.Scan("scorer/") {
			keys = append(keys, k)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// The last turn of a conversation has no next; it counts when the session or the layer
// ends. What is deleted does not.
func TestTheLastTurnCountsWhenTheSessionEnds(t *testing.T) {
	root := t.TempDir()
	l := openWithin(t, root)
	ids := learn(t, l, aboutPayments(t, "The payments service listens on port 8071."))
	shown := func(l *middleware.Layer) int {
		if err := l.Operator().Learner("").Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		n, _ := l.Operator().Learner("").Counts("payments", "ports")
		return int(n + 0.5)
	}
	talk := func(id string) {
		d := dialogue{l: l, turn: ken.Turn{Session: id}}
		d.ask(portQuestion)
		d.answer(ken.Message{Text: "Port 8071."})
	}
	talk("ended")
	talk("deleted")
	talk("forgotten")
	talk("left")
	if err := l.End(t.Context(), "", "ended"); err != nil {
		t.Fatal(err)
	}
	if got := shown(l); got != 1 {
		t.Errorf("after the end of one: %d", got)
	}
	if err := l.Operator().End(t.Context(), "", "deleted", session.Deleted); err != nil {
		t.Fatal(err)
	}
	if err := l.Operator().ForgetSession(t.Context(), "", "forgotten"); err != nil {
		t.Fatal(err)
	}
	if got := shown(l); got != 1 {
		t.Errorf("after two that are gone: %d", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openWithin(t, root)
	if got := shown(l); got != 2 {
		t.Errorf("after the layer's end: %d", got)
	}
	if _, err := l.Forget(t.Context(), "", ids[0], "asked for", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range scored(t, l) {
		if strings.HasPrefix(k, "scorer/claim/") || strings.HasPrefix(k, "scorer/slot/") {
			t.Errorf("%s is left of a forgotten claim", k)
		}
	}
}

// Of a forgotten claim, neither its features nor its use stay in a receipt.
func TestForgettingReachesRankingAndUse(t *testing.T) {
	l := open(t, settings())
	ids := learn(t, l, aboutPayments(t, "The payments service listens on port 8071."), aboutPayments(t, "The payments service writes its metrics to port 9464."))
	d := dialogue{l: l, turn: ken.Turn{Session: "s"}}
	r := d.ask(portQuestion)
	d.answer(ken.Message{Text: "Metrics go to 9464, as [k:" + ids[1][len(ids[1])-6:] + "] says."})
	if u := usedIn(t, l, r.Turn, ids[1]); !u.Cited || !u.Repeated {
		t.Fatalf("%+v", u)
	}
	if _, err := l.Forget(t.Context(), "", ids[1], "asked for", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	rec, err := l.Operator().Receipts("").Get(t.Context(), r.Turn)
	if err != nil {
		t.Fatal(err)
	}
	if u := usedIn(t, l, r.Turn, ids[1]); u != (ken.Use{ID: ids[1]}) {
		t.Errorf("%+v", u)
	}
	for _, c := range rec.Ranking.Candidates {
		if forgotten := c.ID == ids[1]; forgotten != (c == ken.Features{ID: ids[1]}) {
			t.Errorf("%+v", c)
		}
	}
}

// The switch: off orders nothing, explores nothing, logs no ranking; what was of use
// is still kept.
func TestTheScorersSwitch(t *testing.T) {
	for mode, ranked := range map[config.ScorerMode]bool{config.ScorerAuto: true, config.ScorerOff: false, config.ScorerOn: true} {
		l := open(t, settings(func(c *config.Config) { c.Structure.Scorer = mode }))
		var claims []ken.Claim
		for i := range 4 {
			claims = append(claims, aboutPayments(t, fmt.Sprintf("Port %d of the payments service is for service class number %d.", 8000+i, i)))
		}
		ids := learn(t, l, claims...)
		d := dialogue{l: l, turn: ken.Turn{Session: "s"}}
		r := d.ask("Which ports has the payments service?")
		d.answer(ken.Message{Text: "8002 is one."})
		d.ask("And for what?")
		if u := usedIn(t, l, r.Turn, ids[2]); !u.Repeated || (r.Ranking != nil) != ranked {
			t.Errorf("%s: %+v, %+v", mode, u, r.Ranking)
		}
		next := dialogue{l: l, turn: ken.Turn{Session: "another"}}
		if r := next.ask("Which ports has the payments service?"); r.Ranking != nil && r.Ranking.Learned != (mode == config.ScorerOn) || len(r.Degraded) > 0 && strings.Contains(strings.Join(r.Degraded, " "), "scorer") {
			t.Errorf("%s: %+v, %v", mode, r.Ranking, r.Degraded)
		}
	}
}

// A turn explores nothing if its answer will not be read.
func TestATurnWithoutASessionIsNotRanked(t *testing.T) {
	l := open(t, settings())
	learn(t, l, aboutPayments(t, "The payments service listens on port 8071."), aboutPayments(t, "The payments service writes its metrics to port 9464."))
	if r := l.Assemble(t.Context(), asked(portQuestion)).Receipt; r.Ranking != nil || r.Explored != nil || len(r.Items) != 2 {
		t.Errorf("%+v", r)
	}
}
