package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
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
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// kinds are the kinds of faults. often is how often a kind is chosen, relative to the others.
var kinds = []struct {
	name   string
	often  int
	strike func(*crew)
}{
	{"kill of the holder", 3, func(c *crew) { c.kill(c.holder()) }},
	{"kill of any process", 2, func(c *crew) { c.kill(c.any()) }},
	{"pause", 3, (*crew).pause},
	{"clock step", 2, (*crew).step},
	{"EIO of a write", 3, func(c *crew) { c.inject("write", injection{err: syscall.EIO}) }},
	{"torn write", 3, func(c *crew) { c.inject("write", injection{err: syscall.EIO, part: true}) }},
	{"short write", 2, func(c *crew) { c.inject("write", injection{part: true}) }},
	{"ENOSPC of a write", 2, func(c *crew) { c.inject("write", injection{err: syscall.ENOSPC}) }},
	{"EIO of a sync", 3, func(c *crew) { c.inject("sync", injection{err: syscall.EIO}) }},
	{"lost sync", 2, func(c *crew) { c.inject("sync", injection{err: syscall.EIO, drop: true}) }},
	{"full disk", 2, (*crew).full},
	{"power cut", 3, (*crew).power},
}

// TestFaults lets some processes learn, ask and forget on one folder, while the disk
// fails and processes are killed, paused and given a wrong clock. After every twentieth
// fault, the content of the disk is compared with the acknowledged changes. KEN_FAULTS is the
// number of faults. KEN_KEEP is a folder for a copy of the disk of a failed run.
func TestFaults(t *testing.T) {
	race.SkipLong(t)
	want := 24
	if n, err := strconv.Atoi(os.Getenv("KEN_FAULTS")); err == nil {
		want = n
	}
	rng := rand.New(rand.NewPCG(seed.Of(t), 17))
	var deck []int
	for i := range kinds {
		deck = append(deck, slices.Repeat([]int{i}, kinds[i].often)...)
	}
	count := map[string]int{}
	var turns, paused []time.Duration
	var acks int
	for done := 0; done < want && !t.Failed(); {
		c := newCrew(t, rng)
		for range 20 {
			if done == want || t.Failed() {
				break
			}
			k := kinds[deck[rng.IntN(len(deck))]]
			c.progress(1 + rng.IntN(6))
			c.last = k.name
			k.strike(c)
			count[k.name]++
			done++
		}
		c.disk.heal()
		c.progress(3) // it works again
		c.dismiss()
		if rng.IntN(2) == 0 {
			c.must(c.disk.cut())
		}
		c.hire() // the next to open it finishes an erasure that was interrupted
		c.dismiss()
		c.check()
		turns, paused, acks = append(turns, c.turns...), append(paused, c.paused...), acks+c.acks
		t.Logf("%d faults, %d changes acknowledged, %d errors told; last: %s", done, acks, c.errors, c.last)
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%4d  %s", count[name], name)
	}
	t.Logf("turns: %s; while a process was paused: %s", quantiles(turns), quantiles(paused))
}

func quantiles(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("%d, p50 %v, p99 %v, max %v", len(d), d[len(d)/2], d[len(d)*99/100], d[len(d)-1])
}

// crew is a group of worker processes that use one disk.
type crew struct {
	testing.TB
	*ledger
	disk *disk
	rng  *rand.Rand
	home string // the user's home folder
	last string // the last fault

	next int
	all  []*process
}

type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *tail
	read   chan struct{} // closed when all its lines are read
	ended  sync.Once
	meant  bool // the test killed it, or asked it to end
}

func newCrew(t testing.TB, rng *rand.Rand) *crew {
	c := &crew{TB: t, ledger: newLedger(), disk: mount(t, rng), rng: rng, home: t.TempDir()}
	t.Cleanup(func() {
		for _, p := range c.all {
			c.end(p)
		}
	})
	c.must(os.Mkdir(c.project(), 0o755))
	c.must(os.WriteFile(filepath.Join(c.project(), "README.md"), []byte("# A project\n\nIt has services.\n"), 0o644))
	for range 3 {
		c.hire()
	}
	return c
}

func (c *crew) project() string { return filepath.Join(c.disk.dir, "project") }

func (c *crew) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *crew) hire() {
	c.Helper()
	c.next++
	name := "w" + strconv.Itoa(c.next)
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$"), stderr: &tail{}, read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerDir+"="+c.project(), workerName+"="+name, "HOME="+c.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	p.cmd.Stderr = p.stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	c.must(err)
	out, err := p.cmd.StdoutPipe()
	c.must(err)
	c.must(p.cmd.Start())
	c.all = append(c.all, p)
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		c.Fatalf("%s did not open the project after %s: %q, %v\n%s", name, c.last, line, err, p.stderr)
	}
	go func() {
		defer close(p.read)
		for {
			line, err := lines.ReadString('\n')
			if err != nil { // half a line was not acknowledged
				return
			}
			if err := c.line(strings.TrimSpace(line)); err != nil {
				c.Error(err)
			}
		}
	}()
}

// holder returns the process that holds the folder, or a random one if none does.
func (c *crew) holder() *process {
	pid := bolt.ReadHolder(filepath.Join(c.project(), ".ken", "state", ken.DefaultOwner)).PID
	for _, p := range c.all {
		if p.cmd.Process.Pid == pid {
			return p
		}
	}
	return c.any()
}

func (c *crew) any() *process { return c.all[c.rng.IntN(len(c.all))] }

func (c *crew) kill(p *process) {
	c.end(p)
	c.all = slices.DeleteFunc(c.all, func(q *process) bool { return p == q })
	c.hire()
}

// end kills a process and reads the rest of its output.
func (c *crew) end(p *process) {
	p.ended.Do(func() {
		p.meant = true
		_ = p.cmd.Process.Kill()
		<-p.read
		_ = p.cmd.Wait()
	})
}

// pause stops a process for up to three seconds, mostly the holder.
func (c *crew) pause() {
	p := c.holder()
	if c.rng.IntN(4) == 0 {
		p = c.any()
	}
	c.must(p.cmd.Process.Signal(syscall.SIGSTOP))
	c.pausedUntil(time.Now().Add(time.Hour))
	c.wait(time.Duration(c.rng.Int64N(int64(3 * time.Second))))
	c.pausedUntil(time.Now())
	c.must(p.cmd.Process.Signal(syscall.SIGCONT))
}

// step gives one process a clock that is wrong by up to two days.
func (c *crew) step() {
	_, _ = fmt.Fprintln(c.any().in, c.rng.IntN(4*86400)-2*86400)
}

func (c *crew) inject(op string, i injection) {
	i.name = c.last
	c.disk.inject(op, i)
	c.wait(time.Duration(c.rng.Int64N(int64(200 * time.Millisecond))))
}

func (c *crew) full() {
	c.disk.fill(true)
	c.wait(time.Duration(c.rng.Int64N(int64(time.Second))))
	c.disk.fill(false)
}

// power simulates a power cut: it kills all processes, and the disk loses data that was not synced.
func (c *crew) power() {
	for _, p := range c.all {
		c.end(p)
	}
	c.all = nil
	c.must(c.disk.cut())
	for range 3 {
		c.hire()
	}
}

// dismiss ends all processes cleanly, by closing their standard input.
func (c *crew) dismiss() {
	for _, p := range c.all {
		p.meant = true
		c.must(p.in.Close())
	}
	for _, p := range c.all {
		<-p.read
		p.ended.Do(func() {
			if err := p.cmd.Wait(); err != nil {
				c.Errorf("a process ended with %v\n%s", err, p.stderr)
			}
		})
	}
	c.all = nil
}

// progress waits until n further changes are acknowledged. It fails the test after a minute.
func (c *crew) progress(n int) {
	c.Helper()
	to := c.acknowledged() + n
	give := time.NewTimer(time.Minute)
	defer give.Stop()
	for c.acknowledged() < to {
		c.alive()
		select {
		case <-c.came:
		case <-time.After(time.Second):
		case <-give.C:
			c.Fatalf("nothing is acknowledged any more after %s; the last error told: %s\n%s", c.last, c.lastError(), c.stacks())
		}
	}
}

// stacks ends all processes with SIGQUIT, and returns the end of their output with the stacks of
// their goroutines.
func (c *crew) stacks() string {
	var said strings.Builder
	for _, p := range c.all {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.read
		p.ended.Do(func() { _ = p.cmd.Wait() })
		fmt.Fprintf(&said, "%d: %s\n", p.cmd.Process.Pid, p.stderr)
	}
	return said.String()
}

// alive fails the test if a process has ended that the test did not end.
func (c *crew) alive() {
	c.Helper()
	for _, p := range c.all {
		select {
		case <-p.read:
			if !p.meant {
				c.Fatalf("a process died after %s\n%s", c.last, p.stderr)
			}
		default:
		}
	}
}

func (c *crew) wait(d time.Duration) { <-time.After(d) }

// check compares a copy of the disk with the ledger. It uses a copy because opening the
// store changes files.
func (c *crew) check() {
	c.Helper()
	dir := c.TempDir()
	c.must(c.disk.copyTo(dir))
	keep := os.Getenv("KEN_KEEP")
	if keep != "" {
		keep = filepath.Join(keep, strconv.Itoa(os.Getpid()))
		c.must(os.RemoveAll(keep))
		c.must(os.CopyFS(keep, os.DirFS(dir)))
	}
	c.ledger.check(c, filepath.Join(dir, "project"))
	if keep != "" && c.Failed() {
		c.must(os.WriteFile(filepath.Join(keep, "ledger"), []byte(strings.Join(c.lines, "\n")), 0o600))
		c.Logf("the disk as it was and what the workers said are in %s", keep)
	} else if keep != "" {
		c.must(os.RemoveAll(keep))
	}
}

// tail keeps the end of what a process printed. It is safe for concurrent use.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b = append(w.b, b...)
	if over := len(w.b) - 64<<10; over > 0 && bytes.Contains(w.b, []byte("\n")) {
		w.b = w.b[over:]
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.b)
}
