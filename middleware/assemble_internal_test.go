package middleware

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Work counts as overdue only if it did not end in time, and only until it ends.
func TestBoundedCountsWhatIsOverdue(t *testing.T) {
	l := &Layer{}
	for range 1000 {
		if n, ok := runWithin(t.Context(), l, time.Minute, func(context.Context) int { return 7 }); n != 7 || !ok {
			t.Fatalf("%d, %v", n, ok)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		for range 3 {
			if _, ok := runWithin(t.Context(), l, time.Second, func(context.Context) int { <-stuck; return 7 }); ok {
				t.Error("what is stuck ended in time")
			}
		}
		synctest.Wait()
		if n := l.overdue.Load(); n != 3 {
			t.Errorf("%d overdue, 3 are stuck", n)
		}
		close(stuck)
		synctest.Wait()
		if n := l.overdue.Load(); n != 0 {
			t.Errorf("%d overdue, none is left", n)
		}
	})
}

// A turn that was not ready in time says how many rules it lacks, as far as they were looked for.
func TestALateTurnSaysHowManyRulesItLacks(t *testing.T) {
	l := openBare(t)
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, text := range []string{"Payments must be logged.", "Payments must not be retried."} {
		c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Now(), ""))
		if err != nil {
			t.Fatal(err)
		}
		c.Constraint, c.Entities = true, []string{"payments"}
		if _, err := s.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	ready, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(done) })
	stages := l.handler
	l.handler = func(ctx context.Context, st *State) error {
		err := stages(ctx, st)
		close(ready)
		<-done
		return err
	}
	var at progress
	turn := &ken.Turn{Owner: l.cfg.Knowledge.Owner, Messages: []ken.Message{{Role: "user", Text: "How are payments retried?"}}}
	go l.runStages(t.Context(), turn, injectionHistory{}, &at)
	<-ready
	c := modelCall{turn: turn, at: fingerprintsOf(turn), up: &upstreamHistory{}}
	if _, d := l.lateDecision(t.Context(), &c, time.Second, &at); d.receipt.OverflowedConstraints != 2 || len(d.receipt.Degraded) != 1 ||
		!strings.HasSuffix(d.receipt.Degraded[0], "not ready within 1s, in budget") {
		t.Errorf("%d rules, degraded %q", d.receipt.OverflowedConstraints, d.receipt.Degraded)
	}
}

// Ten thousand conversations are more than memory holds. Those that it dropped have their
// blocks from the store.
func TestBlocksThatMemoryDroppedComeFromTheStore(t *testing.T) {
	l := openBare(t)
	l.blocks.limit, l.blocks.limitBytes = 2, 1<<20
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	c, err := ken.NewClaim("Ferry tickets cost nine crowns for residents.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteClaim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ask := ken.Message{Role: "user", Text: "How much do ferry tickets cost for residents?"}
	turn := func(session string, msgs ...ken.Message) Assembly {
		a := l.Assemble(t.Context(), ken.Turn{Session: session, Messages: msgs})
		if err := l.Operator().Recorded(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	sessions := []string{"a", "b", "c", "d", "e"}
	first := map[string]string{}
	for _, id := range sessions {
		first[id] = turn(id, ask).Receipt.Block
	}
	for _, id := range sessions {
		a := turn(id, ask, ken.Message{Role: "assistant", Text: "Nine crowns."}, ken.Message{Role: "user", Text: "And in summer?"})
		if len(a.Insertions) == 0 || a.Insertions[0].Before != 0 || a.Insertions[0].Text != first[id] || first[id] == "" {
			t.Errorf("session %s: %+v, first %q", id, a.Insertions, first[id])
		}
	}
	if n := l.blocks.blocks.Len(); n != 2 {
		t.Errorf("%d blocks in memory", n)
	}
}

func TestCleaningsAreRememberedAndBounded(t *testing.T) {
	var c cleanCache
	secret := "curl -u deploy:" + "Zr7k99aXq https://ci.example.org"
	msgs := []ken.Message{{Role: "user", Text: "hello"}, {Role: "user", Text: secret},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{Name: "shell", Arguments: `{"cmd":"` + secret + `"}`}}}}
	for range 2 {
		at := fingerprintsOf(&ken.Turn{Messages: msgs}).full
		got := c.clean(at, msgs)
		if msgs[1].Text != secret || got[0].Text != "hello" || strings.Contains(fmt.Sprint(got), "Zr7k99aXq") {
			t.Fatalf("%+v of %+v", got, msgs)
		}
		if len(c.newer) != 3 {
			t.Fatalf("%d remembered", len(c.newer))
		}
	}
	clean := msgs[:1]
	at := fingerprintsOf(&ken.Turn{Messages: clean}).full
	if got := c.clean(at, clean); &got[0] != &clean[0] {
		t.Error("clean messages were copied")
	}
	// A long secret message takes room of the others, and too long a one none.
	long := make([]ken.Message, 40)
	for i := range long {
		long[i].Text = fmt.Sprint(i, " ", secret, strings.Repeat(" more", 100_000))
	}
	at = fingerprintsOf(&ken.Turn{Messages: long}).full
	for i, m := range c.clean(at, long) {
		if strings.Contains(m.Text, "Zr7k99aXq") {
			t.Errorf("message %d is not clean", i)
		}
	}
	if c.bytes > maxCleaningBytes || len(c.newer)+len(c.older) >= len(long) {
		t.Errorf("%d bytes, %d and %d messages", c.bytes, len(c.newer), len(c.older))
	}
}

func TestWithoutMiddle(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("a", 100), strings.Repeat("é", 50)} {
		if got, cut := withoutMiddle(s, 100); got != s || cut {
			t.Errorf("%q became %q", s, got)
		}
	}
	for _, long := range []string{strings.Repeat("a", 101), strings.Repeat("é", 51), strings.Repeat("€", 1000), strings.Repeat("😀a", 1000)} {
		got, cut := withoutMiddle(long, 100)
		head, tail, ok := strings.Cut(got, "\n\n")
		if !cut || !ok || len(got) > 100 || len(got) < 90 || !utf8.ValidString(got) || !strings.HasPrefix(long, head) || !strings.HasSuffix(long, tail) {
			t.Errorf("%d bytes became %q", len(long), got)
		}
	}
}

// A question at the beginning or the end of a very long message is found; the stages
// don't read the middle.
func TestStagesReadTheEndsOfALongMessage(t *testing.T) {
	filler := strings.Repeat("filling words ", 1<<20/14)
	st := &State{Turn: ken.Turn{Messages: []ken.Message{{Role: "user", Text: "FIRST " + filler + "MIDDLE " + filler + "LAST"}}}}
	if err := (&Layer{}).guard(context.Background(), st); err != nil {
		t.Fatal(err)
	}
	got := st.Read[0].Text
	if len(got) > maxReadText || !strings.HasPrefix(got, "FIRST ") || !strings.HasSuffix(got, "LAST") || strings.Contains(got, "MIDDLE") {
		t.Errorf("%d bytes are read: %.20q … %q", len(got), got, got[len(got)-20:])
	}
	if len(st.Turn.Messages[0].Text) < 2<<20 {
		t.Error("the turn itself was shortened")
	}
}

// What waits for the journal holds no more of a very long message than is kept of it,
// and says the same each time.
func TestKeptMessagesAreShort(t *testing.T) {
	long := ken.Message{Role: "user", Text: strings.Repeat("words ", 5<<20/6), Parts: []ken.Part{{Type: "text", Text: strings.Repeat("words ", 5<<20/6)}, {Type: "image_url", Ref: "x"}}}
	short := ken.Message{Role: "assistant", Text: "yes", Parts: []ken.Part{{Type: "text", Text: "yes"}}, ToolCalls: []ken.ToolCall{{ID: "1", Name: "f", Arguments: "{}"}}}
	got, again := journalCopy([]ken.Message{long, short}), journalCopy([]ken.Message{long, short})
	if n := len(got[0].Text); n > maxKeptText || n < maxKeptText-8 || got[0].Text != again[0].Text || len(got[0].Parts) != 1 || got[0].Parts[0].Ref != "x" {
		t.Errorf("%d bytes, %+v", n, got[0].Parts)
	}
	if m := got[1]; m.Text != "yes" || len(m.Parts) != 1 || m.ToolCalls[0] != short.ToolCalls[0] {
		t.Errorf("%+v", m)
	}
	if len(long.Parts) != 2 || len(long.Text) < 4<<20 {
		t.Error("the caller's message was changed")
	}
}

// A recall is never silenced as small talk, and never asks for nothing.
func TestEveryQuestionIsAsked(t *testing.T) {
	for _, q := range []string{"thanks", "ok", "hi!", "👍", "why?", "the of and", "how are payments retried?", strings.Repeat("long ", 5000)} {
		s := questionSignals(q)
		if words := len(s.Keywords) + len(s.Symbols) + len(s.Entities) + len(s.Failures); !s.Asks || words == 0 || s.Question == "" {
			t.Errorf("%.20q: %d words, asks %t", q, words, s.Asks)
		}
	}
}
