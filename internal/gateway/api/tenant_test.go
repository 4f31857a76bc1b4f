package api_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/middleware"
)

// Pain: cross-tenant leaks. What one owner has can't be seen by another with every
// right, by any route, and an id of another owner is answered byte for byte like one
// that does not exist.
func TestAnotherOwnersKnowledgeIsNotThere(t *testing.T) {
	k := newKit(t)
	bert := k.as(operator("bert"))
	const secret = "quagmire"
	theirs := bert.learn("The "+secret+" is in vault seven.", func(r *api.LearnRequest) { r.Key, r.Tags = "vault", []string{secret} })
	turn := bert.turn("session-of-bert", "where is the "+secret+"?")
	if err := k.layer.End(t.Context(), "bert", "session-of-bert"); err != nil {
		t.Fatal(err)
	}
	jobs, err := k.layer.Operator().Jobs("bert").List(t.Context())
	if err != nil || len(jobs) != 1 {
		t.Fatalf("jobs %v, %v", jobs, err)
	}
	mine := k.learn("The harbour is shallow.")

	// It is all there for its owner, so that what follows can fail.
	for _, path := range []string{"/api/claims/" + theirs.ID, "/api/search?q=" + secret, "/api/turns/" + turn, "/api/export", "/api/claims?tag=" + secret} {
		if a := bert.ask(http.MethodGet, path, nil).want(http.StatusOK); !strings.Contains(string(a.body), secret) {
			t.Fatalf("%s: %s", path, a.body)
		}
	}

	unknown := map[string]string{theirs.ID: "0198c0de-0000-7000-8000-00000000dead", turn: "turn-x", "session-of-bert": "session-of-nobody",
		jobs[0].ID: "0123456789abcdef"}
	for _, tt := range []struct{ method, path, id, body string }{
		{"GET", "/api/claims/%s", theirs.ID, ""},
		{"GET", "/api/claims/%s/history", theirs.ID, ""},
		{"GET", "/api/claims/%s/evidence", theirs.ID, ""},
		{"POST", "/api/claims/%s/verify", theirs.ID, "{}"},
		{"POST", "/api/claims/%s/dispute", theirs.ID, `{"reason":"no"}`},
		{"POST", "/api/claims/%s/archive", theirs.ID, "{}"},
		{"POST", "/api/claims/%s/approve", theirs.ID, "{}"},
		{"POST", "/api/claims/%s/reject", theirs.ID, "{}"},
		{"POST", "/api/claims/%s/supersede", theirs.ID, `{"by":"` + mine.ID + `"}`},
		{"DELETE", "/api/claims/%s", theirs.ID, ""},
		{"GET", "/api/turns/%s", turn, ""},
		{"GET", "/api/turns/%s/explain?claim=" + theirs.ID, turn, ""},
		{"GET", "/api/sessions/%s", "session-of-bert", ""},
		{"GET", "/api/sessions/%s/messages", "session-of-bert", ""},
		{"POST", "/api/sessions/%s/end", "session-of-bert", "{}"},
		{"POST", "/api/sessions/%s/harvest", "session-of-bert", "{}"},
		{"DELETE", "/api/sessions/%s", "session-of-bert", ""},
		{"GET", "/api/jobs/%s", jobs[0].ID, ""},
		{"POST", "/api/jobs/%s/retry", jobs[0].ID, "{}"},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			ask := func(id string) *answer {
				// A claim's version is known to who saw it elsewhere; it must not help.
				return k.ask(tt.method, fmt.Sprintf(tt.path, id), tt.body, "If-Match", "*")
			}
			a, b := ask(tt.id).want(http.StatusNotFound), ask(unknown[tt.id]).want(http.StatusNotFound)
			if got := strings.ReplaceAll(string(a.body), tt.id, unknown[tt.id]); got != string(b.body) {
				t.Errorf("another owner's: %s\nnobody's: %s", got, b.body)
			}
			for _, h := range []string{"ETag", "Retry-After", "Allow", "Cache-Control", "Content-Type"} {
				if a.header.Get(h) != b.header.Get(h) {
					t.Errorf("%s: %q and %q", h, a.header.Get(h), b.header.Get(h))
				}
			}
		})
	}
	k.ask(http.MethodPost, "/api/claims/"+mine.ID+"/supersede", api.SupersedeRequest{By: theirs.ID}).problem(http.StatusBadRequest, "invalid", "by", "no such claim")

	for _, path := range []string{"/api/search?type=all&status=observed&q=" + secret, "/api/claims", "/api/claims?tag=" + secret, "/api/claims?session=session-of-bert",
		"/api/turns", "/api/turns?session=session-of-bert", "/api/sessions", "/api/jobs", "/api/attention?all=1", "/api/export", "/api/stats"} {
		a := k.ask(http.MethodGet, path, nil).want(http.StatusOK)
		for _, s := range []string{secret, theirs.ID, turn, "bert", jobs[0].ID} {
			if body := strings.ReplaceAll(string(a.body), `"query":"`+secret, ""); strings.Contains(body, s) {
				t.Errorf("%s tells of %s: %s", path, s, a.body)
			}
		}
	}

	// A cursor of another owner's list is no way in either.
	for i := range 3 {
		bert.learn(fmt.Sprint("filler ", i))
	}
	theirPage := get[api.ClaimList](bert, "/api/claims?limit=1")
	k.ask(http.MethodGet, "/api/claims?limit=1&cursor="+theirPage.Next, nil).problem(http.StatusBadRequest, "invalid", "another query")

	// The same key in both is two claims.
	own := k.learn("My vault is empty.", func(r *api.LearnRequest) { r.Key = "vault" })
	if own.ID == theirs.ID || get[inspect.Claim](bert, "/api/claims/"+theirs.ID).Text != theirs.Text {
		t.Error("a key reaches into another owner's store")
	}
}

// Nothing in a request names an owner, however it is spelled.
func TestNoRequestNamesAnOwner(t *testing.T) {
	k := newKit(t)
	k.ask(http.MethodGet, "/api/claims?owner=bert", nil).problem(http.StatusBadRequest, "invalid", "owner", "unknown parameter")
	k.ask(http.MethodPost, "/api/claims", `{"text":"x","evidence":[{"kind":"decision","id":"d"}],"owner":"bert"}`).
		problem(http.StatusBadRequest, "invalid", "owner", "unknown field")
	k.ask(http.MethodPost, "/api/claims", `{"text":"x","evidence":[{"kind":"decision","id":"d"}],"id":"0198c0de-0000-7000-8000-000000000001"}`).
		problem(http.StatusBadRequest, "invalid", "unknown field")
	c := k.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: "x", Evidence: file()}, "X-Ken-Owner", "bert").want(http.StatusCreated)
	var v inspect.Claim
	if c.into(&v); v.Owner != "anna" {
		t.Errorf("written for %s", v.Owner)
	}
}

// Pain: delete_all wiped everybody. Forgetting erases one owner's claim, and the same
// words of another owner stay.
func TestForgettingStaysWithinTheOwner(t *testing.T) {
	k := newKit(t)
	bert := k.as(operator("bert"))
	mine, theirs := k.learn("The door code is known."), bert.learn("The door code is known.")
	k.ask(http.MethodDelete, "/api/claims/"+mine.ID, nil).want(http.StatusOK)
	k.ask(http.MethodGet, "/api/claims/"+mine.ID, nil).want(http.StatusNotFound)
	k.ask(http.MethodDelete, "/api/claims/"+mine.ID, nil).want(http.StatusOK) // asked again, it is told again
	bert.ask(http.MethodDelete, "/api/claims/"+mine.ID, nil).want(http.StatusNotFound)
	if got := get[inspect.Claim](bert, "/api/claims/"+theirs.ID); got.Text != theirs.Text {
		t.Errorf("got %+v", got)
	}
}

// Ids are given whole: a beginning would let somebody feel around for ids.
func TestABeginningOfAnIDFindsNothing(t *testing.T) {
	k := newKit(t)
	c := k.learn("The port is 8080.")
	k.turn("a-long-session-id", "what is the port?")
	if err := k.layer.End(context.Background(), "anna", "a-long-session-id"); err != nil {
		t.Fatal(err)
	}
	jobs, err := k.layer.Operator().Jobs("anna").List(t.Context())
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	for _, path := range []string{"/api/claims/" + c.ID[:8], "/api/claims/" + c.ID[30:], "/api/claims/" + strings.ReplaceAll(c.ID, "-", ""),
		"/api/claims/%7B" + c.ID + "%7D", "/api/sessions/a-long-session", "/api/jobs/" + jobs[0].ID[:8]} {
		k.ask(http.MethodGet, path, nil).problem(http.StatusNotFound, "not_found")
	}
	k.ask(http.MethodGet, "/api/claims/"+strings.ToUpper(c.ID), nil).want(http.StatusOK)
	k.ask(http.MethodPost, "/api/claims/"+c.ID[:8]+"/verify", "{}").problem(http.StatusNotFound, "not_found")
	if got := get[inspect.Claim](k, "/api/claims/"+c.ID); got.Status != ken.StatusObserved {
		t.Errorf("got %s", got.Status)
	}
}

// Over the API, what team shares is found and read with its owner's name; every other
// route of every other owner answers as if it were not there, and what team does not
// share, and what bert knows, is nowhere.
func TestSharedClaimsOverTheAPI(t *testing.T) {
	k := newKit(t, func(o *middleware.Options) { o.Config.Knowledge.Shares = []string{"team"} })
	team, bert := k.as(operator("team")), k.as(operator("bert"))
	person := func(r *api.LearnRequest) { r.Evidence = []ken.Evidence{ken.FromHumanAssertion("ada", time.Now(), "")} }
	shared := team.learn("The harbour is closed by lanterns.", person)
	private := []string{
		team.learn("The harbour has a quagmire.", func(r *api.LearnRequest) { r.Tags = []string{"quagmire"} }).ID, // nobody approved it
		bert.learn("The harbour of bert has a quagmire.", person).ID,
		k.learn("The harbour of anna is shallow.", person).ID,
	}
	turn := team.turn("session-of-team", "where is the quagmire of the harbour?")

	for _, reader := range []*kit{k, bert} {
		got := get[api.SearchAnswer](reader, "/api/search"+query("q", "harbour lanterns"))
		ok := false
		for _, r := range got.Results {
			ok = ok || r.ID == shared.ID && r.Owner == "team"
		}
		if !ok {
			t.Errorf("%s does not find it: %+v", reader.who.Owner, got.Results)
		}
		if c := get[inspect.Claim](reader, "/api/claims/"+shared.ID); c.Owner != "team" || !strings.Contains(c.Text, "lanterns") {
			t.Errorf("%s reads %+v", reader.who.Owner, c)
		}
		const absent = "0198c0de-0000-7000-8000-00000000dead"
		for _, id := range append([]string{shared.ID}, private[0]) {
			for _, r := range [][3]string{
				{"GET", "/history", ""}, {"GET", "/evidence", ""}, {"POST", "/verify", "{}"}, {"POST", "/dispute", `{"reason":"no"}`},
				{"POST", "/archive", "{}"}, {"POST", "/approve", "{}"}, {"POST", "/reject", "{}"}, {"DELETE", "", ""},
			} {
				a := reader.ask(r[0], "/api/claims/"+id+r[1], r[2], "If-Match", "*").want(http.StatusNotFound)
				b := reader.ask(r[0], "/api/claims/"+absent+r[1], r[2], "If-Match", "*").want(http.StatusNotFound)
				if got := strings.ReplaceAll(string(a.body), id, absent); got != string(b.body) {
					t.Errorf("%s %s: %s, of one that is absent: %s", r[0], r[1], got, b.body)
				}
			}
		}
		for _, path := range []string{"/api/claims", "/api/claims?tag=quagmire", "/api/search?q=quagmire", "/api/search?q=harbour&explain=true",
			"/api/search?q=quagmire&status=hypothesis&status=disputed&status=observed", "/api/export", "/api/turns", "/api/sessions", "/api/stats",
			"/api/entities", "/api/constraints", "/api/dependencies", "/api/tasks", "/api/turns/" + turn, "/api/sessions/session-of-team",
			"/api/claims/" + private[0]} {
			body := string(reader.ask(http.MethodGet, path, nil).body)
			for i, id := range private {
				if owner := []string{"team", "bert", "anna"}[i]; owner != reader.who.Owner && strings.Contains(body, id) && !strings.HasSuffix(path, id) {
					t.Errorf("%s sees %s of %s at %s: %s", reader.who.Owner, id, owner, path, body)
				}
			}
			if strings.Contains(body, "has a quagmire") && reader.who.Owner != "bert" || strings.Contains(body, "session-of-team\"") && !strings.HasSuffix(path, "session-of-team") {
				t.Errorf("%s at %s: %s", reader.who.Owner, path, body)
			}
		}
	}
	for _, path := range []string{"/api/search?q=harbour", "/api/claims", "/api/export"} {
		body := string(team.ask(http.MethodGet, path, nil).body)
		if strings.Contains(body, "of bert") || strings.Contains(body, "of anna") {
			t.Errorf("team at %s: %s", path, body)
		}
	}
	if c := get[inspect.Claim](team, "/api/claims/"+shared.ID); c.Status != ken.StatusObserved {
		t.Errorf("the claim of team has become %+v", c)
	}
}

// Of a claim that may lie in a store which doesn't answer, nobody says that it is not there.
func TestAStoreThatDoesNotAnswerIsNotAnEmptyOne(t *testing.T) {
	k := newKit(t, func(o *middleware.Options) {
		o.Config.Knowledge.Shares = []string{"team"}
		state := t.TempDir()
		o.Config.Knowledge.DBPath = state
		if err := os.WriteFile(filepath.Join(state, "team"), nil, 0o600); err != nil { // where a folder should be
			t.Fatal(err)
		}
	})
	const absent = "/api/claims/0192d5a4-0000-7000-8000-000000000000"
	unavailable := func(path string) {
		t.Helper()
		a := k.ask(http.MethodGet, path, nil)
		if a.problem(http.StatusServiceUnavailable, "unavailable"); a.header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
	unavailable(absent)
	if log := k.log.String(); !strings.Contains(log, "a request failed") || !strings.Contains(log, "not a directory") {
		t.Errorf("the cause is not logged: %s", log)
	}
	if err := k.layer.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{absent, absent + "/history", "/api/claims", "/api/search?q=x", "/api/entities/x1", "/api/tasks/T-0001", "/api/jobs/1", "/api/sessions/s", "/api/turns/t", "/api/turns?session=s",
		"/api/attention", "/api/stats", "/api/constraints", "/api/dependencies"} {
		unavailable(path)
	}
}
