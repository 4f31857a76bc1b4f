package harvest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// printingStore prints a line before each write, so that a test can kill the process between
// any two writes.
type printingStore struct{ *bolt.Store }

func (s printingStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	fmt.Println("write")
	return s.Store.WriteClaim(ctx, c)
}

func (s printingStore) Reinforce(ctx context.Context, id string, ev []ken.Evidence, a ken.Actor) error {
	fmt.Println("reinforce")
	return s.Store.Reinforce(ctx, id, ev, a)
}

func (s printingStore) SupersedeFor(ctx context.Context, a, b, reason string, actor ken.Actor) error {
	fmt.Println("supersede")
	return s.Store.SupersedeFor(ctx, a, b, reason, actor)
}

func (s printingStore) Transition(ctx context.Context, tr ken.Transition) error {
	fmt.Println("transition")
	return s.Store.Transition(ctx, tr)
}

// childHarvester runs the queued jobs of a store's folder.
func childHarvester(dir string) {
	ctx := context.Background()
	c := &clock{at: monday.AddDate(0, 0, 7)}
	s, err := bolt.Open(ctx, dir, bolt.Options{Now: c.now})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	tools, err := finding.Parse(nil)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	process := fmt.Sprint(os.Getpid())
	h := harvest.New(harvest.Options{Store: printingStore{s}, Tools: tools, Log: slog.New(slog.DiscardHandler),
		Journal: session.NewJournal(s.Shelf(), session.Options{Process: process, Now: c.now})})
	q := jobs.NewQueue(s.Shelf(), jobs.Options{Process: process, Alive: noneAlive, Attempts: 1000, Lost: 1000, Now: c.now})
	report, err := q.Drain(ctx, map[string]jobs.Handler{session.JobHarvest: h.Handle})
	if err != nil || report.Retried+report.Dead > 0 {
		fmt.Printf("error %+v %v\n", report, err)
		os.Exit(1)
	}
	if err := s.Close(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("done")
	os.Exit(0)
}

// journalSessions journals three sessions. The later ones repeat, update and contradict
// claims of the first.
func journalSessions(t testing.TB, r *rig) {
	t.Helper()
	for i, id := range []string{"s0", "s1", "s2"} {
		r.clock.pass(24 * time.Hour)
		r.say(t, id, append(coding(), user(fmt.Sprintf("The staging cache is now cache-%d.", i)), assistant("Noted."))...)
		if _, err := r.journal.End(t.Context(), id, session.Closed); err != nil {
			t.Fatal(err)
		}
		r.clock.pass(time.Minute)
	}
}

// If a process is killed between any two writes of its harvests, the next process
// reaches the same result.
func TestKillNineInTheMiddleOfAHarvest(t *testing.T) {
	calm := t.TempDir()
	rig1 := onDisk(t, calm, &clock{at: monday})
	journalSessions(t, rig1)
	rig1.clock.at = monday.AddDate(0, 0, 7)
	rig1.drain(t)
	want := state(t, rig1.store)

	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 1))
	dir := t.TempDir()
	func() {
		c := &clock{at: monday}
		s, err := bolt.Open(t.Context(), dir, bolt.Options{Now: c.now})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		journalSessions(t, newRigOver(t, c, s))
	}()
	kills := 0
	for !harvestRun(t, dir, 1+rng.IntN(9)) {
		if kills++; kills > 100 {
			t.Fatal("it never comes to its end")
		}
	}
	after := onDisk(t, dir, &clock{at: monday.AddDate(0, 0, 7)})
	if d := cmp.Diff(want, state(t, after.store)); d != "" {
		t.Errorf("after %d kills (-undisturbed +killed):\n%s", kills, d)
	}
	if kills == 0 {
		t.Error("nothing was killed")
	}
	for _, id := range []string{"s0", "s1", "s2"} {
		if info, err := after.journal.Info(t.Context(), id); err != nil || info.State != session.Harvested {
			t.Errorf("%s: %+v, %v", id, info, err)
		}
	}
	t.Logf("%d kills", kills)
}

// harvestRun starts a process and kills it after the given number of writes. It reports
// whether the process ended before that.
func harvestRun(t *testing.T, dir string, writes int) (done bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "KEN_TEST_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "error") {
			t.Errorf("the child: %s", line)
		}
		if done = line == "done"; !done && n == writes {
			_ = cmd.Process.Kill()
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // killed, or done
	return done
}

// When two processes with one shelf retire the same session at the same time, one job
// is made, and one of them runs it.
func TestTwoProcessesRetireTheSameSession(t *testing.T) {
	for round := range 20 {
		r := newRig(t)
		r.say(t, "s1", coding()...)
		other := newRigOver(t, r.clock, r.store)
		other.journal = session.NewJournal(r.store.Shelf(), session.Options{Process: "p2", Now: r.clock.now})
		other.queue = jobs.NewQueue(r.store.Shelf(), jobs.Options{Process: "p2", Now: r.clock.now})
		r.queue = jobs.NewQueue(r.store.Shelf(), jobs.Options{Process: "p1", Now: r.clock.now})
		var wg sync.WaitGroup
		var mu sync.Mutex
		ended, ran := 0, 0
		for _, p := range []*rig{r, other} {
			wg.Go(func() {
				ids, err := p.journal.EndIdle(t.Context(), 0)
				if err != nil {
					t.Error(err)
				}
				report, err := p.queue.Drain(t.Context(), p.handlers())
				if err != nil || report.Retried+report.Dead > 0 {
					t.Errorf("%+v, %v", report, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended += len(ids)
				ran += report.Done
			})
		}
		wg.Wait()
		if ended != 1 || ran != 1 {
			t.Fatalf("round %d: ended %d times, harvested %d times", round, ended, ran)
		}
		for _, c := range r.all(t) {
			if events, err := r.store.History(t.Context(), c.ID); err != nil || len(events) != 1 {
				t.Errorf("%s: %d events, %v", c.Text, len(events), err)
			}
		}
	}
}

// The clock may jump during a session and before its job runs.
func TestClocksThatJump(t *testing.T) {
	r := newRig(t)
	for i, m := range coding() {
		r.clock.pass([]time.Duration{time.Minute, -48 * time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour}[i%4])
		if _, err := r.journal.Append(t.Context(), about("s1"), []ken.Message{m}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.journal.End(t.Context(), "s1", session.Closed); err != nil {
		t.Fatal(err)
	}
	r.clock.pass(-30 * 24 * time.Hour)
	r.drain(t)
	before := state(t, r.store)
	r.clock.pass(10 * 365 * 24 * time.Hour)
	if _, err := r.Reharvest(t.Context(), "s1", nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, state(t, r.store)); d != "" {
		t.Errorf("harvested again ten years later (-before +after):\n%s", d)
	}
	r.find(t, "drop Oracle")
}

// panickingStore panics when it writes a certain text.
type panickingStore struct{ claims }

func (f panickingStore) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	if strings.Contains(c.Text, "exploder") {
		panic("what a text")
	}
	return f.claims.WriteClaim(ctx, c)
}

// When a write panics, only the job of its session fails. The process goes on and
// harvests the other session.
func TestHarvestSurvivesAText(t *testing.T) {
	r := newRig(t)
	h := newRigOver(t, r.clock, panickingStore{r.store})
	for id, text := range map[string]string{"bad": "We decided to use the exploder for the billing queue.", "good": "We decided to use PostgreSQL for the billing queue."} {
		h.say(t, id, ken.Message{Role: "user", Text: text}, ken.Message{Role: "assistant", Text: "Noted: " + text})
		h.clock.pass(time.Minute)
		if _, err := h.journal.End(t.Context(), id, session.Closed); err != nil {
			t.Fatal(err)
		}
	}
	q := jobs.NewQueue(r.store.Shelf(), jobs.Options{Process: "p1", Alive: noneAlive, Now: r.clock.now, Log: slog.New(slog.DiscardHandler)})
	rep, err := q.Drain(t.Context(), h.handlers())
	if err != nil || rep.Done != 1 || rep.Retried != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	for _, j := range rep.Jobs {
		if j.State == jobs.Queued && !strings.Contains(j.Error, "what a text") {
			t.Errorf("%+v", j)
		}
	}
}
