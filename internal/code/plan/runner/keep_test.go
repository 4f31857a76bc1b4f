package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

var chain = []string{"a: -> file:a", "b: file:a -> artifact:b", "c: artifact:b -> artifact:c", "x: -> artifact:x"}

// testProject is a project in which plans run.
type testProject struct {
	t           *testing.T
	root, state string
	tr          trace
	work        work
}

func newBench(t *testing.T) *testProject {
	root := t.TempDir()
	put(t, root, "a", "")
	return &testProject{t: t, root: root, state: filepath.Join(root, ".ken", "state"), work: work{}}
}

func (b *testProject) options(resume bool, agents ...string) runner.Options {
	return runner.Options{Root: b.root, State: b.state, ID: "r1", Workers: 1, Resume: resume, Agents: agents, Start: b.work.start(&b.tr)}
}

// run returns which agents were started, and the outcome of all.
func (b *testProject) run(p *plan.Plan, resume bool, agents ...string) (started, end string) {
	b.t.Helper()
	r, err := runner.Run(b.t.Context(), p, b.options(resume, agents...))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.tr.take(), outcomeLine(r)
}

func (b *testProject) expect(p *plan.Plan, resume bool, want string, agents ...string) {
	b.t.Helper()
	if got, end := b.run(p, resume, agents...); got != want {
		b.t.Errorf("started %q, want %q; %s", got, want, end)
	}
}

func TestResume(t *testing.T) {
	b := newBench(t)
	p := planned(t, chain...)
	b.work["b"] = failing
	b.expect(p, true, "a x b")
	if _, end := b.run(p, true); end != "a:kept x:kept b:failed c:skipped" {
		t.Error(end)
	}
	delete(b.work, "b")
	b.expect(p, true, "b c")
	b.expect(p, true, "")
	b.expect(p, false, "a x b c")
	b.expect(p, true, "", "b")
}

// If an agent runs again, the agents after it must run again, too.
func TestResumeAfterWhatItNeedsRanAgain(t *testing.T) {
	b := newBench(t)
	p := planned(t, chain...)
	b.run(p, false)
	b.expect(p, false, "a", "a")
	b.expect(p, true, "b c")

	if err := os.Remove(filepath.Join(b.root, "a")); err != nil { // its file is gone
		t.Fatal(err)
	}
	b.work["a"] = func(context.Context) error { put(t, b.root, "a", "again"); return nil }
	b.expect(p, true, "a b c")
}

// After a stopped run, agents that it should have run again still run again.
func TestResumeAfterARunThatWasStopped(t *testing.T) {
	b := newBench(t)
	p := planned(t, chain...)
	b.run(p, false)
	ctx, cancel := context.WithCancel(t.Context())
	b.work["x"] = func(ctx context.Context) error { cancel(); return forever(ctx) }
	if _, err := runner.Run(ctx, p, b.options(false)); !errors.Is(err, context.Canceled) || b.tr.take() != "a x" {
		t.Fatal(err)
	}
	delete(b.work, "x")
	b.expect(p, true, "x b c")
}

func TestResumeAfterTheConfigurationChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(agents []plan.Agent) []plan.Agent
		want   string
	}{
		"nothing":   {func(a []plan.Agent) []plan.Agent { return a }, ""},
		"the order": {func(a []plan.Agent) []plan.Agent { return []plan.Agent{a[3], a[2], a[1], a[0]} }, ""},
		"a timeout": {func(a []plan.Agent) []plan.Agent { a[0].Timeout = 1e12; return a }, ""},
		"a command": {func(a []plan.Agent) []plan.Agent { a[1].Command = []string{"other"}; return a }, "b c"},
		"a product": {func(a []plan.Agent) []plan.Agent {
			a[1].Produces = append(a[1].Produces, a[1].Requires...)[:1]
			return a
		}, ""},
		"a new need": {func(a []plan.Agent) []plan.Agent { a[2].Requires = append(a[2].Requires, a[3].Produces...); return a }, "c"},
		"a name":     {func(a []plan.Agent) []plan.Agent { a[0].Name = "first"; return a }, "first b c"},
		"one more":   {func(a []plan.Agent) []plan.Agent { return append(a, plan.Agent{Name: "new"}) }, "new"},
		"one less":   {func(a []plan.Agent) []plan.Agent { return a[:3] }, ""},
		"other hands": {func(a []plan.Agent) []plan.Agent {
			a[0].Produces, a[3].Produces = a[3].Produces, a[0].Produces
			return a
		}, "a x b c"},
		"swapped places": {func(a []plan.Agent) []plan.Agent { a[0].Name, a[3].Name = "x", "a"; return a }, "x a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.run(planned(t, chain...), false)
			var agents []plan.Agent
			for _, l := range chain {
				agents = append(agents, agent(t, l))
			}
			b.expect(planOf(t, tt.change(agents)...), true, tt.want)
		})
	}
}

func TestTwoAtOnce(t *testing.T) {
	b := newBench(t)
	p := planned(t, chain...)
	var second error
	b.work["x"] = func(context.Context) error {
		_, second = runner.Run(t.Context(), p, b.options(false))
		return nil
	}
	b.expect(p, false, "a x b c")
	if !errors.Is(second, ken.ErrHeld) || ken.Hint(second) == "" || !strings.Contains(second.Error(), fmt.Sprintf(": process %d on ", os.Getpid())) {
		t.Error(second)
	}
	delete(b.work, "x")
	b.expect(p, true, "") // the second one changed nothing
}

func TestDamagedState(t *testing.T) {
	p := planned(t, chain...)
	for name, text := range map[string]string{"cut": `{"version":1,"agents":{"a":{"sta`, "empty": "", "no JSON": "hello", "of a later version": `{"version":2}`,
		"another type": `{"version":1,"agents":[]}`, "two values": `{"version":1}{}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			put(t, b.state, "plan.json", text)
			for _, resume := range []bool{true, false} {
				_, err := runner.Run(t.Context(), p, b.options(resume))
				if !errors.Is(err, ken.ErrCorrupt) || ken.Hint(err) == "" || b.tr.take() != "" || read(t, b.state, "plan.json") != text {
					t.Error(err)
				}
			}
			if err := os.Remove(filepath.Join(b.state, "plan.json")); err != nil {
				t.Fatal(err)
			}
			b.expect(p, true, "a x b c")
		})
	}
}

// If the state is damaged during a run, an error is reported once, and the run continues.
func TestStateThatIsLostMeanwhile(t *testing.T) {
	b := newBench(t)
	b.work["a"] = func(context.Context) error { put(t, b.state, "plan.json", "mine"); return nil }
	r, err := runner.Run(t.Context(), planned(t, chain...), b.options(false))
	if !errors.Is(err, ken.ErrUnavailable) || strings.Count(err.Error(), "plan.json") != 1 || !r.OK() || read(t, b.state, "plan.json") != "mine" {
		t.Error(err, outcomeLine(r))
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	p := planned(t, "a: -> artifact:a")
	say := func(o *runner.Options) {
		o.Start = func(_ context.Context, _ plan.Agent, out io.Writer) error {
			_, err := io.WriteString(out, "hello\n")
			return err
		}
	}
	for name, tt := range map[string]struct {
		link    string
		refused bool
	}{"the state": {"plan.json", true}, "the lock": {"plan.lock", true}, "the folder of logs": {"plan", false}, "a log": {"plan/a.log", false}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			put(t, b.root, "other/precious", "gold")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(b.state, tt.link)), 0o755); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(b.root, "other", "precious")
			if tt.link == "plan" {
				target = filepath.Dir(target)
			}
			if err := os.Symlink(target, filepath.Join(b.state, tt.link)); err != nil {
				t.Skip(err)
			}
			o := b.options(false)
			say(&o)
			r, err := runner.Run(t.Context(), p, o)
			if tt.refused != (err != nil) {
				t.Errorf("%v, %v", err, r)
			}
			if entries, _ := os.ReadDir(filepath.Join(b.root, "other")); read(t, b.root, "other", "precious") != "gold" || len(entries) != 1 {
				t.Error("what the link leads to was changed")
			}
			if tt.link == "plan/a.log" && read(t, b.state, tt.link) != "hello\n" {
				t.Error("the link was not replaced by the log")
			}
			if tt.link == "plan" && (r.OK() || !strings.Contains(reasonOf(r, "a"), "is no folder")) {
				t.Error(outcomeLine(r), reasonOf(r, "a"))
			}
		})
	}
}

func TestStateIsPrivate(t *testing.T) {
	b := newBench(t)
	b.run(planned(t, chain...), false)
	if read(t, b.state, ".gitignore") != "*\n" {
		t.Error("git sees it")
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "plan": 0o700, "plan/a.log": 0o600} {
		if info, err := os.Stat(filepath.Join(b.state, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestStateThatCantBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	b := newBench(t)
	if err := os.MkdirAll(b.state, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Run(t.Context(), planned(t, chain...), b.options(false)); err == nil || b.tr.take() != "" {
		t.Error(err)
	}
}
