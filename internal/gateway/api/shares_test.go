package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/middleware"
)

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
		if c := get[middleware.ClaimView](reader, "/api/claims/"+shared.ID); c.Owner != "team" || !strings.Contains(c.Text, "lanterns") {
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
	if c := get[middleware.ClaimView](team, "/api/claims/"+shared.ID); c.Status != ken.StatusObserved {
		t.Errorf("the claim of team has become %+v", c)
	}
}
