package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// filled is a kit with one of everything, and the values of paths that lead to it.
func filled(t *testing.T) (*kit, *strings.Replacer) {
	t.Helper()
	k := newKit(t)
	c := k.learn("Payments are retried three times.", func(r *api.LearnRequest) { r.Tags = []string{"payments"} })
	turn := k.turn("session-one", "how are payments retried?")
	post[inspect.Claim](k, "/api/dependencies", `{"source":"payments","type":"requires","target":"ledger"}`)
	post[task.Task](k, "/api/tasks", `{"title":"Move the ledger","about":["ledger"]}`)
	ctx := t.Context()
	if err := k.layer.End(ctx, "anna", "session-one"); err != nil {
		t.Fatal(err)
	}
	jobs, err := k.layer.Operator().Jobs("anna").List(ctx)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("jobs %v, %v", jobs, err)
	}
	return k, strings.NewReplacer("{id}", c.ID, "{turn}", turn, "{session}", "session-one", "{item}", "000000000000", "{job}", jobs[0].ID,
		"{code}", "invalid", "{name}", "payments", "{task}", "T-0001")
}

// samples are values that parameters accept.
var samples = map[string]string{"q": "payments", "type": "knowledge", "mode": "keyword", "kind": "fact", "status": "observed",
	"scope": "repo:a", "min_trust": "agent", "floor": "false", "explain": "1", "limit": "3", "cursor": "", "tag": "payments", "session": "session-one",
	"project": "p", "constraint": "false", "archived": "true", "reason": "because", "all": "true", "state": "queued", "days": "7",
	"claim": "0198c0de-0000-7000-8000-000000000001", "name": "payments", "superseded": "true", "depth": "2", "entity": "payments",
	"source": "payments", "relation": "requires", "target": "ledger", "about": "ledger", "task_status": "open",
	"of": "payments", "expired": "true"}

// Whatever the table lists is served, with the right that it names and not without, and
// every parameter that is described is read.
func TestEveryRouteIsServed(t *testing.T) {
	for _, line := range api.Table() {
		t.Run(line.ID, func(t *testing.T) {
			k, paths := filled(t)
			path := paths.Replace(line.Path)
			var pairs []string
			for _, p := range line.Params {
				v, ok := samples[p]
				if !ok {
					t.Fatalf("no sample of parameter %s", p)
				}
				if p == "claim" {
					v = paths.Replace("{id}")
				}
				pairs = append(pairs, p, v)
			}
			if line.Right != "" {
				var others []access.Right
				for _, r := range access.Rights() {
					if string(r) != line.Right {
						others = append(others, r)
					}
				}
				k.as(access.Principal{}).ask(line.Method, path+query(pairs...), nil).problem(http.StatusUnauthorized, "unauthorized")
				k.as(access.Principal{Name: "n", Owner: "anna", Rights: others}).ask(line.Method, path+query(pairs...), nil).
					problem(http.StatusForbidden, "forbidden", line.Right)
			}
			k.calls = nil
			a := k.ask(line.Method, path+query(pairs...), line.Example)
			last := k.calls[len(k.calls)-1]
			if last.Route != line.ID {
				t.Fatalf("route %s answered", last.Route)
			}
			if a.status == http.StatusMethodNotAllowed || a.status >= 500 || a.status >= 400 && strings.Contains(string(a.body), "no_route") {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			if a.status < 300 && a.status != line.Status && !slices.Contains(line.Also, a.status) {
				t.Errorf("status %d is not described", a.status)
			}
			if a.status >= 300 && (line.Method == http.MethodGet || len(line.Params) > 0) {
				t.Errorf("the route was to be answered, so that its parameters are read: %d %s", a.status, a.body)
			}
			for _, p := range line.Params {
				if !slices.Contains(last.Read, p) {
					t.Errorf("parameter %s is described and not read", p)
				}
			}
		})
	}
}

func TestHeadIsGetWithoutABody(t *testing.T) {
	k, paths := filled(t)
	for _, line := range api.Table() {
		if line.Method != http.MethodGet {
			continue
		}
		path := paths.Replace(line.Path)
		switch line.ID {
		case "search":
			path += "?q=payments"
		case "explain":
			path += "?claim=" + paths.Replace("{id}")
		case "getProvenance":
			path += "?of=payments"
		case "listConstraints", "listDependencies":
			path += "?entity=payments"
		}
		g, h := k.ask(http.MethodGet, path, nil).want(http.StatusOK), k.ask(http.MethodHead, path, nil).want(http.StatusOK)
		if line.JSON && line.ID != "search" && g.header.Get("Content-Length") != h.header.Get("Content-Length") {
			t.Errorf("%s: length %s, HEAD says %s", line.ID, g.header.Get("Content-Length"), h.header.Get("Content-Length"))
		}
		if len(h.body) > 0 || g.header.Get("ETag") != h.header.Get("ETag") || g.header.Get("Content-Type") != h.header.Get("Content-Type") {
			t.Errorf("%s: HEAD differs: %v and %v", line.ID, g.header, h.header)
		}
	}
}

// Content is not left in a cache, neither the browser's nor one on the way.
func TestNothingWithContentIsCached(t *testing.T) {
	k, paths := filled(t)
	for _, line := range api.Table() {
		if line.Method != http.MethodGet || line.ID == "getDescription" {
			continue
		}
		a := k.ask(http.MethodGet, paths.Replace(line.Path), nil)
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", line.ID, got)
		}
	}
}

// What is asked and sent is not in the log, whatever goes wrong.
func TestBodiesAreNotLogged(t *testing.T) {
	k := newKit(t)
	const word = "zanzibarium"
	k.learn("The word is " + word + ".")
	k.ask(http.MethodGet, "/api/search?q="+word, nil).want(http.StatusOK)
	k.ask(http.MethodPost, "/api/claims", `{"text":"`+word+`","evidence":[{"kind":"`+word+`"}]}`).want(http.StatusBadRequest)
	if err := k.layer.Close(); err != nil {
		t.Fatal(err)
	}
	k.ask(http.MethodPost, "/api/claims", api.LearnRequest{Text: word, Evidence: file()})
	k.ask(http.MethodGet, "/api/search?q="+word, nil)
	if bytes.Contains(k.log.Bytes(), []byte(word)) {
		t.Errorf("logged: %s", k.log)
	}
}

// A fault of ours is told to operators, in the log, and to the client only as such.
func TestInternalFaultsAreNotShown(t *testing.T) {
	k := newKit(t)
	if err := k.layer.Close(); err != nil {
		t.Fatal(err)
	}
	a := k.ask(http.MethodGet, "/api/claims", nil)
	if a.status < 500 {
		t.Fatalf("status %d from a layer that is closed: %s", a.status, a.body)
	}
	if strings.Contains(string(a.body), "ken.db") || strings.Contains(string(a.body), "/tmp") {
		t.Errorf("the answer shows where things lie: %s", a.body)
	}
}

// How a claim is moved is a matter of its life cycle, not of the order of requests.
func TestMoveThatTheLifeCycleDoesNotHave(t *testing.T) {
	k := newKit(t)
	old, next := k.learn("The port is 8080."), k.learn("The port is 9090.")
	post[ken.Claim](k, "/api/claims/"+old.ID+"/supersede", api.SupersedeRequest{By: next.ID})
	k.ask(http.MethodPost, "/api/claims/"+old.ID+"/verify", "{}").problem(http.StatusConflict, "refused", "superseded", "verified")
	k.ask(http.MethodPost, "/api/claims/"+next.ID+"/archive", "{}").problem(http.StatusConflict, "refused", "can't be archived")
	k.ask(http.MethodPost, "/api/claims/"+old.ID+"/supersede", api.SupersedeRequest{By: old.ID}).problem(http.StatusConflict, "refused", "itself")
}

// A key sees its own usage, an owner's operator that of the owner's keys, and the
// configured owner's operator all.
func TestUsageIsTenants(t *testing.T) {
	k := newKit(t)
	for key, owner := range map[string]string{"op-anna": "anna", "agent-anna": "anna", "agent-bert": "bert", "ci": "bert"} {
		k.usage.Add(usage.Row{Key: key, Owner: owner, Model: "gpt-5", Requests: 1, Input: 10, Cost: .5})
	}
	for _, tt := range []struct {
		kit  *kit
		want []string
	}{
		{k, []string{"agent-anna", "agent-bert", "ci", "op-anna"}},
		{k.as(agent("anna")), []string{"agent-anna"}},
		{k.as(operator("bert")), []string{"agent-bert", "ci"}},
		{k.as(agent("bert")), []string{"agent-bert"}},
		{k.as(agent("carl")), nil},
	} {
		var out api.UsageList
		a := tt.kit.ask(http.MethodGet, "/api/usage?days=2", nil).want(http.StatusOK)
		if err := json.Unmarshal(a.body, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range out.Usage {
			got = append(got, r.Key)
			if r.Requests != 1 || r.Input != 10 || r.Cost != .5 || r.Day == "" {
				t.Errorf("%+v", r)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.kit.who.Name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.kit.who.Name, got, tt.want)
			}
		}
	}
}

// Ten thousand claims, through the handler and without the checks of a kit.
func BenchmarkRoutes(b *testing.B) {
	k := newKit(b)
	ids := importClaims(k, 10_000)
	deep := ""
	for range 10 {
		deep = get[api.ClaimList](k, "/api/claims?limit=500&cursor="+deep).Next
	}
	for _, bb := range []struct{ name, path string }{
		{"claim", "/api/claims/" + ids[17]},
		{"list", "/api/claims?limit=50"},
		{"list deep", "/api/claims?limit=50&cursor=" + deep},
		{"list rare", "/api/claims?limit=50&tag=none"},
		{"search", "/api/search?limit=10&q=claim+number+77"},
		{"stats", "/api/stats"},
		{"description", "/api/openapi.json"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			r := httptest.NewRequestWithContext(access.With(b.Context(), k.who), http.MethodGet, bb.path, nil)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if k.api.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
