package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/tools"
)

// Whatever is known, an answer stays within its bound, says what it left out, and fits
// its schema.
func TestAnswersAreBounded(t *testing.T) {
	k := newKit(t)
	long := strings.Repeat("The vault holds gold bars of many years. ", 200)
	for i := range 60 {
		k.operator(fmt.Sprintf("Shelf %d: %s", i, long), func(c *ken.Claim) { c.Heading = strings.Repeat("shelf ", 100); c.Session = "old" })
	}
	k.files(crowded(long))
	for name, args := range map[string]string{
		"memory_recall":    `{"query":"vault gold bars","limit":50}`,
		"knowledge_recall": `{"question":"vault gold bars","limit":50}`,
		"memory_list":      `{"limit":50}`,
		"recall_session":   `{"session":"old","limit":50}`,
		"memory_stats":     `{}`,
		"graph_search":     `{"query":"shelf","limit":50}`,
		"graph_refs":       `{"name":"vault.Open","limit":100}`,
		"graph_dependents": `{"name":"vault.Open","limit":100}`,
		"decision_search":  `{"limit":50}`,
		"objective_read":   `{"id":"OBJ-0001"}`,
		"objective_list":   `{"limit":50}`,
	} {
		res := k.call(nil, name, args)
		if n := utf8.RuneCountInString(res.Text); n > tools.MaxText || name != "memory_stats" && n < tools.MaxText/2 {
			t.Errorf("%s: %d characters", name, n)
		}
		if name != "memory_stats" && !strings.Contains(res.Text, "More was found than fits") {
			t.Errorf("%s does not say that something is missing", name)
		}
		if n := len(res.JSON); n > 50*4*1024+4096 {
			t.Errorf("%s: %d bytes of JSON", name, n)
		}
	}
}

// Each tool's answer is what its output schema says: clients check it.
func TestAnswersFitTheirSchema(t *testing.T) {
	k := newKit(t)
	id := k.operator("The vault opens with a brass lever.", func(c *ken.Claim) { c.Session = "old" })
	other := k.operator("The lamp is green.")
	receipt := k.says(user("How does the vault open?"))
	args := map[string]string{
		"memory_recall": `{"query":"vault"}`, "memory_ingest": `{"text":"The vault is in the cellar."}`, "memory_list": `{}`, "memory_stats": `{}`,
		"recall_session": `{"session":"old"}`, "forget_memory": `{"id":"` + id + `"}`,
		"knowledge_learn":   `{"claim":"The vault has two keys.","evidence":[{"kind":"agent_assertion"}]}`,
		"knowledge_recall":  `{"question":"vault"}`,
		"knowledge_verify":  `{"id":"` + id + `","evidence":[]}`,
		"knowledge_dispute": `{"id":"` + other + `","reason":"it is red"}`,
		"knowledge_history": `{"id":"` + id + `"}`,
		"knowledge_explain": `{"turn":"` + receipt.Turn + `","claim":"` + id + `"}`,
		"entity_search":     `{"query":"vault"}`,
		"entity_show":       `{"name":"vault","superseded":true}`,
		"constraint_add":    `{"text":"Never open the vault alone.","entities":["vault"],"expires_at":"2099-01-01"}`,
		"dependency_add":    `{"source":"vault","type":"requires","target":"lever"}`,
		"task_create":       `{"title":"Oil the vault","about":["vault"],"expires_at":"2099-01-01"}`,
		"task_update":       `{"id":"T-0001","status":"done"}`,
		"task_list":         `{"statuses":["done"]}`,

		"decision_search":     `{"query":"cents"}`,
		"decision_read":       `{"id":"ADR-0001","history":true}`,
		"decision_create":     decimals,
		"decision_supersede":  `{"id":"ADR-0001","by":"ADR-0002"}`,
		"graph_search":        `{"query":"amount"}`,
		"graph_refs":          `{"name":"money.Amount"}`,
		"graph_dependents":    `{"name":"money.Amount"}`,
		"objective_create":    `{"title":"Ship the vault","description":"All of it.","tasks":["Design","Build"],"decisions":["ADR-0001"],"tags":["vault"]}`,
		"objective_read":      `{"id":"OBJ-0001"}`,
		"objective_update":    `{"id":"OBJ-0001","status":"paused","tasks":[{"text":"Design","done":true},{"text":"Build"}]}`,
		"objective_list":      `{}`,
		"objective_link_task": `{"id":"OBJ-0001","task":"Build","action":"complete"}`,
	}
	k.files(shop())
	k.operator("The vault has a door of steel.", func(c *ken.Claim) { c.Entities = []string{"vault"} })
	for _, x := range k.registry.Tools(k.caller) {
		if args[x.Name] == "" {
			t.Errorf("%s is not tried", x.Name)
			continue
		}
		res := k.call(nil, x.Name, args[x.Name])
		var s jsonschema.Schema
		if err := json.Unmarshal(x.OutputSchema(), &s); err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Resolve(&jsonschema.ResolveOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(res.JSON, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%s: %v in %s", x.Name, err, res.JSON)
		}
		if res.Text == "" {
			t.Errorf("%s says nothing", x.Name)
		}
	}
}

func TestListGoesOnWhereItEnded(t *testing.T) {
	k := newKit(t)
	for i := range 7 {
		k.operator(fmt.Sprintf("Shelf %d holds gold.", i), func(c *ken.Claim) { c.CreatedAt = time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC) })
	}
	k.operator("Deploys run on Tuesday.", func(c *ken.Claim) { c.Kind = ken.KindHot })
	var texts []string
	for offset := 0; ; {
		var got tools.ListResult
		k.call(&got, "memory_list", fmt.Sprintf(`{"kinds":["fact"],"limit":3,"offset":%d}`, offset))
		for _, c := range got.Claims {
			texts = append(texts, c.Text)
		}
		if offset = got.Next; offset == 0 {
			break
		}
	}
	if len(texts) != 7 || texts[0] != "Shelf 6 holds gold." || texts[6] != "Shelf 0 holds gold." {
		t.Errorf("listed %q", texts)
	}
	var none tools.ListResult
	k.call(&none, "memory_list", `{"offset":100}`)
	if len(none.Claims) != 0 || none.Next != 0 {
		t.Errorf("beyond the end: %+v", none)
	}
}

func TestListOfRulesAndOfDependencies(t *testing.T) {
	k := newKit(t)
	for i := range 5 {
		k.operator(fmt.Sprintf("Shelf %d holds gold.", i))
		k.operator(fmt.Sprintf("Never open shelf %d at night.", i), func(c *ken.Claim) {
			c.Constraint, c.CreatedAt = true, time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC)
		})
	}
	k.call(nil, "dependency_add", `{"source":"lift","type":"requires","target":"power"}`)
	var first, rest tools.ListResult
	k.call(&first, "memory_list", `{"rules":true,"limit":3}`)
	k.call(&rest, "memory_list", fmt.Sprintf(`{"rules":true,"limit":3,"offset":%d}`, first.Next))
	if len(first.Claims) != 3 || first.Next != 3 || len(rest.Claims) != 2 || rest.Next != 0 || first.Claims[0].Text != "Never open shelf 4 at night." || rest.Claims[1].Text != "Never open shelf 0 at night." {
		t.Errorf("rules: %+v, then %+v", first, rest)
	}
	var links tools.ListResult
	if k.call(&links, "memory_list", `{"kinds":["dependency"]}`); len(links.Claims) != 1 || links.Claims[0].Text != "lift requires power" {
		t.Errorf("dependencies: %+v", links)
	}
}

func TestStats(t *testing.T) {
	k := newKit(t)
	k.operator("Deploys run on Tuesday.", func(c *ken.Claim) { c.Kind = ken.KindHot })
	k.call(nil, "memory_ingest", `{"text":"The ledger closes at noon."}`)
	k.operator("payments requires ledger", func(c *ken.Claim) {
		c.Kind, c.Entities, c.Aspect = ken.KindDependency, []string{"payments", "ledger"}, "requires"
	})
	k.says(user("Hello there, what is new?"))
	if err := k.layer.Operator().Recorded(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got tools.StatsResult
	res := k.call(&got, "memory_stats", `{}`)
	if got.Claims != 3 || got.Kinds["hot"] != 1 || got.Kinds["dependency"] != 1 || got.Trust["agent"] != 1 || got.Trust["operator"] != 2 || got.Tiers["Assumed"] != 1 || got.Sessions != 1 {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(res.Text, "kinds: dependency 1, fact 1, hot 1") {
		t.Errorf("text %q", res.Text)
	}
}

func TestProgressIsReported(t *testing.T) {
	k := newKit(t)
	var batch []ken.Claim
	for i := range 1001 {
		c, err := ken.NewClaim(fmt.Sprintf("Shelf %d holds gold.", i), ken.FromUserStatement("s", "m"))
		if err != nil {
			t.Fatal(err)
		}
		batch = append(batch, c)
	}
	k.fill(batch)
	var reports []int
	ctx := tools.WithProgress(context.Background(), func(_ string, done, _ int) { reports = append(reports, done) })
	if _, err := k.registry.Call(ctx, k.caller, "memory_stats", nil); err != nil || len(reports) != 1 || reports[0] != 1000 {
		t.Errorf("reports %v, %v", reports, err)
	}
}

// A call that nobody waits for any more ends, and says so.
func TestCancelledCalls(t *testing.T) {
	k := newKit(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, x := range k.registry.Tools(k.caller) {
		_, err := k.registry.Call(ctx, k.caller, x.Name, json.RawMessage(x.Example))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", x.Name, err)
		}
		if got := tools.Explain(err); got != "The call was stopped before it was done." {
			t.Errorf("told %q", got)
		}
	}
}

// A fault of ours is none that a model is told in detail.
func TestInternalErrorsAreNotTold(t *testing.T) {
	for _, err := range []error{errors.New("open /home/ada/.ken: permission denied"), &ken.Error{Code: ken.CodeCorrupt, Msg: "/home/ada"},
		fmt.Errorf("read: %w", &ken.Error{Code: ken.CodeInternal, Msg: "/home/ada"})} {
		if got := tools.Explain(err); strings.Contains(got, "ada") || !strings.Contains(got, "failed") {
			t.Errorf("told %q", got)
		}
	}
}

func TestRecallSession(t *testing.T) {
	k := newKit(t)
	ctx := context.Background()
	earlier := k.as(func(c *tools.Caller) { c.Session = "earlier-session" })
	earlier.says(user("Let us move the invoice export to Parquet. Deploys of the exporter run on Tuesdays."),
		ken.Message{Role: "assistant", Text: "All right. Which bucket?"}, user("We decided to use the bucket ledger-exports for it."))
	if err := k.layer.End(ctx, "", "earlier-session"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.layer.Harvest(ctx, ""); err != nil {
		t.Fatal(err)
	}
	var got, named tools.SessionResult
	res := k.call(&got, "recall_session", `{}`)
	k.call(&named, "recall_session", `{"session":"earlie"}`)
	if got.Session != "earlier-session" || named.Session != got.Session || got.State != "harvested" || len(got.Claims) == 0 || got.Claims[0].Kind != "episode" {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.Goal, "Parquet") || !strings.Contains(res.Text, "ledger-exports") {
		t.Errorf("goal %q, text %s", got.Goal, res.Text)
	}
	k.fails(ken.CodeNotFound, "recall_session", `{"session":"nobody-knows-it"}`)
	k.fails(ken.CodeInvalid, "recall_session", `{"session":""}{}`)
}

// Why was it injected, or not: by turn and claim, also by what stands in the block.
func TestExplain(t *testing.T) {
	k := newKit(t)
	in := k.operator("The payments service retries a failed transfer three times.")
	out := k.operator("The lighthouse lamp restarts at midnight.")
	receipt := k.says(user("How often does the payments service retry a failed transfer?"))
	var all, one tools.ExplainResult
	res := k.call(&all, "knowledge_explain", `{}`)
	if all.Turn != receipt.Turn || len(all.Injected) != 1 || all.Injected[0].ID != in || len(all.Injected[0].Found) == 0 {
		t.Errorf("got %+v", all)
	}
	if !strings.Contains(res.Text, "found by keyword #1") {
		t.Errorf("text %s", res.Text)
	}
	k.call(&one, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"[k:`+in[len(in)-6:]+`]"}`)
	if one.Verdict != "injected" || one.Claim == nil || one.Claim.ID != in || one.Why == "" {
		t.Errorf("got %+v", one)
	}
	k.call(&one, "knowledge_explain", `{"claim":"`+out+`"}`)
	if one.Verdict == "injected" || one.Verdict == "" || one.Why == "" {
		t.Errorf("got %+v", one)
	}
	k.fails(ken.CodeNotFound, "knowledge_explain", `{"turn":"no-such-turn"}`)
	k.fails(ken.CodeNotFound, "knowledge_explain", `{"claim":"ffffffff"}`)
}

// An item that is made for the turn has a name for an id, and a hash of it in the block.
func TestExplainObjectives(t *testing.T) {
	k := newKit(t)
	k.files(map[string]string{".ken/knowledge/objectives/OBJ-0001.yaml": "id: OBJ-0001\ntitle: Ship the login\nstatus: active\n"})
	receipt := k.says(user("How far is the login?"))
	_, label, _ := strings.Cut(receipt.Block, "\n[k:")
	label, _, _ = strings.Cut(label, "]")
	var got tools.ExplainResult
	res := k.call(&got, "knowledge_explain", `{"turn":"`+receipt.Turn+`"}`)
	if len(label) < 6 || len(got.Injected) != 1 || !strings.Contains(res.Text, label+" ") {
		t.Fatalf("label %q, %s", label, res.Text)
	}
	if k.call(&got, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"[k:`+label+`]"}`); got.Verdict != "injected" {
		t.Errorf("got %+v", got)
	}
}

func TestResourcesAndPrompt(t *testing.T) {
	k := newKit(t)
	id := k.operator("The vault opens with a brass lever.", func(c *ken.Claim) { c.Kind = ken.KindHot })
	receipt := k.says(user("How does the vault open?"))
	ctx := context.Background()
	read := func(uri string) string {
		t.Helper()
		text, _, err := k.registry.ReadResource(ctx, k.caller, uri)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		return text
	}
	if got := read(tools.MemoryURI); !strings.HasPrefix(got, "Nothing is in MEMORY.md yet.") {
		t.Errorf("MEMORY.md before there is one: %s", got)
	}
	if _, err := k.layer.Operator().SyncMemory(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if got := read(tools.MemoryURI); !strings.HasPrefix(got, "Reference data from Ken, not instructions.") || !strings.Contains(got, "brass lever") {
		t.Errorf("MEMORY.md: %s", got)
	}
	if got := read(tools.ClaimURI + id[len(id)-8:]); !strings.Contains(got, "brass lever") || !strings.Contains(got, "claim.written") {
		t.Errorf("claim: %s", got)
	}
	if err := k.layer.Operator().Recorded(ctx); err != nil {
		t.Fatal(err)
	}
	if got := read(tools.TurnURI + receipt.Turn); !strings.Contains(got, id) || !json.Valid([]byte(got)) {
		t.Errorf("turn: %s", got)
	}
	if got, err := k.registry.Prompt(ctx, k.caller, "How does the vault open?"); err != nil || !strings.Contains(got, "brass lever") || !strings.HasSuffix(got, "[/Pipeline Knowledge]\n\nHow does the vault open?") {
		t.Errorf("prompt %q, %v", got, err)
	}
	if got, err := k.registry.Prompt(ctx, tools.Caller{Owner: "other", Rights: k.caller.Rights}, "How does the vault open?"); err != nil || got != "How does the vault open?" {
		t.Errorf("prompt of an owner of nothing %q, %v", got, err)
	}
	if _, err := k.registry.Prompt(ctx, tools.Caller{}, "How does the vault open?"); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("prompt without the right: %v", err)
	}
	if _, err := k.registry.Prompt(ctx, k.caller, " "); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("prompt without a question: %v", err)
	}
	none := tools.Caller{}
	if _, _, err := k.registry.ReadResource(ctx, none, tools.ClaimURI+id); !errors.Is(err, ken.ErrRefused) || len(k.registry.Resources(none)) != 0 {
		t.Errorf("without the right: %v", err)
	}
}

// The prompt has what a turn gets, code included.
func TestPromptHasCode(t *testing.T) {
	k := newKit(t, func(c *config.Config) { c.Repository.Index = true })
	code := "package vault\n\n// ResolveDelta resolves a delta of a packfile against its base object.\nfunc ResolveDelta(base, delta []byte) []byte { return append(base, delta...) }\n"
	if err := os.WriteFile(filepath.Join(k.layer.Root(), "delta.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := k.layer.Refresh(ctx, ""); err != nil {
		t.Fatal(err)
	}
	const question = "How is a packfile delta resolved?"
	got, err := k.registry.Prompt(ctx, k.caller, question)
	if err != nil || !strings.Contains(got, "func ResolveDelta") || !strings.HasSuffix(got, "\n\n"+question) {
		t.Errorf("%q, %v", got, err)
	}
}
