package pattern

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
)

// command records the runs of one command in a session.
type command struct {
	routine bool
	passed  int
	proof   *finding.Call // the last run that passed
	summary string        // the runner's summary, if the exit code is unknown

	// failures counts the failed runs since the last change of files and the
	// last success. A failure that a change of files cured was part of the
	// work, and no fault of the command.
	failures  int
	failed    *finding.Call
	failedAt  int // value of work.changes at that time
	lastRunOK bool
}

// run records a run of a command.
func (w *work) run(c *finding.Call) {
	sh := c.Shell()
	results := outcome.Tests(c.Output)
	w.tested(c, sh, results)
	if sh.Trivial || sh.Text == "" {
		return
	}
	ok, known, said := sh.OwnExit && c.Exit != nil && *c.Exit == 0, sh.OwnExit && c.Exit != nil, ""
	if !known && sh.OwnEnd {
		if n, all := allPassed(results, c.Output); all {
			ok, known, said = true, true, count(n, "test")+" passed and none failed"
		}
	}
	if !known {
		return
	}
	k := w.commands.get(sh.Text)
	k.routine = sh.Routine
	k.lastRunOK = ok
	switch {
	case ok:
		if k.failures > 0 && w.changes > k.failedAt {
			k.failures = 0
		}
		k.passed++
		k.proof, k.summary = c, said
	default:
		k.failures++
		k.failed, k.failedAt = c, w.changes
	}
}

// allPassed reports whether a runner's output lists tests that passed and none
// that failed.
func allPassed(results []outcome.Test, output string) (n int, all bool) {
	for _, r := range results {
		if !r.Passed {
			return 0, false
		}
	}
	for line := range strings.Lines(outcome.Text(output)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "error:") {
			return 0, false
		}
	}
	return len(results), len(results) > 0
}

// successes returns the commands whose last run passed.
func (w *work) successes() (out []found) {
	for _, text := range w.commands.names {
		k := w.commands.by[text]
		if !k.lastRunOK || k.routine {
			continue
		}
		e := ken.FromExitCode(text, 0)
		switch {
		case k.summary != "":
			e = ken.FromTestResult(text, k.summary)
		case k.proof.Implied:
			e.Detail = "the tool names exit codes other than 0 and named none"
		}
		e.FetchedAt = k.proof.At
		out = append(out, found{source: Command, name: text, count: k.passed, rank: k.passed, last: k.proof, asRun: k.proof.Command, evidence: []ken.Evidence{e}})
	}
	return out
}

// failures returns the commands that failed more than once.
func (w *work) failures() (out []found) {
	for _, text := range w.commands.names {
		k := w.commands.by[text]
		if k.failures < 2 {
			continue
		}
		e := ken.FromExitCode(text, *k.failed.Exit)
		e.FetchedAt, e.Detail = k.failed.At, k.failed.Error
		out = append(out, found{source: Failure, name: text, count: k.failures, rank: k.failures, last: k.failed, asRun: k.failed.Command,
			lastError: k.failed.Error, evidence: []ken.Evidence{e}})
	}
	return out
}
