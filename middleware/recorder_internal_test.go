package middleware

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/run/session"
)

// recording returns a recorder with writes that wait until open is closed.
func recording(lost func()) (r *recorder, open chan struct{}, wrote func() []string, running *sync.WaitGroup) {
	open, running = make(chan struct{}), new(sync.WaitGroup)
	var mu sync.Mutex
	var ids []string
	r = newRecorder(func(_ string, recs []record) int {
		<-open
		mu.Lock()
		defer mu.Unlock()
		for _, rec := range recs {
			ids = append(ids, rec.about.ID)
		}
		return 0
	}, lost, func(f func()) { running.Go(f) })
	return r, open, func() []string { mu.Lock(); defer mu.Unlock(); return ids }, running
}

func of(id string) record { return record{about: session.About{ID: id}} }

// A record waits for no write, keeps its order, and is written although the
// recorder was closed after it.
func TestRecorderKeepsOrderAndWaitsForNothing(t *testing.T) {
	r, open, wrote, running := recording(func() { t.Error("something was left out") })
	for _, id := range []string{"a", "b", "c"} {
		r.add(of(id)) // returns although nothing can be written
	}
	r.close()
	r.add(of("late"))
	close(open)
	running.Wait()
	if got := wrote(); len(got) != 3 || got[0] != "a" || got[2] != "c" {
		t.Errorf("wrote %q", got)
	}
}

// flush waits for what was there when it was called, not for what comes after; nor
// does the program's own hook wait for itself.
func TestFlush(t *testing.T) {
	r, open, wrote, running := recording(nil)
	r.add(of("a"))
	if err := r.flush(context.WithValue(t.Context(), recorderKey{}, true)); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.flush(over); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(open)
	if err := r.flush(t.Context()); err != nil || len(wrote()) != 1 {
		t.Errorf("%q, %v", wrote(), err)
	}
	if err := r.flush(t.Context()); err != nil { // with nothing to wait for
		t.Error(err)
	}
	running.Wait()
}

// The number of records that wait is limited, and each series of dropped ones is reported once.
func TestRecorderIsBounded(t *testing.T) {
	told := 0
	r, open, wrote, running := recording(func() { told++ })
	for range maxWaiting + 50 {
		r.add(of("a"))
	}
	close(open)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(of("b"))
	running.Wait()
	if got := wrote(); len(got) != maxWaiting+1 || got[maxWaiting] != "b" || told != 1 {
		t.Errorf("wrote %d, told %d times", len(got), told)
	}
}

// Messages of megabytes in every turn must not fill the memory while a disk hangs.
// A single message above all limits is written all the same.
func TestRecorderIsBoundedInBytes(t *testing.T) {
	told := 0
	r, open, wrote, running := recording(func() { told++ })
	large := []ken.Message{{Role: "user", Text: strings.Repeat("x", maxWaitingBytes/2)}}
	huge := []ken.Message{{Role: "user", Text: strings.Repeat("x", maxWaitingBytes+1)}}
	for _, rec := range []record{{messages: large}, {messages: large}, {messages: large}} {
		r.add(rec)
	}
	close(open)
	if err := r.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.add(record{messages: huge})
	running.Wait()
	if got := wrote(); len(got) != 3 || told != 1 {
		t.Errorf("wrote %d, told %d times", len(got), told)
	}
	if r.bytes != 0 || r.waiting != 0 || len(r.queues) != 0 {
		t.Errorf("it still counts %d bytes, %d records, %d lanes", r.bytes, r.waiting, len(r.queues))
	}
}

// An answer that was not read yet counts with its size.
func TestRecorderCountsAnswers(t *testing.T) {
	r := newRecorder(func(string, []record) int { t.Error("it was written"); return 0 }, func() {}, func(func()) {})
	for range 4 {
		r.add(record{answerBytes: maxWaitingBytes / 3})
	}
	if r.waiting != 3 || r.dropped != 1 {
		t.Errorf("%d wait, %d were left out", r.waiting, r.dropped)
	}
}

// Records that wait are written together, up to a limit and for each owner
// separately. If the disk of one owner hangs, the others don't wait.
func TestRecorderWritesTogetherWhatWaits(t *testing.T) {
	type batch struct {
		owner string
		n     int
	}
	hang, wrote := make(chan struct{}), make(chan batch, 10)
	entered := make(chan struct{}, 1)
	var running sync.WaitGroup
	r := newRecorder(func(owner string, recs []record) int {
		if owner == "slow" {
			entered <- struct{}{}
			<-hang
		}
		wrote <- batch{owner, len(recs)}
		return 0
	}, func() { t.Error("something was left out") }, func(f func()) { running.Go(f) })
	r.add(record{owner: "slow"})
	<-entered
	for range maxTogether + 1 {
		r.add(record{owner: "slow"})
	}
	r.add(record{owner: "fast"})
	if got := <-wrote; got.owner != "fast" {
		t.Errorf("%+v was written first", got)
	}
	flushed := make(chan error)
	go func() { flushed <- r.flush(context.Background()) }()
	close(hang)
	<-entered
	<-entered
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	running.Wait()
	close(wrote)
	var sizes []int
	for b := range wrote {
		sizes = append(sizes, b.n)
	}
	if !slices.Equal(sizes, []int{1, maxTogether, 1}) {
		t.Errorf("written together: %v", sizes)
	}
}

// recovering opens a layer with text as the checkpoint of its sessions.
func recovering(t *testing.T, change func(*config.Config), recovery func(context.Context, *ken.Turn) (string, time.Time, bool)) *Layer {
	t.Helper()
	c := config.Default()
	c.Repository.Index, c.Middleware.Events = false, false
	change(&c)
	l, err := Open(context.Background(), Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	l.findCheckpoint = recovery
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	hot, err := ken.NewClaim("Answer in French, always.", ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	hot.Kind = ken.KindHot
	if _, err := s.WriteClaim(context.Background(), hot); err != nil {
		t.Fatal(err)
	}
	return l
}

func resumed(text string) ken.Turn {
	return ken.Turn{Session: "s-1", Weight: ken.WeightLow, Messages: []ken.Message{{Role: "user", Text: text}}}
}

// What a session was about comes before everything else in memory, whatever the
// agent's weight and however little is asked, and stays with its conversation.
func TestRecoveryComesFirst(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	asked := 0
	l := recovering(t, func(*config.Config) {}, func(_ context.Context, turn *ken.Turn) (string, time.Time, bool) {
		asked++
		return "Focus: " + turn.Session + ".", at, true
	})
	first := l.Assemble(context.Background(), resumed("Where were we with the ledger?"))
	items := first.Receipt.Items
	if len(items) == 0 || items[0].Kind != budgeter.KindCheckpoint || !items[0].Memory || items[0].Text != "Focus: s-1." || !items[0].CreatedAt.Equal(at) {
		t.Fatalf("items %+v", items)
	}
	if !strings.Contains(first.Receipt.Block, "Assumed memory | 2026-03-02 | session s-1 | Where this session stands\nFocus: s-1.") {
		t.Errorf("block\n%s", first.Receipt.Block)
	}
	again := l.Assemble(context.Background(), resumed("Where were we with the ledger?"))
	if again.Receipt.Block != first.Receipt.Block || asked != 1 {
		t.Errorf("asked %d times; the second time\n%s", asked, again.Receipt.Block)
	}
	next := resumed("Where were we with the ledger?")
	next.Messages = append(next.Messages, ken.Message{Role: "assistant", Text: "There."}, ken.Message{Role: "user", Text: "And the gateway?"})
	if a := l.Assemble(context.Background(), next); strings.Contains(a.Receipt.Block, "Focus") || len(a.Insertions) != 1 || !strings.Contains(a.Insertions[0].Text, "Focus") {
		t.Errorf("the next turn: %+v", a.Insertions)
	}
	if r := l.Assemble(context.Background(), resumed("thanks!")).Receipt; !strings.Contains(r.Block, "Focus: s-1.") {
		t.Errorf("small talk in a session that was cut: %+v", r)
	}
}

// When room is short, the start of the checkpoint, where its structure is, is what
// stays.
func TestRecoveryInATightBudget(t *testing.T) {
	text := "Focus: ledger.\nFiles: a.go.\n" + strings.Repeat("And then there was more to tell. ", 100)
	l := recovering(t, func(c *config.Config) { c.Budget.MemoryChars = 200 }, func(context.Context, *ken.Turn) (string, time.Time, bool) {
		return text, time.Time{}, true
	})
	r := l.Assemble(context.Background(), resumed("Where were we with the ledger?")).Receipt
	if len(r.Items) != 1 || !strings.HasPrefix(r.Items[0].Text, "Focus: ledger.\nFiles: a.go.") || r.Items[0].Chars > 200 {
		t.Errorf("items %+v", r.Items)
	}
}

// A turn never fails because its past does.
func TestRecoveryFailsOpen(t *testing.T) {
	for name, recovery := range map[string]func(context.Context, *ken.Turn) (string, time.Time, bool){
		"panics":        func(context.Context, *ken.Turn) (string, time.Time, bool) { panic("boom") },
		"knows nothing": func(context.Context, *ken.Turn) (string, time.Time, bool) { return "no", time.Time{}, false },
		"says nothing":  func(context.Context, *ken.Turn) (string, time.Time, bool) { return "", time.Time{}, true },
		"not there":     nil,
	} {
		l := recovering(t, func(*config.Config) {}, recovery)
		turn := resumed("Where were we with the ledger?")
		turn.Weight = ken.WeightDefault
		r := l.Assemble(context.Background(), turn).Receipt
		if len(r.Items) != 1 || r.Items[0].Kind != ken.KindHot {
			t.Errorf("%s: items %+v", name, r.Items)
		}
		if degraded := len(r.Degraded) == 1 && r.Degraded[0] == "recovery: panic: boom"; degraded != (name == "panics") {
			t.Errorf("%s: degraded %q", name, r.Degraded)
		}
	}
}

func TestShownIn(t *testing.T) {
	block := "[Pipeline Knowledge]\n" + guardrail.Reference + " Check it.\n2 found, best first.\n\n[k:0a1b2c3d] Inferred observed fact | 2026-03-14 | a.go\nThe lamp is green.\nIt restarts.\n" +
		"\n[k:4e5f6071] Assumed observed fact external | 2026-03-14\nThe vault has two keys.\n[/Pipeline Knowledge]"
	two := []ken.Item{{ID: "0a1b2c3d", Text: "The lamp is green.\nIt restarts."}, {ID: "4e5f6071", Text: "The vault has two keys."}}
	structured := `{"mode":"hybrid","claims":[{"id":"x1","kind":"fact","text":"The lamp is green."},{"id":"x2"}],"note":"` + guardrail.Reference + ` And so on."}`
	for _, tt := range []struct {
		name string
		msg  ken.Message
		want []ken.Item
	}{
		{"a block", ken.Message{Role: "tool", Text: block}, two},
		{"with something around it", ken.Message{Role: "tool", Text: "Result:\n" + block + "\n(2 items)"}, two},
		{"in a part", ken.Message{Role: "tool", Parts: []ken.Part{{Type: "text", Text: block}}}, two},
		{"structured", ken.Message{Role: "tool", Text: structured}, []ken.Item{{ID: "x1", Kind: "fact", Text: "The lamp is green."}}},
		{"one claim", ken.Message{Role: "function", Text: `{"claim":{"id":"x","text":"So."},"note":"` + guardrail.Reference + `"}`}, []ken.Item{{ID: "x", Text: "So."}}},
		{"a turn's block", ken.Message{Role: "user", Text: block}, nil},
		{"another tool", ken.Message{Role: "tool", Text: "[k:0a1b2c3d] x\nThe lamp is green."}, nil},
		{"nothing found", ken.Message{Role: "tool", Text: guardrail.Reference}, nil},
		{"broken JSON", ken.Message{Role: "tool", Text: structured[:len(structured)-2]}, nil},
		{"empty items", ken.Message{Role: "tool", Text: "[Pipeline Knowledge]\n" + guardrail.Reference + "\n[k:\n[k:]\n[k:1]"}, nil},
	} {
		if diff := cmp.Diff(tt.want, itemsInToolResults([]ken.Message{tt.msg})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	long := make([]ken.Message, 1000)
	long[0] = ken.Message{Role: "tool", Text: block}
	if got := itemsInToolResults(long); got != nil {
		t.Errorf("looks at messages of long ago: %v", got)
	}
}

// FuzzShownIn reads what any tool may print.
func FuzzShownIn(f *testing.F) {
	for _, s := range []string{"", "{}", `{"claims":[{"text":1}]}`, "[Pipeline Knowledge]\n\n[k:a] b\nc\n[/Pipeline Knowledge]", "\n[k:", "[k:a]\n\n[k:b]\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, it := range itemsInText(s) {
			if strings.TrimSpace(it.Text) == "" {
				t.Fatalf("%q holds an item without text: %+v", s, it)
			}
		}
	})
}
