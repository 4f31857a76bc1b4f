package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// talk has a conversation in a session of the kit's owner.
func talk(k *kit, id string) {
	k.Helper()
	k.layer.Assemble(context.Background(), ken.Turn{Owner: k.who.Owner, Session: id, Agent: "coder", Messages: []ken.Message{
		{Role: "user", Text: "Where do payments retry?"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "c1", Name: "read_file", Arguments: `{"path":"a.go"}`}}},
		{Role: "tool", ToolCallID: "c1", Text: "func Retry() {}"},
		{Role: "assistant", Text: "In Retry, three times."},
		{Role: "user", Text: "Remember that the limit is three."},
	}})
	if err := k.layer.End(k.Context(), k.who.Owner, "none", session.Closed); err != nil { // waits for the journal
		k.Fatal(err)
	}
}

func TestLifeOfASession(t *testing.T) {
	k := newKit(t)
	talk(k, "s/1") // an id is anybody's choice
	path := "/api/sessions/s%2F1"
	if v := get[api.SessionView](k, path); v.ID != "s/1" || v.State != session.Open || v.Agent != "coder" || v.Messages != 5 {
		t.Errorf("session %+v", v)
	}
	var said []string
	for next := ""; ; {
		tr := get[api.Transcript](k, path+"/messages?limit=2&cursor="+next)
		for _, m := range tr.Messages {
			said = append(said, fmt.Sprint(m.Seq, " ", m.Role, " ", m.Text))
			if m.Seq == 2 && (len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "read_file") {
				t.Errorf("calls %+v", m)
			}
		}
		if next = tr.Next; next == "" {
			break
		}
	}
	if len(said) != 5 || said[0] != "1 user Where do payments retry?" || said[2] != "3 tool func Retry() {}" {
		t.Errorf("said %q", said)
	}
	for range 2 { // again changes nothing
		if i := post[session.Info](k, path+"/end", nil); i.State == session.Open || i.Reason != session.Closed {
			t.Errorf("ended: %+v", i)
		}
	}
	out := post[api.HarvestAnswer](k, path+"/harvest", nil)
	if out.Outcome.Episode == "" {
		t.Errorf("outcome %+v", out.Outcome)
	}
	v := get[api.SessionView](k, path)
	if v.State != session.Harvested || len(v.Claims) == 0 || v.Claims[0].ID != out.Outcome.Episode {
		t.Errorf("harvested: %s, %d claims", v.State, len(v.Claims))
	}
	if f := (api.ForgottenSession{}); true {
		k.ask(http.MethodDelete, path, nil).want(http.StatusOK).into(&f)
		if len(f.Forgotten) != 1 || f.Forgotten[0] != "s/1" {
			t.Errorf("forgotten %+v", f)
		}
	}
	k.ask(http.MethodGet, path, nil).problem(http.StatusNotFound, "not_found")
	if list := get[api.SessionList](k, "/api/sessions").Sessions; len(list) != 0 {
		t.Errorf("left %+v", list)
	}
}

// What was said is the operator's to read; that there was a session is not a secret
// from who knows its id.
func TestWhatWasSaidIsForOperators(t *testing.T) {
	k := newKit(t)
	talk(k, "s1")
	reader := k.as(access.Principal{Name: "r", Owner: "anna", Rights: []access.Right{access.Read}})
	a := reader.ask(http.MethodGet, "/api/sessions/s1", nil).want(http.StatusOK)
	if strings.Contains(string(a.body), "limit is three") || strings.Contains(string(a.body), "payments") {
		t.Errorf("it tells what was said: %s", a.body)
	}
	for _, path := range []string{"/api/sessions", "/api/sessions/s1/messages", "/api/jobs", "/api/export"} {
		reader.ask(http.MethodGet, path, nil).problem(http.StatusForbidden, "forbidden", "operate")
	}
}

func TestSessionsInPages(t *testing.T) {
	k := newKit(t)
	for i := range 5 {
		talk(k, fmt.Sprint("session-", i))
	}
	seen := map[string]bool{}
	for next := ""; ; {
		l := get[api.SessionList](k, "/api/sessions?limit=2&cursor="+next)
		for _, s := range l.Sessions {
			if seen[s.ID] {
				t.Errorf("%s twice", s.ID)
			}
			seen[s.ID] = true
		}
		talk(k, fmt.Sprint("later-", len(seen))) // the newest
		talk(k, "session-0")                     // goes on, which does not move it
		if next = l.Next; next == "" {
			break
		}
	}
	for i := range 5 {
		if !seen[fmt.Sprint("session-", i)] {
			t.Errorf("session-%d is missing", i)
		}
	}
}

func TestJobs(t *testing.T) {
	k := newKit(t)
	talk(k, "s1")
	post[session.Info](k, "/api/sessions/s1/end", nil)
	list := get[api.JobList](k, "/api/jobs?state=queued").Jobs
	if len(list) != 1 || list[0].Kind != session.JobHarvest {
		t.Fatalf("jobs %+v", list)
	}
	path := "/api/jobs/" + list[0].ID
	if j := get[jobs.Job](k, path); j.ID != list[0].ID || j.State != jobs.Queued {
		t.Errorf("job %+v", j)
	}
	if j := post[jobs.Job](k, path+"/retry", nil); j.State != jobs.Queued {
		t.Errorf("retried %+v", j)
	}
	if _, err := k.layer.Harvest(t.Context(), "anna"); err != nil {
		t.Fatal(err)
	}
	if done := get[api.JobList](k, "/api/jobs?state=done&state=dead").Jobs; len(done) != 1 {
		t.Errorf("done %+v", done)
	}
	k.ask(http.MethodPost, path+"/retry", nil).problem(http.StatusConflict, "refused", "done")
}

func TestStats(t *testing.T) {
	k := newKit(t)
	empty := get[api.Stats](k, "/api/stats")
	if empty.Claims != 0 || empty.Mode == "" {
		t.Errorf("empty: %+v", empty)
	}
	k.learn("one")
	k.learn("two", func(r *api.LearnRequest) { r.Kind = ken.KindHot })
	guess := k.learn("three", func(r *api.LearnRequest) { r.Status = ken.StatusHypothesis })
	talk(k, "s1")
	s := get[api.Stats](k, "/api/stats")
	if s.Claims != 3 || s.Kinds["fact"] != 2 || s.Kinds["hot"] != 1 || s.Statuses["hypothesis"] != 1 || s.Documents != 0 || s.Seq <= empty.Seq ||
		s.Coverage.Total != 3 || s.Coverage.Embedded != 3 || s.Mode != ken.ModeHybrid || s.Embedder == "" || s.Sessions["open"] != 1 || s.Jobs["queued"] != 0 {
		t.Errorf("got %+v", s)
	}
	k.ask(http.MethodDelete, "/api/claims/"+guess.ID, nil).want(http.StatusOK)
	if again := get[api.Stats](k, "/api/stats"); again.Claims != 2 || again.Statuses["hypothesis"] != 0 {
		t.Errorf("after forgetting: %+v", again)
	}
	// What structure is made of are claims, and no pieces of the repository.
	k.ask(http.MethodPost, "/api/dependencies", `{"source":"payments","type":"requires","target":"ledger"}`).want(http.StatusOK)
	if again := get[api.Stats](k, "/api/stats"); again.Claims != 3 || again.Kinds["dependency"] != 1 || again.Documents != 0 {
		t.Errorf("with a dependency: %+v", again)
	}
}
