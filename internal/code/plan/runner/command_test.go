//go:build unix

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
	"github.com/kenlayer/ken/internal/race"
)

// short is the grace and timeout for commands that do not end otherwise. No test depends on its length.
const short = 50 * time.Millisecond

// shell returns an agent with a script as its command.
func shell(t *testing.T, lists, script string) plan.Agent {
	t.Helper()
	return agent(t, lists, "sh", "-c", script)
}

// runAgents runs agents in a new project.
func runAgents(t *testing.T, o runner.Options, agents ...plan.Agent) (*runner.Report, error) {
	t.Helper()
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	if o.State == "" {
		o.State = filepath.Join(o.Root, "state")
	}
	if o.Grace == 0 {
		o.Grace = short
	}
	return runner.Run(t.Context(), planOf(t, agents...), o)
}

// outputRecorder collects output, and calls a function for lines that begin with a given word.
type outputRecorder struct {
	mu    sync.Mutex
	lines []string
	on    map[string]func(line string)
}

func (s *outputRecorder) tell(agent, line string) {
	s.mu.Lock()
	s.lines = append(s.lines, agent+"|"+line)
	s.mu.Unlock()
	word, _, _ := strings.Cut(line, " ")
	if f := s.on[word]; f != nil {
		f(line)
	}
}

// requireExited fails if a process started by a test is still running. A process that has ended but was not waited for counts as
// ended.
func requireExited(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(n, syscall.SIGKILL) })
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip(err)
	}
	for range 1000 { // a killed process may take a moment
		out, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strings.TrimSpace(pid)).Output()
		if state := strings.TrimSpace(string(out)); state == "" || strings.HasPrefix(state, "Z") {
			return
		}
	}
	t.Errorf("process %d lives on", n)
}

func TestCommand(t *testing.T) {
	root := t.TempDir()
	t.Setenv("FROM_PARENT", "yes")
	var s outputRecorder
	r, err := runAgents(t, runner.Options{Root: root, ID: "run-7", Output: s.tell},
		shell(t, "a: -> file:out/b", `echo "$KEN_AGENT $KEN_PLAN $FROM_PARENT"; pwd -P >&2; cat; mkdir out; printf x > out/b; printf 'no end\r'`))
	if err != nil || !r.OK() {
		t.Fatal(err, reasonOf(r, "a"))
	}
	where, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.lines, "\n"); got != "a|a run-7 yes\na|"+where+"\na|no end" {
		t.Error(got)
	}
	if got := read(t, r.Outcomes[0].Log); got != "a run-7 yes\n"+where+"\nno end\r" {
		t.Errorf("%q", got)
	}
}

func TestCommandsThatFail(t *testing.T) {
	noExec := agent(t, "not-there: ->", "no-such-program-anywhere")
	r, err := runAgents(t, runner.Options{}, shell(t, "status: -> artifact:s", "exit 3"), shell(t, "killed: ->", "kill -9 $$"), noExec,
		agent(t, "no-program: ->", "./missing/x"), shell(t, "fine: ->", "true"), shell(t, "after: artifact:s ->", "true"))
	if err != nil || outcomeLine(r) != "status:failed killed:failed not-there:failed no-program:failed fine:succeeded after:skipped" {
		t.Fatal(err, outcomeLine(r))
	}
	for name, want := range map[string]string{"status": "its command ended with exit status 3", "killed": "its command ended with signal: killed",
		"not-there": "executable file not found", "no-program": "no such file"} {
		if got := reasonOf(r, name); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A command that does not end is asked to end, with its children, and killed if it does not.
func TestCommandsThatHang(t *testing.T) {
	for name, script := range map[string]string{
		"it ends":                    `sleep 1000 & echo "child $!"; wait`,
		"it won't end":               `trap '' TERM; sleep 1000 & echo "child $!"; while :; do wait; done`,
		"it ends well when asked to": `trap 'exit 0' TERM; sleep 1000 & echo "child $!"; wait`,
		"it is stopped":              `sleep 1000 & echo "child $!"; kill -STOP $$`,
	} {
		t.Run(name, func(t *testing.T) {
			child := ""
			s := outputRecorder{on: map[string]func(string){"child": func(line string) { child = line[len("child "):] }}}
			a := shell(t, "a: -> artifact:a", script)
			a.Timeout = 10 * short
			r, err := runAgents(t, runner.Options{Output: s.tell}, a, shell(t, "b: -> artifact:b", "true"))
			if err != nil || outcomeLine(r) != "a:failed b:succeeded" || reasonOf(r, "a") != "took longer than 500ms and was ended" {
				t.Error(err, outcomeLine(r), reasonOf(r, "a"))
			}
			requireExited(t, child)
		})
	}
}

func TestCancelEndsCommands(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	root, child := t.TempDir(), ""
	s := outputRecorder{on: map[string]func(string){"child": func(line string) { child = line[len("child "):]; cancel() }}}
	p := planOf(t, shell(t, "a: -> artifact:a", `trap 'echo bye; exit 0' TERM; sleep 1000 & echo "child $!"; wait`), shell(t, "b: artifact:a ->", "true"))
	r, err := runner.Run(ctx, p, runner.Options{Root: root, Output: s.tell, State: filepath.Join(root, "state")})
	if !errors.Is(err, context.Canceled) || outcomeLine(r) != "a:stopped b:stopped" {
		t.Fatal(err, outcomeLine(r))
	}
	if !strings.Contains(read(t, root, "state", "plan", "a.log"), "bye\n") {
		t.Error("it was not asked to end")
	}
	requireExited(t, child)
	if strings.Contains(read(t, root, "state", "plan.json"), string(runner.Succeeded)) {
		t.Error("somebody succeeded")
	}
}

// Processes that a command leaves behind with its output open are ended, so the run does not wait for them.
func TestGrandchildren(t *testing.T) {
	for name, script := range map[string]string{"polite": "sleep 1000", "stubborn": `trap '' TERM; while :; do sleep 1000; done`, "elsewhere": "exec >/dev/null 2>&1; sleep 1000"} {
		t.Run(name, func(t *testing.T) {
			child := ""
			s := outputRecorder{on: map[string]func(string){"child": func(line string) { child = line[len("child "):] }}}
			r, err := runAgents(t, runner.Options{Output: s.tell}, agent(t, "a: -> artifact:a", "sh", "-c", `sh -c "$0" & echo "child $!"`, script), shell(t, "b: -> artifact:b", "true"))
			if err != nil || !r.OK() {
				t.Fatal(err, reasonOf(r, "a"))
			}
			requireExited(t, child)
		})
	}
}

// A process that has left the group is neither ended nor waited for.
func TestGrandchildrenThatLeft(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	child := ""
	s := outputRecorder{on: map[string]func(string){"child": func(line string) { child = line[len("child "):] }}}
	r, err := runAgents(t, runner.Options{Output: s.tell}, shell(t, "a: -> artifact:a", `mkfifo gate; setsid sh -c 'echo "child $$"; echo >gate; exec sleep 1000' & read x <gate`))
	if err != nil || !r.OK() {
		t.Fatal(err, reasonOf(r, "a"))
	}
	pid, err := strconv.Atoi(child)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error("it was gone: ", err)
	}
}

// Of a long output, the beginning and the end are stored, but all of it is shown.
func TestLongOutput(t *testing.T) {
	size := race.Pick(100_000_000, 20_000_000)
	lines, last := 0, ""
	r, err := runAgents(t, runner.Options{Output: func(_, line string) { lines++; last = line }},
		shell(t, "a: -> artifact:a", fmt.Sprintf(`echo first; yes 'a line of some length, as commands print them all day' | head -c %d; echo; echo last`, size)))
	if err != nil || !r.OK() {
		t.Fatal(err, reasonOf(r, "a"))
	}
	if want := size / len("a line of some length, as commands print them all day\n"); lines < want || lines > want+3 || last != "last" {
		t.Errorf("%d lines of %d, the last one %q", lines, want, last)
	}
	log := read(t, r.Outcomes[0].Log)
	if !strings.HasPrefix(log, "first\na line of") || !strings.HasSuffix(log, "\nlast\n") || len(log) < 5_000_000 || len(log) > 6_000_000 {
		t.Errorf("%d bytes of log, %q … %q", len(log), log[:20], log[len(log)-20:])
	}
	_, after, ok := strings.Cut(log, "\n… ")
	middle, _, _ := strings.Cut(after, " bytes are left out here …\n")
	if left, err := strconv.Atoi(middle); !ok || err != nil || left+len(log)-len("\n… "+middle+" bytes are left out here …\n") != len("first\n\nlast\n")+size {
		t.Errorf("%q bytes are left out, of %d, and %d kept", middle, size, len(log))
	}
}

func TestOneLineWithoutEnd(t *testing.T) {
	total, pieces := 0, 0
	r, err := runAgents(t, runner.Options{Output: func(_, line string) { total += len(line); pieces++ }}, shell(t, "a: -> artifact:a", `head -c 10000000 /dev/zero`))
	if err != nil || !r.OK() || total != 10_000_000 || pieces < 100 {
		t.Error(err, outcomeLine(r), total, pieces)
	}
	if info, err := os.Stat(r.Outcomes[0].Log); err != nil || info.Size() > 6_000_000 {
		t.Error(info.Size(), err)
	}
}

// Secrets are redacted in stored output, wherever reads and chunks end.
func TestLogsHoldNoSecrets(t *testing.T) {
	root, secret := t.TempDir(), "ghp_"+"x7Kq9ZtR2mV5bN8cW1yL4dF6hJ3sP0gQaUeI"
	put(t, root, "says", strings.Repeat(strings.Repeat("word ", 100)+"\ntoken: "+secret+"\n", race.Pick(4000, 400)))
	r, err := runAgents(t, runner.Options{Root: root}, agent(t, "a: -> artifact:a", "cat", "says"), agent(t, "b: ->", "sh", "-c", "exit 1 # "+secret), agent(t, "c: -> artifact:c", "/x/"+secret))
	if err != nil {
		t.Fatal(err)
	}
	if log := read(t, r.Outcomes[0].Log); strings.Contains(log, secret) || !strings.Contains(log, "token: [redacted:") {
		t.Error("the log holds a secret, or nothing")
	}
	if state := read(t, root, "state", "plan.json"); strings.Contains(state, secret) {
		t.Error(state)
	}
}
