package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
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
	if err := k.layer.End(k.Context(), k.who.Owner, "none"); err != nil { // waits for the journal
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

// All that a session taught goes in one call, also when the session is no longer in the journal.
func TestForgetWhatASessionTaught(t *testing.T) {
	k := newKit(t)
	talk(k, "s/1")
	path := "/api/sessions/s%2F1"
	post[session.Info](k, path+"/end", nil)
	episode := post[api.HarvestAnswer](k, path+"/harvest", nil).Outcome.Episode
	k.ask(http.MethodDelete, path, nil).want(http.StatusOK)
	path += "/claims?reason=a+test"
	writer := k.as(access.Principal{Name: "w", Owner: "anna", Rights: []access.Right{access.Read, access.Write}})
	writer.ask(http.MethodDelete, path, nil).problem(http.StatusForbidden, "forbidden", "operate")
	k.as(access.Principal{Name: "b", Owner: "bert", Rights: []access.Right{access.Operate}}).ask(http.MethodDelete, path, nil).problem(http.StatusNotFound, "not_found")
	for range 2 { // again says the same
		var gone middleware.Forgotten
		k.ask(http.MethodDelete, path, nil).want(http.StatusOK).into(&gone)
		if !slices.Contains(gone.Claims, episode) || len(gone.Looked) == 0 {
			t.Errorf("forgotten %+v, and the episode is %s", gone, episode)
		}
	}
	k.ask(http.MethodGet, "/api/claims/"+episode, nil).problem(http.StatusNotFound, "not_found")
	k.ask(http.MethodDelete, "/api/sessions/nobody/claims", nil).problem(http.StatusNotFound, "not_found")
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

// Pain: no view of what was injected. A turn can be looked at afterwards, and asked why.
func TestTurnIsExplained(t *testing.T) {
	k := newKit(t)
	c := k.learn("Payments are retried three times with backoff.")
	far := k.learn("The harbour is shallow at low tide.")
	guess := k.learn("Payments may be retried ten times.", func(r *api.LearnRequest) { r.Status = ken.StatusHypothesis })
	turn := k.turn("s1", "how are payments retried?")
	later := k.learn("Payments are retried on Fridays.")
	path := "/api/turns/" + turn
	v := get[inspect.Turn](k, path)
	if v.Turn != turn || v.Session != "s1" || v.Project != "payments" || v.Block != "" || len(v.Items) != 1 {
		t.Fatalf("turn %+v", v)
	}
	if it := v.Items[0]; it.ID != c.ID || it.Text != c.Text || it.State != inspect.Same || it.Legs["keyword"].Rank != 1 {
		t.Errorf("item %+v", it)
	}
	for id, want := range map[string]inspect.Verdict{c.ID: inspect.Injected, guess.ID: inspect.Cut, later.ID: inspect.Unknown} {
		e := get[inspect.Explanation](k, path+"/explain?claim="+id)
		if e.Verdict != want || e.Why == "" || e.Claim != id || e.Turn != turn {
			t.Errorf("want %s: %+v", want, e)
		}
	}
	if e := get[inspect.Explanation](k, path+"/explain?claim="+far.ID); e.Verdict != inspect.Unseen && e.Verdict != inspect.Cut {
		t.Errorf("far: %+v", e)
	}
	k.ask(http.MethodGet, path+"/explain?claim=0198c0de-0000-7000-8000-00000000dead", nil).problem(http.StatusNotFound, "not_found", "claim")
	k.ask(http.MethodGet, path+"/explain", nil).problem(http.StatusBadRequest, "invalid", "claim")
	k.ask(http.MethodGet, "/api/turns/none/explain?claim="+c.ID, nil).problem(http.StatusNotFound, "not_found", "turn")

	list := get[api.TurnList](k, "/api/turns?session=s1").Turns
	if len(list) != 1 || list[0].Turn != turn || list[0].Items[0].Text != "" {
		t.Errorf("list %+v", list)
	}
}

// Pain: delete is not delete. The receipt of a turn tells nothing of what was forgotten.
func TestReceiptOfAForgottenClaim(t *testing.T) {
	k := newKit(t)
	c := k.learn("The quagmire codename is tortoise.", func(r *api.LearnRequest) { r.Heading, r.Kind = "quagmire", ken.KindHot })
	turn := k.turn("s1", "when is the next deploy?") // says nothing of it itself
	if v := get[inspect.Turn](k, "/api/turns/"+turn); len(v.Items) != 1 || !strings.Contains(v.Items[0].Text, "tortoise") {
		t.Fatalf("turn %+v", v)
	}
	k.ask(http.MethodDelete, "/api/claims/"+c.ID, nil).want(http.StatusOK)
	for _, path := range []string{"/api/turns/" + turn, "/api/turns", "/api/turns/" + turn + "/explain?claim=" + c.ID, "/api/sessions/s1/messages", "/api/export"} {
		a := k.ask(http.MethodGet, path, nil)
		if strings.Contains(string(a.body), "tortoise") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	v := get[inspect.Turn](k, "/api/turns/"+turn)
	if len(v.Items) != 1 || v.Items[0].State != inspect.Forgotten || v.Items[0].Text != "" || v.Items[0].ID != c.ID {
		t.Errorf("items %+v", v.Items)
	}
}

func TestTurnsInPages(t *testing.T) {
	k := newKit(t)
	var want []string
	for range 5 {
		k.learn("filler") // so that ids of turns differ
		want = append(want, k.turn("s1", "what is the filler?"))
	}
	var got []string
	get[inspect.Turn](k, "/api/turns/"+want[4]) // waits until they are kept
	for next := ""; ; {
		l := get[api.TurnList](k, "/api/turns?limit=2&cursor="+next)
		for _, r := range l.Turns {
			got = append(got, r.Turn)
		}
		k.learn("filler")
		get[inspect.Turn](k, "/api/turns/"+k.turn("s2", "what is the filler?"))
		if next = l.Next; next == "" {
			break
		}
	}
	if len(got) != 5 || got[0] != want[4] || got[4] != want[0] {
		t.Errorf("got %v, want the reverse of %v", got, want)
	}
}

// The words of a question are for an operator and for the key that asked.
func TestWordsOfAQuestion(t *testing.T) {
	k := newKit(t)
	turn := k.turn("s1", "how are payments retried?")
	if whole := get[inspect.Turn](k, "/api/turns/"+turn); len(whole.Signals.Keywords) == 0 {
		t.Fatalf("an operator gets %+v", whole.Signals)
	}
	who := k.who
	who.Rights = []access.Right{access.Read}
	reader := k.as(who)
	one, list := get[inspect.Turn](reader, "/api/turns/"+turn), get[api.TurnList](reader, "/api/turns?session=s1")
	if len(list.Turns) != 1 || len(one.Signals.Keywords)+len(list.Turns[0].Signals.Keywords) > 0 {
		t.Errorf("a reader gets %+v and %+v", one.Signals, list.Turns)
	}
}
