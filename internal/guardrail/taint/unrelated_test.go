package taint_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/guardrail/taint"
	"github.com/kenlayer/ken/internal/race"
)

// corpus reads the texts of a data set, every step-th of them.
func corpus(t testing.TB, name string, step int) (out []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(evaldata.Dir(t, name), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for n := 0; in.Scan(); n++ {
		var d struct{ Text string }
		if err := json.Unmarshal(in.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		if n%step == 0 {
			out = append(out, d.Text)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func records(t testing.TB) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(evaldata.Dir(t, "adr"), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for p := range strings.SplitSeq(string(b), "\n\n") {
			if len(p) > 80 {
				out = append(out, p)
			}
		}
	}
	return out
}

// These are real texts of unrelated people, some as claims and some as arguments of calls.
// None repeats another, so each match is a false positive. Each is checked against as many
// claims as a session holds.
func TestUnrelatedTextsAreClean(t *testing.T) {
	race.SkipLong(t)
	adr, chat, talk, code := records(t), corpus(t, "beam-dev", 2), corpus(t, "locomo-dev", 2), corpus(t, "cosqa-dev", 3)
	for _, c := range []struct {
		name          string
		claims, calls []string
		most          float64 // of the calls
	}{
		{"decisions, code written", adr, code, 0.002},
		{"decisions, conversation sent", adr, talk, 0.002},
		{"conversation, code written", talk, code, 0.002},
		{"technical chat, conversation sent", chat, talk, 0.002},
		{"technical chat, code written", chat, code, 0.002},
	} {
		const perSession, perSet, most = 64, 10, 600
		calls, alarms := 0, 0
		var s *taint.Set
		for i, call := range c.calls[:min(len(c.calls), most)] {
			if i%perSet == 0 {
				s = taint.NewSet()
				for k := range perSession {
					text := c.claims[(i*7+k*31)%len(c.claims)]
					s.Add(text, text[:min(len(text), 2000)])
				}
			}
			args, err := json.Marshal(map[string]string{"content": call})
			if err != nil {
				t.Fatal(err)
			}
			calls++
			if got := s.Check(string(args), nil); len(got) > 0 {
				if alarms++; alarms <= 3 {
					t.Logf("%s: %d characters of %.150q in %.150q", c.name, got[0].Chars, got[0].ID, call)
				}
			}
		}
		t.Logf("%s: %d false alarms in %d calls against %d claims each", c.name, alarms, calls, perSession)
		if float64(alarms) > c.most*float64(calls) {
			t.Errorf("%s: %d of %d, at most %.3f of them may be", c.name, alarms, calls, c.most)
		}
	}
}
