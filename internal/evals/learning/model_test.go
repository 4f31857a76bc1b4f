package learning

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/race"
)

// good answers like a good model: with one self-contained fact for each sentence worth keeping in
// the request, and no others.
func good(c *Case) modeltest.Play {
	return func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
		a := modeltest.Answer{Summary: "They talked about " + strings.ReplaceAll(c.Name, "-", " ") + "."}
		for n, text := range shown(req) {
			for _, s := range c.sentences() {
				if s.Is != Keep || !strings.Contains(text, strings.Join(strings.Fields(s.Text), " ")) {
					continue
				}
				f := modeltest.Fact{Text: strings.TrimSpace(s.Text), Quote: strings.TrimSpace(s.Text), Message: n, Sort: "fact", Entities: s.About, Confidence: 0.9}
				if missing := lacks(f.Text, s.Must); len(missing) > 0 {
					for i, m := range missing {
						missing[i], _, _ = strings.Cut(m, "|")
					}
					f.Text = strings.TrimRight(f.Text, ".。") + " (" + strings.Join(missing, ", ") + ")."
				}
				if s.Rule != "" {
					f.Sort = "constraint"
				}
				if f.Entities == nil {
					f.Entities = []string{}
				}
				if !slices.ContainsFunc(a.Facts, func(x modeltest.Fact) bool { return x.Quote == f.Quote }) {
					a.Facts = append(a.Facts, f)
				}
			}
		}
		slices.SortFunc(a.Facts, func(x, y modeltest.Fact) int { return x.Message - y.Message })
		modeltest.Reply(a)(w, r, req)
	}
}

var header = regexp.MustCompile(`^=== message (\d+): `)

// shown returns the texts of the messages that a request shows, by number, on one line each.
func shown(req *modeltest.Request) map[int]string {
	out := map[int]string{}
	for _, m := range req.Messages {
		n := 0
		for line := range strings.Lines(m.Content) {
			if at := header.FindStringSubmatch(line); at != nil {
				n, _ = strconv.Atoi(at[1])
			} else if text, ok := strings.CutPrefix(line, "| "); ok && n > 0 && m.Role == "user" {
				out[n] = strings.Join(strings.Fields(out[n]+" "+text), " ")
			}
		}
	}
	return out
}

// With a model that reports the sentences worth keeping, the harvest adds no junk and loses
// little. It does not measure real models.
func TestWithAGoodModel(t *testing.T) {
	race.SkipLong(t)
	cases, _, err := Load("testdata", "")
	if err != nil {
		t.Fatal(err)
	}
	var reports []Report
	requests, sessions := 0, 0
	for i := range cases {
		server := modeltest.Serve(t, good(&cases[i]))
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
	if f.Junk > 0.03 || f.Recall < 0.9 || requests > 3*sessions {
		t.Errorf("junk %.3f, kept %.3f, %d requests for %d sessions", f.Junk, f.Recall, requests, sessions)
	}
}

// logReport lists what of a case is not as it should be, for go test -v and for a test that failed.
func logReport(t *testing.T, r *Report) {
	t.Helper()
	if !t.Failed() && !testing.Verbose() {
		return
	}
	text, _ := json.Marshal(r.Dropped)
	t.Logf("%s: dropped %s", r.Case, text)
	for _, k := range r.Claims {
		if k.Verdict != Good && k.Verdict != Spare {
			t.Logf("  %s: %s (%s)", k.Verdict, k.Text, k.Why)
		}
	}
	for _, m := range r.Missed {
		t.Logf("  missed: %s", m)
	}
	for _, a := range r.Answers {
		if !a.Right {
			t.Logf("  %s: %s (%s)", a.Kind, a.Question, a.Why)
		}
	}
}
