package evals_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kenlayer/ken/evals"
)

func TestRun(t *testing.T) {
	evals.Run(t, evals.Options{}, "testdata/green.yaml")
}

// A red case must fail the test that runs it, and say why: the test runs itself
// again on files that fail.
func TestRunFails(t *testing.T) {
	if file := os.Getenv("EVALS_FILE"); file != "" {
		evals.Run(t, evals.Options{}, strings.Fields(file)...)
		return
	}
	for file, want := range map[string]string{
		"testdata/red.yaml":  "--- FAIL: TestRunFails/silence_is_expected",
		"testdata/none.yaml": "Try: Check the path",
		" ":                  "no files of cases",
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunFails$")
		cmd.Env = append(os.Environ(), "EVALS_FILE="+file)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%q: %v, output lacks %q:\n%s", file, err, want, out)
		}
	}
}
