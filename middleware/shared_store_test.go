//go:build unix

package middleware_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// A turn is the same in the process that holds the store and in every other: the
// hits, their order, the cuts and their reasons, and every byte of the block.
func TestATurnIsTheSameInEveryProcess(t *testing.T) {
	root := t.TempDir()
	withoutJournal := settings(func(c *config.Config) { c.Middleware.Journal = false }) // otherwise the client may find the holder's block there
	holder, client := open(t, withoutJournal, in(root)), open(t, withoutJournal, in(root))
	claims := notes(t, 120)
	for i := range claims {
		claims[i].Session = fmt.Sprint("talk ", i/10) // so that they have neighbours
	}
	claims = append(claims, episode(t, "before", "The turbine was repaired."), playbook(t, "ferry", "Use this when the ferry is late and the turbine is empty."))
	hot, held := fact(t, "Deploys happen on Fridays only."), fact(t, "Nobody touches the turbine without Ada.")
	hot.Kind, held.Kind, held.Constraint = ken.KindHot, ken.KindHot, true
	learn(t, client, append(claims, hot, held)...)
	for i, q := range []string{search, "Which gear does the compass have?", "thanks!", "continue", "How do I repair the ferry?"} {
		turn := asked(q)
		turn.ID, turn.Session = fmt.Sprint("turn ", i), fmt.Sprint("session ", i)
		a, b := holder.Assemble(t.Context(), turn), client.Assemble(t.Context(), turn)
		diff := cmp.Diff(a.Insertions, b.Insertions) + cmp.Diff(a.Receipt, b.Receipt, cmpopts.IgnoreFields(ken.Receipt{}, "At", "MS", "Turn"))
		if diff != "" || len(a.Receipt.Degraded) > 0 {
			t.Errorf("%s: degraded %v (-holder +client):\n%s", q, a.Receipt.Degraded, diff)
		}
		if i == 0 && len(a.Receipt.Items) < 5 {
			t.Errorf("only %d items: the test shows little", len(a.Receipt.Items))
		}
	}
}

// What one process forgets, no other goes on to send, be it in a block of a turn
// before that.
func TestWhatIsForgottenElsewhereIsInNoBlock(t *testing.T) {
	root := t.TempDir()
	holder, client := open(t, settings(), in(root)), open(t, settings(), in(root))
	ids := learn(t, client, fact(t, retryFact))
	turn := asked(question)
	turn.Session = "s"
	if a := client.Assemble(t.Context(), turn); len(a.Insertions) != 1 {
		t.Fatalf("%d insertions, cause %q", len(a.Insertions), a.Receipt.Cause)
	}
	if _, err := holder.Forget(t.Context(), "", ids[0], "", ken.Actor{}); err != nil {
		t.Fatal(err)
	}
	turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: "Three times."}, ken.Message{Role: "user", Text: question})
	if a := client.Assemble(t.Context(), turn); len(a.Insertions) != 0 {
		t.Errorf("it still inserts %+v", a.Insertions)
	}
}

// Sessions that several processes journal at once are all there, and each message
// once.
func TestProcessesJournalAtOnce(t *testing.T) {
	root := t.TempDir()
	layers := []*middleware.Layer{open(t, settings(), in(root)), open(t, settings(), in(root)), open(t, settings(), in(root))}
	const turns = 5
	var wg sync.WaitGroup
	for i, l := range layers {
		wg.Go(func() {
			turn := asked("What is the plan?")
			turn.Session = fmt.Sprint("session ", i)
			for n := range turns {
				l.Assemble(t.Context(), turn)
				turn.Messages = append(turn.Messages, ken.Message{Role: "assistant", Text: fmt.Sprint("Step ", n)}, ken.Message{Role: "user", Text: fmt.Sprint("And after step ", n, "?")})
			}
			if err := l.End(t.Context(), "", turn.Session); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, l := range layers {
		list, err := l.Operator().Journal("").List(t.Context())
		if err != nil || len(list) != len(layers) {
			t.Fatalf("layer %d knows %d sessions, %v", i, len(list), err)
		}
		for _, info := range list {
			if info.Messages != 2*turns-1 {
				t.Errorf("layer %d: session %s has %d messages, want %d", i, info.ID, info.Messages, 2*turns-1)
			}
		}
	}
}

// Of all open processes, only the holder embeds new claims, whoever wrote them.
// When it ends, the next holder does.
func TestTheHolderWorksInTheBackground(t *testing.T) {
	srv := httptest.NewServer(vectors(8, nil))
	t.Cleanup(srv.Close)
	cfg := settings(func(c *config.Config) { c.Knowledge.EmbedModel, c.Knowledge.EmbedBaseURL = "m", srv.URL })
	root := t.TempDir()
	embedded := make(chan string, 64)
	start := func(name string) *middleware.Layer {
		l, err := middleware.Open(context.Background(), middleware.Options{Root: root, Config: cfg, Strict: true, Log: slog.New(slog.DiscardHandler),
			Progress: func(stage string, n, _ int) {
				if stage == "embed" {
					embedded <- name
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := start("first"), start("second")
	defer second.Close()
	covered := func() {
		t.Helper()
		s, release, err := second.Store(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if have, total := s.Coverage(); have != total || total == 0 {
			t.Errorf("%d of %d have a vector", have, total)
		}
	}
	learn(t, second, fact(t, retryFact))
	if by := <-embedded; by != "first" {
		t.Errorf("it is embedded by the %s", by)
	}
	covered()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	learn(t, second, fact(t, "Refunds are approved by two people."))
	if by := <-embedded; by != "second" {
		t.Errorf("after the takeover it is embedded by the %s", by)
	}
	covered()
}

// A calibration that another process measured is in force here a moment later.
func TestACalibrationFromElsewhereIsUsed(t *testing.T) {
	var mu sync.Mutex // guards now
	now := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	clock := func(o *middleware.Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	}
	root := t.TempDir()
	holder, client := open(t, settings(), in(root), withEmbedder(noise{"bad"})), open(t, settings(), in(root), withEmbedder(noise{"bad"}), clock)
	learn(t, holder, notes(t, 200)...)
	if c := client.Operator().Calibration(""); c != nil {
		t.Fatalf("%+v before anybody measured", c)
	}
	want, err := holder.Operator().Calibrate(t.Context(), "")
	if err != nil || want == nil {
		t.Fatalf("%+v, %v", want, err)
	}
	mu.Lock()
	now = now.Add(time.Minute)
	mu.Unlock()
	if got := client.Operator().Calibration(""); got == nil || got.Harms() != want.Harms() || got.Records != want.Records {
		t.Errorf("elsewhere it is %+v, here %+v", want, got)
	}
}

// Seven processes learn at once, and seven facts are there: files that each process
// writes anew would hold two.
func TestSevenProcessesLearnAtOnce(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	for i := range 7 {
		wg.Go(func() {
			l, err := middleware.Open(t.Context(), middleware.Options{Root: root, Config: settings(), Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
				return
			}
			learn(t, l, fact(t, "process %d learned something", i))
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := open(t, settings(), in(root))
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var texts []string
	for c, err := range s.Scan(t.Context(), &ken.Filter{}, func(store.Glance) bool { return true }) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, c.Text)
	}
	slices.Sort(texts)
	if len(texts) != 7 || !strings.Contains(texts[6], "process 6") {
		t.Errorf("there are %q", texts)
	}
}

// holdFolder names the folder that the test binary holds as another process, until its
// standard input ends.
const holdFolder = "KEN_TEST_HOLD"

// TestHoldForAnother is that process.
func TestHoldForAnother(t *testing.T) {
	dir := os.Getenv(holdFolder)
	if dir == "" {
		t.Skip("only as another process of TestTurnsWhileTheHolderHangs")
	}
	l := openIn(t, dir)
	defer l.Close()
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// A process that holds the store is paused. While the holder hangs, turns of other
// processes end within their deadline, and without delay once the hang was noticed.
// Writes are refused with advice. When the holder continues, everything works again.
func TestTurnsWhileTheHolderHangs(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0], "-test.run=^TestHoldForAnother$")
	holder.Env = append(os.Environ(), holdFolder+"="+dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = holder.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = holder.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "ready") {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	l := openIn(t, dir)
	defer l.Close()
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	write := func(text string) error {
		c, err := ken.NewClaim(text, ken.FromAgentAssertion("ana", ""))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = s.WriteClaim(ctx, c)
		return err
	}
	if err := write("The ledger listens on port 8080."); err != nil {
		t.Fatal(err)
	}
	turn := func(i int) (middleware.Assembly, time.Duration) {
		start := time.Now()
		a := l.Assemble(t.Context(), ken.Turn{Session: fmt.Sprint("s", i), Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"}}})
		return a, time.Since(start)
	}
	before, _ := turn(0)
	if len(before.Insertions) == 0 {
		t.Fatalf("no block before: %+v", before.Receipt)
	}
	if err := holder.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var is syscall.WaitStatus
	if _, err := syscall.Wait4(holder.Process.Pid, &is, syscall.WUNTRACED, nil); err != nil || !is.Stopped() { // it takes a moment
		t.Fatalf("the holder is not stopped: %v, %v", is, err)
	}
	var took []time.Duration
	noticed := false
	for i := 1; i <= 200; i++ {
		a, d := turn(i)
		took = append(took, d)
		if len(a.Insertions) > 0 || len(a.Receipt.Degraded) == 0 {
			t.Fatalf("turn %d got a block of a store that does not answer: %+v", i, a.Receipt.Degraded)
		}
		noticed = noticed || strings.Contains(strings.Join(a.Receipt.Degraded, " "), "has not answered")
	}
	if !noticed {
		t.Error("no receipt says who does not answer")
	}
	// Now that it is noticed, a conversation still has its earlier block.
	again := l.Assemble(t.Context(), ken.Turn{Session: "s0", Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"},
		{Role: "assistant", Text: "8080."}, {Role: "user", Text: "And the mailer?"}}})
	if len(again.Insertions) != 1 || again.Insertions[0] != before.Insertions[0] {
		t.Errorf("the earlier block is %+v, was %+v", again.Insertions, before.Insertions)
	}
	slices.Sort(took)
	t.Logf("turns while the holder hangs: p50 %v, p99 %v, max %v", took[100], took[197], took[199])
	if err := write("The mailer listens on port 9090."); ken.Hint(err) == "" || !strings.Contains(err.Error(), fmt.Sprint(holder.Process.Pid)) {
		t.Errorf("a write while the holder hangs: %v", err)
	}
	late := openIn(t, dir) // notices that the holder hangs, and works without it
	defer late.Close()
	if err := holder.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		a := late.Assemble(t.Context(), ken.Turn{Session: fmt.Sprint("late", i), Messages: []ken.Message{{Role: "user", Text: "On which port does the ledger listen?"}}})
		if len(a.Insertions) > 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("who started while the holder hung never gets a block")
		}
		if i > 400 {
			t.Fatalf("who started while the holder hung gets no block: %v", a.Receipt.Degraded)
		}
	}
	for err := write("The mailer listens on port 9091."); err != nil; err = write("The mailer listens on port 9091.") {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("writes are refused although the holder goes on")
		}
	}
	if a, _ := turn(1000); len(a.Insertions) == 0 {
		t.Errorf("no block afterwards: %v", a.Receipt.Degraded)
	}
}
