package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/code/plan"
	"github.com/kenlayer/ken/internal/code/plan/runner"
)

// agent parses "name: requires -> produces", with tokens separated by spaces.
func agent(t testing.TB, s string, command ...string) plan.Agent {
	t.Helper()
	name, lists, _ := strings.Cut(s, ": ")
	requires, produces, _ := strings.Cut(lists, "->")
	a := plan.Agent{Name: name, Command: command}
	for list, words := range map[*[]plan.Token]string{&a.Requires: requires, &a.Produces: produces} {
		for f := range strings.FieldsSeq(words) {
			tok, err := plan.ParseToken(f)
			if err != nil {
				t.Fatal(err)
			}
			*list = append(*list, tok)
		}
	}
	return a
}

func planOf(t testing.TB, agents ...plan.Agent) *plan.Plan {
	t.Helper()
	p, err := plan.New(agents, func(plan.Token) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func planned(t testing.TB, lines ...string) *plan.Plan {
	t.Helper()
	var all []plan.Agent
	for _, l := range lines {
		all = append(all, agent(t, l))
	}
	return planOf(t, all...)
}

// work holds functions that agents run in place of commands.
type work map[string]func(ctx context.Context) error

// trace records the order in which agents run.
type trace struct {
	mu    sync.Mutex
	notes []string
}

func (tr *trace) note(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.notes = append(tr.notes, fmt.Sprintf(format, args...))
}

func (tr *trace) take() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	all := strings.Join(tr.notes, " ")
	tr.notes = nil
	return all
}

// start runs the functions of agents. An agent without one succeeds at once.
func (w work) start(tr *trace) func(context.Context, plan.Agent, io.Writer) error {
	return func(ctx context.Context, a plan.Agent, _ io.Writer) error {
		if tr != nil {
			tr.note("%s", a.Name)
		}
		if f := w[a.Name]; f != nil {
			return f(ctx)
		}
		return nil
	}
}

var errWork = errors.New("no coffee")

func failing(context.Context) error { return errWork }

// forever runs until its context ends.
func forever(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// outcomeLine returns the outcomes of a report on one line.
func outcomeLine(r *runner.Report) string {
	var all []string
	for _, o := range r.Outcomes {
		all = append(all, o.Agent+":"+string(o.State))
	}
	return strings.Join(all, " ")
}

func reasonOf(r *runner.Report, agent string) string {
	for _, o := range r.Outcomes {
		if o.Agent == agent {
			return o.Reason
		}
	}
	return "there is no such agent"
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
