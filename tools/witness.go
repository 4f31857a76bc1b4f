package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
)

// witness has seen what ran in the caller's session, if its messages are journaled:
// what an agent says of a run is its word, what the journal says is not.
type witness struct {
	c     *Call
	read  bool
	calls []finding.Call
}

// runs returns the commands of the session that ran.
func (w *witness) runs(ctx context.Context) ([]finding.Call, error) {
	if w.read || w.c.Session == "" {
		return w.calls, nil
	}
	tr, err := w.c.r.layer.Transcript(ctx, w.c.Owner, w.c.Session)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return nil, err
	}
	w.read = true
	for _, call := range finding.Calls(&tr, w.c.r.known) {
		if call.Role == finding.Run {
			w.calls = append(w.calls, call)
		}
	}
	return w.calls, nil
}

// exit is the exit code of a command's last run in the session. A command that only
// looks at something, or whose status is that of something behind a pipe, proves nothing.
func (w *witness) exit(ctx context.Context, command string, said *int) (e ken.Evidence, why string, err error) {
	calls, err := w.runs(ctx)
	if err != nil {
		return e, "", err
	}
	for _, call := range slices.Backward(calls) {
		sh := call.Shell()
		if call.Exit == nil || squeeze(call.Command) != squeeze(command) && squeeze(sh.Text) != squeeze(command) {
			continue
		}
		if said != nil && *said != *call.Exit {
			return e, fmt.Sprintf("Ken has seen that command exit with %d, not %d", *call.Exit, *said), nil
		}
		if !proves(sh) {
			return e, "the exit status of that command proves nothing", nil
		}
		return ken.FromExitCode(sh.Text, *call.Exit), "", nil
	}
	return e, "Ken has not seen this command run in this session", nil
}

// test is a test that passed when it ran last in the session.
func (w *witness) test(ctx context.Context, name string) (e ken.Evidence, why string, err error) {
	calls, err := w.runs(ctx)
	if err != nil {
		return e, "", err
	}
	for _, call := range slices.Backward(calls) {
		if !proves(call.Shell()) {
			continue
		}
		for _, t := range outcome.Tests(outcome.Text(call.Output)) {
			switch {
			case t.Name != strings.TrimSpace(name):
			case !t.Passed:
				return e, "the test failed when it ran last", nil
			default:
				return ken.FromTestResult(t.Name, bounded(squeeze(call.Command), 200)), "", nil
			}
		}
	}
	return e, "Ken has not seen this test pass in this session", nil
}

// proves reports a command whose outcome is its own, and says something.
func proves(sh shell.Command) bool { return sh.Text != "" && sh.Honest && !sh.Trivial }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
