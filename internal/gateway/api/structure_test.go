package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/middleware/inspect"
)

const fridays = "Never deploy the payments service on Fridays; it depends on the ledger."

func (k *kit) rule(text string, entities ...string) api.ConstraintAnswer {
	k.Helper()
	return post[api.ConstraintAnswer](k, "/api/constraints", api.ConstraintRequest{Text: text, Entities: entities})
}

func TestARuleAndWhatItHoldsFor(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodPost, "/api/constraints", api.ConstraintRequest{Text: fridays, Entities: []string{"payments"}}).want(http.StatusCreated)
	var got api.ConstraintAnswer
	a.into(&got)
	if !got.Claim.Constraint || got.Claim.AssignedBy != ken.AssignedByOperator || got.Claim.Trust != ken.TrustOperator || len(got.Dependencies) != 1 ||
		a.header.Get("Location") != "/api/claims/"+got.Claim.ID {
		t.Errorf("%+v, %v", got, a.header)
	}
	k.ask(http.MethodPost, "/api/constraints", api.ConstraintRequest{Text: fridays}).want(http.StatusOK)
	for _, name := range []string{"payments", "Ledger"} {
		list := get[api.ConstraintList](k, "/api/constraints"+query("entity", name))
		if len(list.Constraints) != 1 || list.Constraints[0].ID != got.Claim.ID {
			t.Errorf("%s: %+v", name, list)
		}
	}
	v := get[entity.View](k, "/api/entities/payments")
	if len(v.Constraints) != 1 || len(v.Dependencies) != 1 || v.Dependencies[0].Name != "ledger" {
		t.Errorf("%+v", v)
	}
	k.ask(http.MethodGet, "/api/constraints"+query("entity", "paiments"), nil).problem(http.StatusNotFound, "not_found", "payments")
	k.rule("Never mail before noon.", "mailer")
	k.learn("The port is 1.")
	first := get[api.ConstraintList](k, "/api/constraints"+query("limit", "1"))
	rest := get[api.ConstraintList](k, "/api/constraints"+query("limit", "1", "cursor", first.Next))
	if len(first.Constraints) != 1 || len(rest.Constraints) != 1 || rest.Next != "" || first.Constraints[0].ID == rest.Constraints[0].ID {
		t.Errorf("all rules: %+v, then %+v", first, rest)
	}
	k.ask(http.MethodPost, "/api/constraints", `{"text":" "}`).problem(http.StatusBadRequest, "invalid", "text")
	k.ask(http.MethodPost, "/api/constraints", `{"text":"Never.","entities":["***"]}`).problem(http.StatusBadRequest, "invalid", "entities")
}

// An agent's key does not put rules into every turn over the API, nor merge or rename
// what people know; what it adds is an agent's.
func TestAnAgentsKeyInTheStructure(t *testing.T) {
	k := newKit(t)
	k.rule(fridays, "payments")
	bot := k.as(agent("anna"))
	for path, body := range map[string]string{"/api/constraints": `{"text":"Never."}`, "/api/entities/payments/merge": `{"into":"ledger"}`,
		"/api/entities/payments/split": `{}`, "/api/entities/payments/rename": `{"name":"x1"}`, "/api/entities/payments/describe": `{"type":"tool"}`} {
		bot.ask(http.MethodPost, path, body).problem(http.StatusForbidden, "forbidden")
	}
	bot.ask(http.MethodDelete, "/api/dependencies"+query("source", "payments", "relation", "requires", "target", "ledger"), nil).problem(http.StatusForbidden, "forbidden")
	bot.ask(http.MethodPost, "/api/dependencies", `{"source":"a1","type":"uses","target":"b1","evidence":[{"kind":"human_assertion","id":"anna"}]}`).problem(http.StatusForbidden, "forbidden")
	v := post[inspect.Claim](bot, "/api/dependencies", `{"source":"a1","type":"uses","target":"b1"}`)
	if v.Trust != ken.TrustAgent || v.Actor.Type != "agent" {
		t.Errorf("%+v", v)
	}
	// A page that somebody cites makes no rule, but for an operator.
	ruled := post[api.ConstraintAnswer](k, "/api/constraints", `{"text":"Always greet.","evidence":[{"kind":"url","url":"https://example.org"}]}`)
	if !ruled.Claim.Constraint || ruled.Claim.Trust != ken.TrustExternal {
		t.Errorf("%+v", ruled.Claim)
	}
}

func TestDependenciesOverTheAPI(t *testing.T) {
	k := newKit(t)
	first := post[inspect.Claim](k, "/api/dependencies", api.DependencyRequest{Source: "Payments", Type: "requires", Target: "ledger", Strength: 0.9})
	if again := post[inspect.Claim](k, "/api/dependencies", `{"source":"payments","type":"requires","target":"the ledger"}`); again.ID != first.ID || again.Importance != 0.9 {
		t.Errorf("%+v", again)
	}
	list := get[api.DependencyList](k, "/api/dependencies"+query("entity", "ledger"))
	if len(list.Dependencies) != 0 || len(list.Dependents) != 1 || list.Dependents[0].Name != "payments" {
		t.Errorf("%+v", list)
	}
	post[inspect.Claim](k, "/api/dependencies", `{"source":"api","type":"uses","target":"payments"}`)
	if all := get[api.DependencyList](k, "/api/dependencies"); len(all.Dependencies) != 2 || all.Dependencies[0].Source != "api" || all.Dependencies[1].Name != "ledger" || all.Dependents == nil {
		t.Errorf("all: %+v", all)
	}
	g := get[entity.Graph](k, "/api/entities/payments/graph"+query("depth", "2"))
	if len(g.Nodes) != 3 || len(g.Edges) != 2 || !slices.ContainsFunc(g.Edges, func(e entity.Edge) bool { return e.ClaimID == first.ID }) {
		t.Errorf("%+v", g)
	}
	k.ask(http.MethodGet, "/api/entities/payments/graph"+query("depth", "4"), nil).problem(http.StatusBadRequest, "invalid", "depth")
	k.ask(http.MethodPost, "/api/dependencies", `{"source":"a1","type":"likes","target":"b1"}`).problem(http.StatusBadRequest, "invalid", "type", "uses, requires")
	path := "/api/dependencies" + query("source", "payments", "relation", "requires", "target", "ledger", "reason", "moved")
	var gone inspect.Claim
	k.ask(http.MethodDelete, path, nil).want(http.StatusOK).into(&gone)
	if gone.ID != first.ID || gone.Status != ken.StatusDisputed {
		t.Errorf("%+v", gone)
	}
	k.ask(http.MethodDelete, path, nil).problem(http.StatusNotFound, "not_found")
	if h := get[api.History](k, "/api/claims/"+first.ID+"/history"); len(h.History) != 2 || h.History[1].Reason != "moved" {
		t.Errorf("%+v", h)
	}
}

// Names of every sort are whole parts of a path, slashes included.
func TestEntitiesOverTheAPI(t *testing.T) {
	k := newKit(t)
	names := []string{"internal/store/bolt.go", "支払いサービス", "🚀 launcher", "c++", "payments", "payments gateway", "ledger"}
	for _, n := range names {
		k.rule("Never lose "+n+".", n)
		spelled, err := entity.Spell(n)
		if err != nil {
			t.Fatal(err)
		}
		if v := get[entity.View](k, "/api/entities/"+url.PathEscape(n)); v.Name != spelled || len(v.Constraints) != 1 {
			t.Errorf("%s: %+v", n, v)
		}
	}
	var found []string
	path, pages := "/api/entities"+query("limit", "3"), 0
	for next := "-"; next != ""; pages++ {
		list := get[api.EntityList](k, path)
		for _, h := range list.Entities {
			found = append(found, h.Name)
		}
		if next = list.Next; next != "" {
			path = "/api/entities" + query("limit", "3", "cursor", next)
		}
	}
	for i, n := range names {
		names[i], _ = entity.Spell(n)
	}
	slices.Sort(found)
	slices.Sort(names)
	if !slices.Equal(found, names) || pages != 3 {
		t.Errorf("%d pages of %v, want %v", pages, found, names)
	}
	if list := get[api.EntityList](k, "/api/entities"+query("name", "payment")); len(list.Entities) != 2 || list.Entities[0].Name != "payments" || list.Total != 2 {
		t.Errorf("%+v", list)
	}
	k.ask(http.MethodGet, "/api/entities/"+strings.Repeat("n", 5000), nil).problem(http.StatusBadRequest, "invalid", "name")
	k.ask(http.MethodGet, "/api/entities/%2A%2A%2A", nil).problem(http.StatusBadRequest, "invalid", "name")
	k.ask(http.MethodGet, "/api/entities/legder", nil).problem(http.StatusNotFound, "not_found", "ledger")
	a := k.ask(http.MethodGet, "/api/entities/ledger", nil).want(http.StatusOK)
	k.ask(http.MethodGet, "/api/entities/ledger", nil, "If-None-Match", a.header.Get("ETag")).want(http.StatusNotModified)
}

func TestMergeRenameAndSplitOverTheAPI(t *testing.T) {
	k := newKit(t)
	k.rule("Never deploy on Fridays.", "payments")
	k.rule("Never use floats.", "pay-svc")
	c := post[inspect.Claim](k, "/api/entities/pay-svc/merge", `{"into":"payments","reason":"one"}`)
	if v := get[entity.View](k, "/api/entities/pay%20svc"); v.Name != "payments" || len(v.Constraints) != 2 {
		t.Errorf("%+v", v)
	}
	k.ask(http.MethodPost, "/api/entities/payments/merge", `{"into":"pay svc"}`).problem(http.StatusConflict, "refused", "payments → pay svc → payments")
	k.ask(http.MethodPost, "/api/entities/payments/merge", `{"into":"Payments"}`).problem(http.StatusBadRequest, "invalid", "into")
	k.ask(http.MethodPost, "/api/entities/nobody/merge", `{"into":"payments"}`).problem(http.StatusNotFound, "not_found")
	if s := post[inspect.Claim](k, "/api/entities/pay%20svc/split", `{"reason":"two"}`); s.ID != c.ID || s.Status != ken.StatusDisputed {
		t.Errorf("%+v", s)
	}
	k.ask(http.MethodPost, "/api/entities/pay%20svc/split", `{}`).problem(http.StatusNotFound, "not_found")
	k.ask(http.MethodPost, "/api/entities/payments/rename", `{"name":"pay svc"}`).problem(http.StatusConflict, "exists", "Merge")
	post[inspect.Claim](k, "/api/entities/payments/rename", `{"name":"Money Mover"}`)
	post[inspect.Claim](k, "/api/entities/money%20mover/describe", `{"type":"system","text":"Money Mover: moves the money"}`)
	if v := get[entity.View](k, "/api/entities/payments"); v.Name != "money mover" || v.Type != "system" || v.Display != "Money Mover" {
		t.Errorf("%+v", v)
	}
}

func TestTasksOverTheAPI(t *testing.T) {
	k := newKit(t)
	a := k.ask(http.MethodPost, "/api/tasks", api.TaskRequest{Title: "Move the ledger", About: []string{"ledger"}}).want(http.StatusCreated)
	if a.header.Get("Location") != "/api/tasks/T-0001" {
		t.Error(a.header)
	}
	var wg sync.WaitGroup
	for _, body := range []string{`{"status":"in_progress"}`, `{"title":"Move the ledger away"}`, `{"expires_at":"2099-01-01T00:00:00Z"}`} {
		wg.Go(func() { k.ask(http.MethodPatch, "/api/tasks/T-0001", body).want(http.StatusOK) })
	}
	wg.Wait()
	if got := get[task.Task](k, "/api/tasks/T-0001"); got.Status != task.InProgress || got.Title != "Move the ledger away" || got.ExpiresAt.Year() != 2099 {
		t.Errorf("something was lost: %+v", got)
	}
	for i := range 4 {
		post[task.Task](k, "/api/tasks", api.TaskRequest{Title: fmt.Sprint("more ", i)})
	}
	first := get[api.TaskList](k, "/api/tasks"+query("limit", "3"))
	rest := get[api.TaskList](k, "/api/tasks"+query("limit", "3", "cursor", first.Next))
	if len(first.Tasks) != 3 || len(rest.Tasks) != 2 || first.Tasks[0].ID != "T-0001" || rest.Tasks[1].ID != "T-0005" {
		t.Errorf("%+v and %+v", first, rest)
	}
	if list := get[api.TaskList](k, "/api/tasks"+query("about", "ledger")); len(list.Tasks) != 1 {
		t.Errorf("%+v", list)
	}
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"status":"done"}`).want(http.StatusOK)
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"status":"blocked"}`).problem(http.StatusConflict, "refused", "done", "open")
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{}`).problem(http.StatusBadRequest, "invalid", "nothing")
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"staus":"open"}`).problem(http.StatusBadRequest, "invalid", "status")
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"status":"open"}`, "Content-Type", "text/plain").problem(http.StatusUnsupportedMediaType, "unsupported_media_type")
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"status":"open"}`, "Sec-Fetch-Site", "cross-site").problem(http.StatusForbidden, "cross_site")
	if list := get[api.TaskList](k, "/api/tasks"+query("task_status", "done")); len(list.Tasks) != 1 || list.Tasks[0].RetentionUntil.IsZero() {
		t.Errorf("%+v", list)
	}
	for _, id := range []string{"T-0099", "t-1", "1", "x", "T-99999999999999999999"} {
		k.ask(http.MethodGet, "/api/tasks/"+id, nil).problem(http.StatusNotFound, "not_found")
		k.ask(http.MethodPatch, "/api/tasks/"+id, `{"status":"open"}`).problem(http.StatusNotFound, "not_found")
	}
}

// Two owners have things of one name, and see nothing of each other's.
func TestStructureStaysWithinTheOwner(t *testing.T) {
	k := newKit(t)
	bert := k.as(operator("bert"))
	bert.rule("Never tell about Zebra.", "payments")
	post[inspect.Claim](bert, "/api/dependencies", `{"source":"payments","type":"uses","target":"zebra"}`)
	post[task.Task](bert, "/api/tasks", `{"title":"Feed the zebra","about":["zebra"]}`)
	k.rule("Never deploy on Fridays.", "payments")
	for _, path := range []string{"/api/entities", "/api/entities/payments", "/api/entities/payments/graph?depth=3", "/api/constraints?entity=payments",
		"/api/dependencies?entity=payments", "/api/constraints", "/api/dependencies", "/api/tasks"} {
		if a := k.ask(http.MethodGet, path, nil).want(http.StatusOK); strings.Contains(strings.ToLower(string(a.body)), "zebra") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	for _, path := range []string{"/api/entities/zebra", "/api/entities/zebra/graph", "/api/constraints?entity=zebra", "/api/dependencies?entity=zebra", "/api/tasks?about=zebra", "/api/tasks/T-0001"} {
		k.ask(http.MethodGet, path, nil).problem(http.StatusNotFound, "not_found")
	}
	k.ask(http.MethodPatch, "/api/tasks/T-0001", `{"status":"done"}`).problem(http.StatusNotFound, "not_found")
	if got := get[task.Task](bert, "/api/tasks/T-0001"); got.Status != task.Open {
		t.Errorf("%+v", got)
	}
}
