package shared_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// kills is how often the tests kill the holder by default. The environment variable
// KEN_TAKEOVERS overrides it.
const kills = 6

// crew is a set of processes that write to one folder.
type crew struct {
	testing.TB
	dir  string
	next int

	mu    sync.Mutex // guards the rest
	all   map[int]*process
	lines []ack
	came  chan struct{} // something new is there
}

type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	pid  int
	name string
	gone chan struct{} // closed when it has ended and all it said was read
	dead bool          // killed
}

// ack is an acknowledged write.
type ack struct {
	what, id, word string
	start, end     time.Time
	pid            int
}

func newCrew(t testing.TB) *crew {
	return &crew{TB: t, dir: t.TempDir(), all: map[int]*process{}, came: make(chan struct{}, 1)}
}

// hire starts a process and waits until it has the store.
func (c *crew) hire(role string) *process {
	c.Helper()
	c.next++
	p := &process{name: fmt.Sprintf("w%d", c.next), cmd: child(c, role, c.dir), gone: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Env, "KEN_TEST_NAME="+p.name)
	in, err := p.cmd.StdinPipe()
	must(c, err)
	out, err := p.cmd.StdoutPipe()
	must(c, err)
	must(c, p.cmd.Start())
	p.in, p.pid = in, p.cmd.Process.Pid
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		c.Fatalf("%s said %q, %v", role, line, err)
	}
	c.mu.Lock()
	c.all[p.pid] = p
	c.mu.Unlock()
	go func() {
		defer close(p.gone)
		for {
			line, err := r.ReadString('\n')
			if err != nil { // a line cut in half was not acknowledged
				return
			}
			c.heard(p, strings.TrimSpace(line))
		}
	}()
	return p
}

func (c *crew) heard(p *process, line string) {
	if line == "done" {
		return
	}
	var a ack
	var start, end int64
	if n, _ := fmt.Sscan(line, &a.what, &a.id, &a.word, &start, &end); n != 5 {
		c.Errorf("%s said %q", p.name, line)
		return
	}
	a.start, a.end, a.pid = time.Unix(0, start), time.Unix(0, end), p.pid
	c.mu.Lock()
	c.lines = append(c.lines, a)
	c.mu.Unlock()
	select {
	case c.came <- struct{}{}:
	default:
	}
}

// holder returns the process that holder.json names.
func (c *crew) holder() *process {
	pid := bolt.ReadHolder(filepath.Join(c.dir, ken.DefaultOwner)).PID
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[pid]
}

// kill kills a process without warning, and returns the time before that.
func (c *crew) kill(p *process) time.Time {
	at := time.Now()
	p.dead = true
	must(c, p.cmd.Process.Kill()) // SIGKILL: nothing gets a chance to flush
	_ = p.cmd.Wait()
	c.mu.Lock()
	delete(c.all, p.pid)
	c.mu.Unlock()
	return at
}

// wait returns the first acknowledgement at index from or later for which want is true.
func (c *crew) wait(from int, want func(a *ack) bool) ack {
	c.Helper()
	give := time.NewTimer(time.Minute)
	defer give.Stop()
	for {
		c.mu.Lock()
		for ; from < len(c.lines); from++ {
			if want(&c.lines[from]) {
				defer c.mu.Unlock()
				return c.lines[from]
			}
		}
		c.mu.Unlock()
		select {
		case <-c.came:
		case <-give.C:
			c.Fatal("nothing is acknowledged any more")
		}
	}
}

func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}

// takeover kills the holder under load. It returns the time until the first write that
// was started afterwards was acknowledged.
func (c *crew) takeover(rng *rand.Rand) time.Duration {
	c.Helper()
	c.wait(c.count()+rng.IntN(40), func(*ack) bool { return true })
	var p *process
	eventually(c, "somebody holds the folder", func() bool { p = c.holder(); return p != nil })
	from := c.count()
	at := c.kill(p)
	first := c.wait(from, func(a *ack) bool { return a.start.After(at) && a.pid != p.pid })
	<-p.gone
	c.hire("writer")
	return first.end.Sub(at)
}

// dismiss ends all processes in the regular way.
func (c *crew) dismiss() {
	c.mu.Lock()
	all := make([]*process, 0, len(c.all))
	for _, p := range c.all {
		all = append(all, p)
	}
	c.mu.Unlock()
	for _, p := range all {
		must(c, p.in.Close())
	}
	for _, p := range all {
		<-p.gone
		if err := p.cmd.Wait(); err != nil {
			c.Errorf("%s ended with %v", p.name, err)
		}
	}
}

// check compares the store with the acknowledged writes: each must be there exactly
// once. A killed process may have made one more write, which was not acknowledged.
func (c *crew) check() {
	c.Helper()
	ctx := context.Background()
	s, err := bolt.Open(ctx, filepath.Join(c.dir, ken.DefaultOwner), bolt.Options{Embedder: embedtest.Bag{}})
	must(c, err)
	defer s.Close()
	if _, err := s.VerifyLog(ctx); err != nil {
		c.Errorf("verify log: %v", err)
	}
	counted := map[string]int{}
	words := map[string]bool{}
	for _, a := range c.lines {
		switch a.what {
		case "counted":
			counted[a.id]++
			continue
		case "written":
			words[a.word] = true
		}
		claim, err := s.Get(ctx, a.id)
		switch {
		case err != nil:
			c.Errorf("%s %s: %v", a.what, a.id, err)
		case a.what == "reinforced" && claim.Reinforcements != 1:
			c.Errorf("reinforced once, and %s was so %d times", a.id, claim.Reinforcements)
		case a.what == "verified" && claim.Status != ken.StatusVerified:
			c.Errorf("verified, and %s is %s", a.id, claim.Status)
		}
	}
	seen := map[string]int{}
	for claim, err := range s.Claims(ctx) {
		must(c, err)
		word := claim.Text[strings.LastIndex(claim.Text, " ")+1:]
		if seen[word]++; seen[word] > 1 {
			c.Errorf("%s was written %d times", word, seen[word])
		}
		events, err := s.History(ctx, claim.ID)
		must(c, err)
		if len(events) > 3 {
			c.Errorf("%s has %d events", word, len(events))
		}
	}
	for word := range words {
		if seen[word] == 0 {
			c.Errorf("the acknowledged word %s is gone", word)
		}
		if got := texts(c, s, word); len(got) == 0 || !strings.HasSuffix(got[0], word) {
			c.Errorf("the acknowledged word %s is not found: %q", word, got)
		}
	}
	for name, n := range counted {
		v, _ := get(c, s.Shelf(), "count/"+name)
		if have, _ := strconv.Atoi(v); have != n && have != n+1 {
			c.Errorf("%s counted to %d, and the shelf says %q", name, n, v)
		}
	}
}

// TestKillNineOfTheHolderLosesNothingAcknowledged repeatedly kills the holder while three
// processes write. Each time another process must take over, and each acknowledged write
// must be there exactly once.
func TestKillNineOfTheHolderLosesNothingAcknowledged(t *testing.T) {
	number := seed.Of(t)
	rng := rand.New(rand.NewPCG(number, 3))
	times := kills
	if n, err := strconv.Atoi(os.Getenv("KEN_TAKEOVERS")); err == nil {
		times = n
	}
	c := newCrew(t)
	c.hire("holder")
	for range 3 {
		c.hire("writer")
	}
	var took []time.Duration
	for range times {
		took = append(took, c.takeover(rng))
	}
	c.dismiss()
	c.check()
	slices.Sort(took)
	t.Logf("%d writes acknowledged over %d kills; takeover took %v at the median, %v at most", len(c.lines), times, took[len(took)/2], took[len(took)-1])
}

// BenchmarkTakeover measures the time from kill -9 of the holder to the next acknowledged
// write, with three processes writing.
func BenchmarkTakeover(b *testing.B) {
	c := newCrew(b)
	rng := rand.New(rand.NewPCG(1, 3))
	for range 4 {
		c.hire("writer")
	}
	var took []time.Duration
	for b.Loop() {
		took = append(took, c.takeover(rng))
	}
	c.dismiss()
	c.check()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
}

// TestKillNineOfAClientWithinAnUpdate checks that a client that is killed during an update
// changes nothing and blocks no other process.
func TestKillNineOfAClientWithinAnUpdate(t *testing.T) {
	c := newCrew(t)
	w := owners(t, c.dir, suiteOptionsPlain())
	s := open(t, w)
	cmd := child(t, "update", c.dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "within" {
	}
	must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	put(t, s.Shelf(), "whole", "done")
	if v, there := get(t, s.Shelf(), "half"); there {
		t.Errorf("half an update is there: %q", v)
	}
	write(t, s, claim(t, "the port is 8080"))
}
