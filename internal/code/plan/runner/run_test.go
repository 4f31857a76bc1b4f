package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// An agent starts when everything that it requires is made, before the previous stage has ended.
func TestAgentsStartAsSoonAsTheyCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planned(t, "slow: -> artifact:slow", "quick: -> artifact:quick", "after: artifact:quick -> artifact:after", "last: artifact:slow artifact:after ->")
		begun, tr := time.Now(), trace{}
		lasts := map[string]time.Duration{"slow": time.Hour, "quick": time.Second, "after": time.Minute, "last": time.Second}
		r, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Start: func(_ context.Context, a plan.Agent, _ io.Writer) error {
			tr.note("%s@%s", a.Name, time.Since(begun))
			<-time.After(lasts[a.Name])
			return nil
		}})
		if err != nil || !r.OK() {
			t.Fatal(err, outcomeLine(r))
		}
		if got := tr.take(); got != "slow@0s quick@0s after@1s last@1h0m0s" && got != "quick@0s slow@0s after@1s last@1h0m0s" {
			t.Error(got)
		}
		if took := r.Ended.Sub(r.Started); took != time.Hour+time.Second {
			t.Error(took)
		}
	})
}

func TestWorkers(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("a%d: -> artifact:x%d", i, i))
	}
	for _, workers := range []int{0, 1, 3, 256} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			r, err := runner.Run(t.Context(), planned(t, lines...), runner.Options{Root: t.TempDir(), Workers: workers, Start: func(context.Context, plan.Agent, io.Writer) error {
				n := now.Add(1)
				for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
				}
				<-time.After(time.Second)
				now.Add(-1)
				return nil
			}})
			want := min(workers, 40)
			if workers == 0 {
				want = runner.DefaultWorkers
			}
			if err != nil || !r.OK() || int(most.Load()) != want {
				t.Errorf("%d workers: %d at once, %v", workers, most.Load(), err)
			}
		})
	}
	for _, n := range []int{-1, runner.MaxWorkers + 1} {
		if _, err := runner.Run(t.Context(), planned(t, lines...), runner.Options{Root: t.TempDir(), Workers: n, Start: work{}.start(nil)}); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%d workers: %v", n, err)
		}
	}
}

func TestOneWorkerGoesInTheOrderOfThePlan(t *testing.T) {
	p := planned(t, "d: artifact:c ->", "c: artifact:a -> artifact:c", "b: -> artifact:b", "a: -> artifact:a", "e: artifact:b ->")
	for range 20 {
		var tr trace
		if _, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Workers: 1, Start: work{}.start(&tr)}); err != nil {
			t.Fatal(err)
		}
		if got := tr.take(); got != "b a c e d" {
			t.Fatal(got)
		}
	}
}

func TestFailure(t *testing.T) {
	p := planned(t, "a: -> artifact:a", "b: artifact:a -> artifact:b", "c: artifact:b ->", "d: -> artifact:d", "e: artifact:d ->")
	r, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Start: work{"a": failing}.start(nil)})
	if err != nil || r.OK() {
		t.Fatal(err)
	}
	if got := outcomeLine(r); got != "a:failed d:succeeded b:skipped e:succeeded c:skipped" {
		t.Error(got)
	}
	for name, want := range map[string]string{"a": "no coffee", "b": "needs artifact:a of a, which failed", "c": "needs artifact:b of b, which was skipped", "e": ""} {
		if got := reasonOf(r, name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFailFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planned(t, "a: -> artifact:a", "busy: -> artifact:b", "done: -> artifact:c", "next: artifact:c artifact:slow ->", "slow: artifact:c -> artifact:slow")
		r, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), FailFast: true, Start: work{
			"a": func(context.Context) error { <-time.After(time.Second); return errWork }, "busy": forever, "slow": forever}.start(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomeLine(r); got != "a:failed busy:stopped done:succeeded slow:stopped next:stopped" {
			t.Error(got)
		}
		if got := reasonOf(r, "busy"); got != "stopped because a failed" {
			t.Error(got)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := planned(t, "a: -> artifact:a", "b: artifact:a ->", "c: -> artifact:c", "d: artifact:c ->")
		r, err := runner.Run(ctx, p, runner.Options{Root: t.TempDir(), Workers: 2, Start: work{"a": forever, "d": func(ctx context.Context) error {
			<-ctx.Done()
			return nil // it was done all the same
		}}.start(nil)})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if got := outcomeLine(r); got != "a:stopped c:succeeded b:stopped d:succeeded" {
			t.Error(got)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent(t, "a: -> artifact:a")
		a.Timeout = 10 * time.Minute
		r, err := runner.Run(t.Context(), planOf(t, a, agent(t, "b: artifact:a ->"), agent(t, "c: ->")), runner.Options{Root: t.TempDir(), Start: work{"a": forever}.start(nil)})
		if err != nil || outcomeLine(r) != "a:failed c:succeeded b:skipped" || reasonOf(r, "a") != "took longer than 10m0s and was ended" {
			t.Error(err, outcomeLine(r), reasonOf(r, "a"))
		}
	})
}

// An agent that succeeds without making its files has failed.
func TestProductsMustBeThere(t *testing.T) {
	root := t.TempDir()
	put(t, root, "elsewhere/real", "x")
	if err := os.Symlink("elsewhere/real", filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	r, err := runner.Run(t.Context(), planned(t, "a: -> file:made/a.md artifact:x symbol:S"), runner.Options{Root: root, Start: work{"a": func(context.Context) error { put(t, root, "made/a.md", ""); return nil }}.start(nil)})
	if err != nil || !r.OK() {
		t.Error(err, outcomeLine(r), reasonOf(r, "a"))
	}
	p := planned(t, "b: -> file:none.md file:none2.md", "c: -> file:link", "d: -> file:elsewhere", "e: file:none.md ->")
	r, err = runner.Run(t.Context(), p, runner.Options{Root: root, Start: work{}.start(nil)})
	if err != nil || outcomeLine(r) != "b:failed c:failed d:succeeded e:skipped" {
		t.Error(err, outcomeLine(r))
	}
	if got := reasonOf(r, "b"); got != "its command succeeded, but file:none.md is not there\nits command succeeded, but file:none2.md is not there" {
		t.Error(got)
	}
	if got := reasonOf(r, "c"); !strings.Contains(got, "symbolic link") {
		t.Error(got)
	}
}

func TestOnlySomeAgents(t *testing.T) {
	var tr trace
	p := planned(t, "a: -> artifact:a", "b: artifact:a -> artifact:b", "c: artifact:b ->", "d: artifact:a ->")
	r, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Agents: []string{"b"}, Start: work{}.start(&tr)})
	if err != nil || tr.take() != "a b" || outcomeLine(r) != "a:succeeded b:succeeded" {
		t.Error(err, outcomeLine(r))
	}
	if _, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Agents: []string{"z"}, Start: work{}.start(&tr)}); !errors.Is(err, ken.ErrNotFound) || tr.take() != "" {
		t.Error(err)
	}
}

func TestNobodyStartsAnAgentWithoutACommand(t *testing.T) {
	var tr trace
	p := planOf(t, agent(t, "a: -> artifact:a", "true"), agent(t, "b: artifact:a ->"), agent(t, "c: ->"))
	_, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Progress: func(e runner.Event) { tr.note("%s", e.Agent) }})
	if !errors.Is(err, ken.ErrInvalid) || tr.take() != "" || !strings.Contains(err.Error(), "agents[1].command: missing: b can't be run") || !strings.Contains(err.Error(), "agents[2].command") {
		t.Error(err)
	}
}

func TestNoPlan(t *testing.T) {
	r, err := runner.Run(t.Context(), nil, runner.Options{Root: t.TempDir()})
	if err != nil || !r.OK() || len(r.Outcomes) != 0 {
		t.Error(err, r)
	}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr trace
		p := planned(t, "a: -> artifact:a", "b: artifact:a ->")
		_, err := runner.Run(t.Context(), p, runner.Options{Root: t.TempDir(), Start: work{"a": func(context.Context) error { <-time.After(time.Minute); return errWork }}.start(nil),
			Progress: func(e runner.Event) {
				tr.note("%s/%d/%s/%s/%s/%d of %d;", e.Agent, e.Stage, e.State, e.Took, e.Reason, e.Done, e.Total)
			}})
		if got := tr.take(); err != nil || got != "a/1/running/0s//0 of 2; a/1/failed/1m0s/no coffee/1 of 2; b/2/skipped/0s/needs artifact:a of a, which failed/2 of 2;" {
			t.Error(err, got)
		}
	})
}

// Reasons can contain any text and are stored, so secrets in them are redacted.
func TestReasonsHoldNoSecrets(t *testing.T) {
	secret := "ghp_" + "x7Kq9ZtR2mV5bN8cW1yL4dF6hJ3sP0gQaUeI"
	state := filepath.Join(t.TempDir(), "state")
	r, err := runner.Run(t.Context(), planned(t, "a: -> artifact:a"), runner.Options{Root: t.TempDir(), State: state, Start: work{"a": func(context.Context) error {
		return errors.New("refused: " + secret)
	}}.start(nil)})
	if err != nil || strings.Contains(reasonOf(r, "a"), secret) || !strings.Contains(reasonOf(r, "a"), "refused: ") || strings.Contains(read(t, state, "plan.json"), secret) {
		t.Error(err, reasonOf(r, "a"))
	}
}

// With any plan, failures and durations: no agent starts before its requirements are made, none starts twice, and all
// end.
func TestRandomRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range race.Pick(300, 40) {
		n := 1 + rnd.IntN(25)
		var all []plan.Agent
		for i := range n {
			a := plan.Agent{Name: fmt.Sprint("a", i), Produces: []plan.Token{{Kind: plan.Artifact, Name: fmt.Sprint(i)}}}
			for k := range i {
				if rnd.IntN(6) == 0 {
					a.Requires = append(a.Requires, plan.Token{Kind: plan.Artifact, Name: fmt.Sprint(k)})
				}
			}
			all = append(all, a)
		}
		lasts, fails := map[string]time.Duration{}, map[string]bool{}
		for _, a := range all {
			lasts[a.Name], fails[a.Name] = time.Duration(rnd.IntN(5))*time.Second, rnd.IntN(8) == 0
		}
		synctest.Test(t, func(t *testing.T) {
			made := make([]atomic.Bool, n)
			var started [25]atomic.Bool
			r, err := runner.Run(t.Context(), planOf(t, all...), runner.Options{Root: t.TempDir(), Workers: 1 + n%5, Start: func(_ context.Context, a plan.Agent, _ io.Writer) error {
				var self int
				fmt.Sscan(a.Name[1:], &self)
				if started[self].Swap(true) {
					t.Errorf("%s started twice", a.Name)
				}
				for _, tok := range a.Requires {
					var k int
					if fmt.Sscan(tok.Name, &k); !made[k].Load() {
						t.Errorf("%s started before %s was made", a.Name, tok)
					}
				}
				<-time.After(lasts[a.Name])
				if fails[a.Name] {
					return errWork
				}
				made[self].Store(true)
				return nil
			}})
			if err != nil || len(r.Outcomes) != n {
				t.Fatal(err, outcomeLine(r))
			}
			for _, o := range r.Outcomes {
				if ok := o.State == runner.Succeeded && !fails[o.Agent] || o.State == runner.Failed && fails[o.Agent] || o.State == runner.Skipped; !ok {
					t.Errorf("%s %s", o.Agent, o.State)
				}
			}
		})
	}
}
