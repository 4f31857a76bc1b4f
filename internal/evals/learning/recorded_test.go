package learning

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/race"
)

// transcriptKey names a transcript by its lines without the heads of messages, which have dates.
func transcriptKey(req *modeltest.Request) string {
	h := sha256.New()
	for _, m := range req.Messages {
		for line := range strings.Lines(m.Content) {
			if text, ok := strings.CutPrefix(line, "| "); ok {
				h.Write([]byte(strings.TrimRight(text, "\n") + "\n"))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// recordedAnswers reads what a model answered, by transcript.
func recordedAnswers(t *testing.T, file string) map[string]modeltest.Answer {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]modeltest.Answer{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one struct {
			Transcript string           `json:"transcript"`
			Answer     modeltest.Answer `json:"answer"`
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		out[one.Transcript] = one.Answer
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// recordedPairs reads which pairs of statements the model said are replaced.
func recordedPairs(t *testing.T, file string) map[[2]string]bool {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[[2]string]bool{}
	for line := range bytes.Lines(data) {
		var one struct {
			Earlier  string `json:"earlier"`
			Later    string `json:"later"`
			Replaced bool   `json:"replaced"`
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		out[[2]string{one.Earlier, one.Later}] = one.Replaced
	}
	return out
}

// The answers were recorded from a large language model that was given the requests and nothing
// else. docs/evals.md says which, and when.
func TestWithARecordedModel(t *testing.T) {
	race.LeaveToWhole(t)
	for set, bound := range map[string]Figures{
		"worlds-sealed":  {Junk: 0.22, Recall: 0.95, Right: 0.45, Updated: 0.7, Answered: 0.95},
		"worlds2-sealed": {Junk: 0.16, Recall: 0.95, Right: 0.7, Updated: 0.75, Answered: 0.9},
	} {
		t.Run(set, func(t *testing.T) { withRecordedModel(t, set, &bound) })
	}
}

func withRecordedModel(t *testing.T, set string, bound *Figures) {
	answers := recordedAnswers(t, "testdata/recorded/"+set+".jsonl")
	pairs := recordedPairs(t, "testdata/recorded/"+set+"-pairs.jsonl")
	cases, _, err := Load("testdata/sealed/"+set+".jsonl", "")
	if err != nil {
		t.Fatal(err)
	}
	var reports []Report
	requests, sessions, unknown := 0, 0, 0
	for i := range cases {
		server := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			a, ok := answers[transcriptKey(req)]
			if !ok {
				t.Errorf("%s: no answer was recorded for a transcript", cases[i].Name)
			}
			modeltest.Reply(a)(w, r, req)
		})
		server.Replaces = func(earlier, later string) bool {
			replaced, ok := pairs[[2]string{earlier, later}]
			if !ok {
				unknown++
				t.Logf("no judgement was recorded for: %q\t%q", earlier, later)
			}
			return replaced
		}
		cfg := config.Default()
		cfg.Harvest.BaseURL, cfg.Harvest.Model = server.URL, modeltest.Model
		r, err := Run(t.Context(), &cases[i], &Options{Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
		requests, sessions = requests+len(server.Requests()), sessions+len(cases[i].Sessions)
		logReport(t, &r)
	}
	f := Sum(reports)
	t.Logf("%+v; %d requests for %d sessions", f, requests, sessions)
	if unknown > len(pairs)/20 {
		t.Errorf("for %d pairs no judgement was recorded", unknown)
	}
	if f.Junk > bound.Junk || f.Recall < bound.Recall || f.Right < bound.Right || f.Updated < bound.Updated || f.Answered < bound.Answered || requests > 7*sessions/2 {
		t.Errorf("worse than %+v", bound)
	}
}
