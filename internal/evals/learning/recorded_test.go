package learning

import (
	"bufio"
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

// The answers were recorded from a large language model that was given the request and nothing
// else, one for each session. docs/evals.md says which, and when.
func TestWithARecordedModel(t *testing.T) {
	race.LeaveToWhole(t)
	answers := recordedAnswers(t, "testdata/recorded/worlds2-sealed.jsonl")
	cases, _, err := Load("testdata/sealed/worlds2-sealed.jsonl", "")
	if err != nil {
		t.Fatal(err)
	}
	var reports []Report
	requests, sessions := 0, 0
	for i := range cases {
		server := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			a, ok := answers[transcriptKey(req)]
			if !ok {
				t.Errorf("%s: no answer was recorded for a transcript", cases[i].Name)
			}
			modeltest.Reply(a)(w, r, req)
		})
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
	if f.Junk > 0.1 || f.Recall < 0.8 || requests > 3*sessions {
		t.Errorf("junk %.3f, kept %.3f, %d requests for %d sessions", f.Junk, f.Recall, requests, sessions)
	}
}
