package taint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/guardrail/taint"
)

type example struct {
	name            string
	claims, trusted []string
	args            string
	want            bool
}

// examples reads a file of testdata; its first lines describe the format.
func examples(t testing.TB, file string) (out []example) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		if name, ok := strings.CutPrefix(line, "== "); ok {
			out = append(out, example{name: name})
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		e := &out[len(out)-1]
		switch key {
		case "want":
			e.want = value == "yes"
		case "claim":
			e.claims = append(e.claims, value)
		case "trusted":
			e.trusted = append(e.trusted, value)
		case "args":
			e.args = value
		default:
			t.Fatalf("%s: %q", file, line)
		}
	}
	return out
}

func check(e *example) []taint.Match {
	s := taint.NewSet()
	for i, c := range e.claims {
		s.Add(string(rune('a'+i)), c)
	}
	return s.Check(e.args, slices.Values(e.trusted))
}

// Calls that untrusted text controls are found; ordinary calls are not.
func TestCases(t *testing.T) {
	for _, file := range []string{"cases.txt", "fresh.txt"} {
		var right, missed, wrong int
		for _, e := range examples(t, file) {
			got := check(&e)
			switch {
			case e.want && len(got) == 0:
				missed++
				t.Errorf("%s: %s: missed", file, e.name)
			case !e.want && len(got) > 0:
				wrong++
				t.Errorf("%s: %s: false alarm, %d characters", file, e.name, got[0].Chars)
			case e.want:
				right++
			}
		}
		t.Logf("%s: precision %.3f, recall %.3f", file, float64(right)/float64(right+wrong), float64(right)/float64(right+missed))
	}
}
