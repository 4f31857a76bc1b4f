package session_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

// TestMain is also the child of the test that needs a second process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("KEN_TEST_DIR"); dir != "" {
		childTalker(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// monday is when tests begin.
var monday = time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: monday} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bench is a journal on a shelf in memory with its clock. The shelf runs everything
// twice: nothing may be left over from a run that did not count.
type bench struct {
	*session.Journal
	shelf store.Shelf
	clock *clock
}

func newBench(t testing.TB, o session.Options) *bench {
	t.Helper()
	b := &bench{shelf: storetest.Twice(memory.NewShelf()), clock: newClock()}
	b.restart(o)
	return b
}

// restart is what a new process makes of the same shelf.
func (b *bench) restart(o session.Options) {
	if o.Now == nil {
		o.Now = b.clock.now
	}
	b.Journal = session.NewJournal(b.shelf, o)
}

func (b *bench) append(t testing.TB, id string, msgs ...ken.Message) []session.Entry {
	t.Helper()
	entries, err := b.Append(t.Context(), session.About{ID: id}, msgs)
	if err != nil {
		t.Fatalf("append to %s: %v", id, err)
	}
	return entries
}

// step gives a session a checkpoint that holds words.
func (b *bench) step(t testing.TB, id string, words ...string) {
	t.Helper()
	if n := b.Record(t.Context(), []session.Note{{About: session.About{ID: id}, Step: &session.Step{Focal: words}}}, nil); n[0].Err != nil {
		t.Fatal(n[0].Err)
	}
}

func (b *bench) read(t testing.TB, id string) session.Transcript {
	t.Helper()
	tr, err := b.Read(context.Background(), id)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return tr
}

func (b *bench) end(t testing.TB, id string, why session.Reason) bool {
	t.Helper()
	ended, err := b.End(t.Context(), id, why)
	if err != nil {
		t.Fatalf("end %s: %v", id, err)
	}
	return ended
}

func (b *bench) info(t testing.TB, id string) session.Info {
	t.Helper()
	info, err := b.Info(t.Context(), id)
	if err != nil {
		t.Fatalf("info of %s: %v", id, err)
	}
	return info
}

// keys lists what is on the shelf under a prefix.
func (b *bench) keys(t testing.TB, prefix string) (keys []string) {
	t.Helper()
	err := b.shelf.View(t.Context(), func(r store.ShelfReader) error {
		keys = nil
		for key := range r.Scan(prefix) {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// bytes is all that is on the shelf, as one text.
func (b *bench) bytes(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	err := b.shelf.View(t.Context(), func(r store.ShelfReader) error {
		all.Reset()
		for key, value := range r.Scan("") {
			all.WriteString(key)
			all.WriteByte('\n')
			all.Write(value)
			all.WriteByte('\n')
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func user(text string) ken.Message      { return ken.Message{Role: "user", Text: text} }
func assistant(text string) ken.Message { return ken.Message{Role: "assistant", Text: text} }
func tool(id, text string) ken.Message {
	return ken.Message{Role: "tool", ToolCallID: id, Text: text}
}
func calls(id, name, args string) ken.Message {
	return ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: name, Arguments: args}}}
}

func texts(entries []session.Entry) []string {
	out := make([]string, len(entries))
	for i := range entries {
		out[i] = entries[i].Message.Text
	}
	return out
}

// random is a source whose seed a failure prints; KEN_SEED gives it back.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	number := seed.Of(t)
	return rand.New(rand.NewPCG(number, 0))
}

// random36 makes a token of the shape that GitHub issues; no scanner of this
// repository should take the source for one.
const random36 = "9fK2mQx7LpR4tVw8ZsB3nHj6YcD5gAe1uXoT"
