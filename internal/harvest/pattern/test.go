package pattern

import (
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
)

// test records the results of one test in a session.
type test struct {
	group    bool
	passed   int
	failed   int
	ok       bool // result of its last run
	at       int  // value of work.changes at that time
	unstable bool // it passed and failed without a change between
	proof    *finding.Call
	command  string // the command that ran it last; "" if its exit code is no evidence
}

// tested records the test results of a run.
func (w *work) tested(c *finding.Call, sh shell.Command, results []outcome.Test) {
	for _, r := range results {
		if !r.Group && strings.Contains(r.Name, "/") && !strings.Contains(r.Name, "::") && !strings.Contains(r.Name, " ") {
			continue // a subtest of a test that is listed as well
		}
		if r.Group && r.Passed && sh.Filter != "" {
			continue // it says nothing about the group's other tests
		}
		t := w.tests.get(r.Name)
		if t.passed+t.failed > 0 && t.ok != r.Passed && t.at == w.changes {
			t.unstable = true
		}
		t.group, t.ok, t.at, t.proof, t.command = r.Group, r.Passed, w.changes, c, ""
		if !r.Passed {
			t.failed++
			continue
		}
		t.passed++
		if sh.OwnExit && c.Exit != nil && *c.Exit == 0 {
			t.command = sh.Text
		}
	}
}

// passed returns the tests that passed in their last run. Tests that failed
// before come first, then whole packages and files.
func (w *work) passed() (out []found) {
	for _, name := range w.tests.names {
		t := w.tests.by[name]
		if !t.ok || t.unstable {
			continue
		}
		rank := t.passed
		switch {
		case t.failed > 0:
			rank += 2000
		case t.group:
			rank += 1000
		}
		e := ken.FromTestResult(name, "passed in "+count(t.passed, "run"))
		e.FetchedAt = t.proof.At
		evidence := []ken.Evidence{e}
		if t.command != "" {
			x := ken.FromExitCode(t.command, 0)
			x.FetchedAt = t.proof.At
			evidence = append(evidence, x)
		}
		out = append(out, found{source: Test, name: name, count: t.passed, rank: rank, last: t.proof, asRun: t.proof.Command, evidence: evidence})
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// file records the changes of one file.
type file struct {
	calls []*finding.Call
}

func (f *file) see(c *finding.Call) { f.calls = append(f.calls, c) }

// maxCalls is how many calls are listed as evidence that a file was changed.
const maxCalls = 3

// rewritten returns the files that were written more than once.
func (w *work) rewritten() (out []found) {
	for _, name := range w.files.names {
		calls := w.files.by[name].calls
		n := len(calls)
		if n < 2 {
			continue
		}
		f := found{source: File, name: name, count: n, rank: n, last: calls[n-1], calls: calls[n-min(n, maxCalls):]}
		out = append(out, f)
	}
	return out
}
