package learning

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
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

// recordedReplaced reads, for each new statement that the model was asked about, the known ones that
// it said are replaced.
func recordedReplaced(t *testing.T, file string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range bytes.Lines(data) {
		var one struct {
			New      string   `json:"new"`
			Replaces []string `json:"replaces"`
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		out[one.New] = one.Replaces
	}
	return out
}

// The answers were recorded from a large language model that got only the requests.
// docs/evals.md says which, and when.
func TestWithARecordedModel(t *testing.T) {
	race.SkipLong(t)
	for set, bound := range map[string]Figures{
		"held-*":                {Junk: 0.27, Recall: 0.86, Right: 0.75, Updated: 0.45, Answered: 0.95},
		"sealed/worlds-sealed":  {Junk: 0.11, Recall: 0.94, Right: 0.73, Updated: 0.87, Answered: 0.95},
		"sealed/worlds2-sealed": {Junk: 0.10, Recall: 0.94, Right: 0.82, Updated: 0.88, Answered: 0.85},
	} {
		t.Run(set, func(t *testing.T) { withRecordedModel(t, set, &bound) })
	}
}

func withRecordedModel(t *testing.T, set string, bound *Figures) {
	recorded := "testdata/recorded/" + strings.TrimRight(path.Base(set), "-*")
	answers, judged := recordedAnswers(t, recorded+".jsonl"), recordedReplaced(t, recorded+"-replaced.jsonl")
	files, err := filepath.Glob("testdata/" + set + ".jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	var cases []Case
	for _, f := range files {
		some, _, err := Load(f, "")
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, some...)
	}
	var reports []Report
	requests, sessions, unknown := 0, 0, map[string]bool{}
	for i := range cases {
		server := modeltest.Serve(t, func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			a, ok := answers[transcriptKey(req)]
			if !ok {
				t.Errorf("%s: no answer was recorded for a transcript", cases[i].Name)
			}
			modeltest.Reply(a)(w, r, req)
		})
		server.Replaces = func(earlier, later string) bool {
			replaced, ok := judged[later]
			if !ok && !unknown[later] {
				unknown[later] = true
				t.Logf("no judgement was recorded for: %q", later)
			}
			return slices.Contains(replaced, earlier)
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
	if len(unknown) > len(judged)/20 {
		t.Errorf("for %d new statements no judgement was recorded", len(unknown))
	}
	if f.Junk > bound.Junk || f.Recall < bound.Recall || f.Right < bound.Right || f.Updated < bound.Updated || f.Answered < bound.Answered || requests > 3*sessions {
		t.Errorf("worse than %+v", bound)
	}
}
