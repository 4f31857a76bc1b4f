package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

const secretOfB = "Zebra launches its orbital shop in Nairobi in June."

// A caller of owner A that asks for what is B's, by every tool and every name that it
// may have heard of, finds nothing.
func TestOwnersAreIsolated(t *testing.T) {
	k := newKit(t)
	b := k.as(func(c *tools.Caller) { c.Owner, c.Session = "b", "session-of-b" })
	id := b.operator(secretOfB)
	receipt := b.says(user("When does Zebra launch its orbital shop in Nairobi?"))
	if len(receipt.Items) == 0 {
		t.Fatal("B's own turn was given nothing")
	}
	ctx := context.Background()
	if err := k.layer.End(ctx, "b", "session-of-b"); err != nil {
		t.Fatal(err)
	}
	b.call(nil, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"`+id+`"}`)
	b.call(nil, "recall_session", `{"session":"session-of-b"}`)
	a := k.as(func(c *tools.Caller) { c.Owner = "a"; c.Session = "session-of-b" }) // even with B's session id
	for _, ref := range []string{id, id[:8], id[len(id)-8:], strings.ToUpper(id), "[k:" + id[len(id)-8:] + "]"} {
		for tool, args := range map[string]string{
			"knowledge_history": `{"id":"REF"}`,
			"knowledge_verify":  `{"id":"REF","evidence":[]}`,
			"knowledge_dispute": `{"id":"REF","reason":"no"}`,
			"forget_memory":     `{"id":"REF"}`,
			"knowledge_explain": `{"turn":"` + receipt.Turn + `","claim":"REF"}`,
		} {
			if told := a.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", ref)); strings.Contains(told, "Zebra") {
				t.Errorf("%s: %s", tool, told)
			}
		}
		if _, _, err := a.registry.ReadResource(ctx, a.caller, tools.ClaimURI+ref); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("resource of %s: %v", ref, err)
		}
	}
	a.fails(ken.CodeNotFound, "knowledge_explain", `{"turn":"`+receipt.Turn+`"}`)
	a.fails(ken.CodeNotFound, "knowledge_explain", `{}`)
	a.fails(ken.CodeNotFound, "recall_session", `{"session":"session-of-b"}`)
	a.fails(ken.CodeNotFound, "recall_session", `{}`)
	for _, uri := range []string{tools.TurnURI + receipt.Turn, tools.MemoryURI, tools.ClaimURI, "ken://claim/../b/" + id, "file:///etc/passwd"} {
		if text, _, err := a.registry.ReadResource(ctx, a.caller, uri); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("%s: %q, %v", uri, text, err)
		}
	}
	for tool, args := range map[string]string{
		"memory_recall":    `{"query":"Zebra orbital shop Nairobi","limit":50}`,
		"knowledge_recall": `{"question":"Zebra orbital shop Nairobi","limit":50,"statuses":["observed","disputed","superseded","hypothesis"],"documents":true}`,
		"memory_list":      `{"limit":50}`,
		"memory_stats":     `{}`,
		"entity_search":    `{}`,
		"task_list":        `{}`,
	} {
		res := a.call(nil, tool, args)
		if strings.Contains(string(res.JSON)+res.Text, "ebra") || strings.Contains(string(res.JSON), id) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
	if c := b.claim(id); c.Status != ken.StatusObserved || len(c.Evidence) != 1 {
		t.Errorf("B's claim has become %+v", c)
	}
	// The files of the project are the configured owner's, who is neither.
	k.files(shop())
	k.call(nil, "objective_create", `{"title":"Ship the ledger"}`)
	for _, x := range k.registry.Tools(a.caller) {
		switch kind, _, _ := strings.Cut(x.Name, "_"); kind {
		case "decision", "graph", "objective":
			if told := a.fails(ken.CodeRefused, x.Name, x.Example); strings.Contains(told, "cents") || strings.Contains(told, "ledger") || strings.Contains(told, "OBJ-0001") {
				t.Errorf("%s: %s", x.Name, told)
			}
		}
	}
	// Said by A in its own words it is A's, and B's stays alone.
	a.call(nil, "memory_ingest", `{"text":"`+secretOfB+`"}`)
	if a.count() != 1 || b.count() != 1 {
		t.Errorf("A has %d claims, B %d", a.count(), b.count())
	}
}

// Within an owner, a caller sees its own scopes and what is unscoped.
func TestScopesAreKept(t *testing.T) {
	k := newKit(t)
	scope := func(id string) ken.Scope { return ken.Scope{Type: ken.ScopeRepo, ID: id} }
	hidden := k.operator("The vault of repository red opens with a brass lever.", func(c *ken.Claim) { c.Scope = scope("red") })
	shown := k.operator("The vault of repository blue opens with a copper wheel.", func(c *ken.Claim) { c.Scope = scope("blue") })
	blue := k.as(func(c *tools.Caller) { c.Scopes = []ken.Scope{scope("blue")} })
	for tool, args := range map[string]string{
		"knowledge_history": `{"id":"` + hidden + `"}`,
		"knowledge_dispute": `{"id":"` + hidden + `","reason":"no"}`,
		"knowledge_verify":  `{"id":"` + hidden + `","evidence":[]}`,
		"forget_memory":     `{"id":"` + hidden + `"}`,
	} {
		blue.fails(ken.CodeNotFound, tool, args)
	}
	for tool, args := range map[string]string{"memory_recall": `{"query":"what opens the vault?"}`, "memory_list": `{}`, "memory_stats": `{}`,
		"knowledge_recall": `{"question":"vault brass lever","statuses":["observed"]}`} {
		res := blue.call(nil, tool, args)
		if strings.Contains(string(res.JSON), "brass") || tool == "memory_stats" && !strings.Contains(string(res.JSON), `"claims":1`) {
			t.Errorf("%s: %s", tool, res.JSON)
		}
	}
	blue.call(nil, "knowledge_history", `{"id":"`+shown+`"}`)
	var got tools.LearnResult
	blue.call(&got, "memory_ingest", `{"text":"The vault closes at six."}`)
	if c := k.claim(got.ID); c.Scope != scope("blue") {
		t.Errorf("learned for %v", c.Scope)
	}
	// What it learns must not be weighed against what it can't see.
	blue.call(&got, "memory_ingest", `{"text":"The vault of repository red opens with a brass lever."}`)
	if got.ID == hidden || got.Outcome != "learned" {
		t.Errorf("got %+v", got)
	}
}

// Within scopes a caller has the receipts of its own session alone: a receipt has words
// of what was asked, and names claims of other scopes.
func TestReceiptsWithinScopes(t *testing.T) {
	k := newKit(t)
	red := ken.Scope{Type: ken.ScopeRepo, ID: "red"}
	blue := ken.Scope{Type: ken.ScopeRepo, ID: "blue"}
	hidden := k.operator("The vault of repository red opens with a brass lever.", func(c *ken.Claim) { c.Scope = red })
	receipt := k.says(user("How does the vault of repository red open?"))
	if len(receipt.Items) != 1 {
		t.Fatal("nothing was injected")
	}
	other := k.as(func(c *tools.Caller) { c.Session, c.Scopes = "s2", []ken.Scope{blue} })
	other.fails(ken.CodeNotFound, "knowledge_explain", `{}`)
	other.fails(ken.CodeNotFound, "knowledge_explain", `{"turn":"`+receipt.Turn+`"}`)
	if _, _, err := other.registry.ReadResource(context.Background(), other.caller, tools.TurnURI+receipt.Turn); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("resource: %v", err)
	}
	own := k.as(func(c *tools.Caller) { c.Scopes = []ken.Scope{blue} })
	var got tools.ExplainResult
	if res := own.call(&got, "knowledge_explain", `{}`); len(got.Injected) != 0 || strings.Contains(string(res.JSON), hidden) {
		t.Errorf("got %+v", got)
	}
	own.fails(ken.CodeNotFound, "knowledge_explain", `{"claim":"`+hidden+`"}`)
	for _, r := range own.registry.Resources(own.caller) {
		if r.URI == tools.MemoryURI {
			t.Error("MEMORY.md knows no scopes, and is offered within one")
		}
	}
}

func TestSessionsWithinScopes(t *testing.T) {
	k := newKit(t)
	ctx := context.Background()
	red := ken.Scope{Type: ken.ScopeRepo, ID: "red"}
	k.layer.Assemble(ctx, ken.Turn{Session: "session-in-red", Scopes: []ken.Scope{red}, Messages: []ken.Message{user("We decided to paint the vault of red with lead.")}})
	if err := k.layer.End(ctx, "", "session-in-red"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.layer.Harvest(ctx, ""); err != nil {
		t.Fatal(err)
	}
	k.call(nil, "recall_session", `{"session":"session-in-red"}`)
	blue := k.as(func(c *tools.Caller) { c.Scopes = []ken.Scope{{Type: ken.ScopeRepo, ID: "blue"}} })
	blue.fails(ken.CodeNotFound, "recall_session", `{"session":"session-in-red"}`)
	blue.fails(ken.CodeNotFound, "recall_session", `{}`)
	var stats tools.StatsResult
	if blue.call(&stats, "memory_stats", `{}`); stats.Sessions != 0 || stats.Claims != 0 {
		t.Errorf("counts %+v", stats)
	}
}

// Of a claim's ids, the beginning, the end and what a block shows name it.
func TestIDs(t *testing.T) {
	k := newKit(t)
	id := k.operator("The lamp is green.")
	for _, ref := range []string{id, id[:12], id[len(id)-6:], strings.ToUpper(id), " " + id + " ", "[k:" + id[len(id)-8:] + "]", "k:" + id[len(id)-8:]} {
		var h tools.HistoryResult
		k.call(&h, "knowledge_history", mustJSON(map[string]any{"id": ref}))
		if h.ID != id {
			t.Errorf("%q names %s", ref, h.ID)
		}
	}
	for _, ref := range []string{"x", "green", "%", "../..", "0198a000-0000-7000-8000-000000000001", strings.Repeat("f", 80)} {
		k.fails(ken.CodeNotFound, "knowledge_history", mustJSON(map[string]any{"id": ref}))
	}
	twin := k.operator("The vault has two keys.", func(c *ken.Claim) { c.ID = id[:8] + "-ffff-7fff-8fff-ffffffffffff" })
	if told := k.fails(ken.CodeInvalid, "knowledge_history", `{"id":"`+id[:8]+`"}`); !strings.Contains(told, "more than one") || strings.Contains(told, twin) {
		t.Errorf("told %q", told)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A piece of the repository is found, and has no life cycle.
func TestDocuments(t *testing.T) {
	k := newKit(t)
	k.store(func(s store.Engine) {
		c, err := ken.NewClaim("func Open opens the vault with a lever.", ken.FromFile("vault.go", "", ""))
		if err != nil {
			t.Fatal(err)
		}
		c.Kind, c.Source = ken.KindDocument, "vault.go"
		if err := s.PutDocuments(context.Background(), []store.Document{{Path: "vault.go", Known: store.Known{Hash: "sha256:00"}, Chunks: []ken.Claim{c}}}); err != nil {
			t.Fatal(err)
		}
	})
	var got tools.RecallResult
	if k.call(&got, "knowledge_recall", `{"question":"vault lever"}`); len(got.Claims) != 0 {
		t.Errorf("found without being asked for: %+v", got.Claims)
	}
	if k.call(&got, "knowledge_recall", `{"question":"vault lever","documents":true}`); len(got.Claims) != 1 {
		t.Fatalf("got %+v", got)
	}
	id := got.Claims[0].ID
	for tool, args := range map[string]string{"knowledge_history": `{"id":"ID"}`, "knowledge_dispute": `{"id":"ID","reason":"no"}`,
		"knowledge_verify": `{"id":"ID","evidence":[]}`, "forget_memory": `{"id":"ID"}`} {
		k.fails(ken.CodeRefused, tool, strings.ReplaceAll(args, "ID", id))
	}
	receipt := k.says(user("How does Open open the vault with a lever?"))
	var why tools.ExplainResult
	if k.call(&why, "knowledge_explain", `{"turn":"`+receipt.Turn+`"}`); len(why.Injected) != 1 || why.Injected[0].Source != "vault.go" {
		t.Errorf("got %+v", why)
	}
	for _, label := range []string{id[len(id)-6:], "k:" + id[len(id)-6:], "[k:" + id[len(id)-6:] + "]"} {
		if k.call(&why, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"`+label+`"}`); why.Verdict != "injected" {
			t.Errorf("%s: got %+v", label, why)
		}
	}
	// What the file says is not learned from the agent's mouth.
	var learned tools.LearnResult
	if k.call(&learned, "memory_ingest", `{"text":"func Open opens the vault with a lever."}`); learned.Outcome != "echo" {
		t.Errorf("got %+v", learned)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	k := newKit(t)
	id := k.operator("The lamp is green.")
	k.store(func(s store.Engine) {
		for i := range 30 {
			if err := s.Reinforce(context.Background(), id, []ken.Evidence{ken.FromTestResult(fmt.Sprint("Test", i), strings.Repeat("long ", 200))}, ken.Actor{Type: "user", ID: "ada"}); err != nil {
				t.Fatal(err)
			}
		}
	})
	var h tools.HistoryResult
	res := k.call(&h, "knowledge_history", `{"id":"`+id+`"}`)
	if len(h.Events) != 20 || h.Older != 11 || !strings.Contains(h.Events[19].Evidence[0], "Test29") {
		t.Errorf("%d events, %d older", len(h.Events), h.Older)
	}
	if !strings.Contains(res.Text, "11 earlier events are left out") || len(res.JSON) > 20_000 {
		t.Errorf("%d bytes, %s", len(res.JSON), res.Text)
	}
}

// A hypothesis gets as far as its evidence goes: hard evidence makes it observed.
func TestHypothesisWithEvidence(t *testing.T) {
	k := newKit(t)
	var learned tools.LearnResult
	k.call(&learned, "knowledge_learn", `{"claim":"The exporter drops rows.","evidence":[{"kind":"model_inference","detail":"the counts differ"}]}`)
	if learned.Status != "hypothesis" {
		t.Fatalf("learned %+v", learned)
	}
	k.says(append([]ken.Message{user("Check the exporter.")}, ran("c1", "make exporter-check", "Exit code: 1\nOutput:\n3 rows missing\n")...)...)
	var got tools.VerifyResult
	k.call(&got, "knowledge_verify", `{"id":"`+learned.ID+`","evidence":[{"kind":"exit_code","command":"make exporter-check","exit_code":1}]}`)
	if got.Status != "observed" || got.Verified || got.Tier != "Inferred" || got.Added != 1 {
		t.Errorf("got %+v", got)
	}
	k.says(append([]ken.Message{user("Check the exporter again.")}, ran("c2", "go test -v ./exporter", "Exit code: 0\nOutput:\n--- PASS: TestRows (0.01s)\nPASS\nok  \tacme/exporter\t0.1s\n")...)...)
	k.call(&got, "knowledge_verify", `{"id":"`+learned.ID+`","evidence":[{"kind":"test_result","test":"TestRows"},{"kind":"test_result","test":"TestOther"}]}`)
	if !got.Verified || got.Tier != "Verified" || len(got.Notes) == 0 {
		t.Errorf("got %+v", got)
	}
	if e := k.claim(learned.ID).Evidence; !slices.ContainsFunc(e, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceTestResult && e.ID == "TestRows" }) {
		t.Errorf("evidence %+v", e)
	}
}

// An owner's name is no path.
func TestOwnersAreNoPaths(t *testing.T) {
	k := newKit(t)
	bad := k.as(func(c *tools.Caller) { c.Owner = "../../up" })
	bad.fails(ken.CodeInvalid, "memory_ingest", `{"text":"The lamp is green."}`)
	for _, dir := range []string{filepath.Dir(k.layer.Root()), k.layer.Root(), filepath.Join(k.layer.Root(), ".ken")} {
		if _, err := os.Stat(filepath.Join(dir, "up")); err == nil {
			t.Errorf("%s/up was made", dir)
		}
	}
	if k.count() != 0 {
		t.Errorf("%d claims", k.count())
	}
}

// The functions of a request are what OpenAI's API takes, and the same tools.
func TestOpenAI(t *testing.T) {
	k := newKit(t)
	var got []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct {
				Type       string
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal(k.registry.OpenAI(k.caller), &got); err != nil {
		t.Fatal(err)
	}
	for i, x := range k.registry.Tools(k.caller) {
		if f := got[i]; f.Type != "function" || f.Function.Name != x.Name || f.Function.Description == "" || f.Function.Parameters.Type != "object" {
			t.Errorf("%s: %+v", x.Name, f)
		}
	}
	if string(k.registry.OpenAI(tools.Caller{})) != "[]" {
		t.Errorf("without rights: %s", k.registry.OpenAI(tools.Caller{}))
	}
}

// What team shares can be recalled and explained with its owner's name, and changed by
// nobody else; what it does not share is as absent as what was never there.
func TestSharedClaimsAreReadAndNotChanged(t *testing.T) {
	k := newKit(t, func(c *config.Config) { c.Knowledge.Shares = []string{"team"} })
	team, ana := k.as(func(c *tools.Caller) { c.Owner = "team" }), k.as(func(c *tools.Caller) { c.Owner = "ana" })
	shared := team.operator("Zebra releases ship from the harbour branch.")
	hidden := team.operator("Zebra releases were cursed in the quagmire.", func(c *ken.Claim) {
		c.Evidence = []ken.Evidence{ken.FromUserStatement("session-of-team", "m")}
	})
	own := ana.operator("Zebra releases make ana nervous: quagmire.")
	const absent = "0192d5a4-0000-7000-8000-000000000000"

	var found struct{ Claims []tools.ClaimView }
	ana.call(&found, "memory_recall", `{"query":"how do Zebra releases ship?"}`)
	owners := map[string]string{}
	for _, c := range found.Claims {
		owners[c.ID] = c.Owner
	}
	if len(owners) != 2 || owners[shared] != "team" || owners[own] != "" {
		t.Errorf("ana recalls %+v", found.Claims)
	}
	found.Claims = nil
	team.call(&found, "memory_recall", `{"query":"how do Zebra releases ship?"}`)
	for _, c := range found.Claims {
		if c.ID == own || c.Owner != "" {
			t.Errorf("team recalls %+v", c)
		}
	}
	receipt := ana.says(user("How do Zebra releases ship?"))
	if text := ana.call(nil, "knowledge_explain", `{"turn":"`+receipt.Turn+`","claim":"`+shared+`"}`); !strings.Contains(string(text.JSON), "harbour") {
		t.Errorf("explained: %s", text.JSON)
	}
	for _, id := range []string{shared, hidden, absent} {
		for tool, args := range map[string]string{
			"knowledge_history": `{"id":"REF"}`,
			"knowledge_verify":  `{"id":"REF","evidence":[]}`,
			"knowledge_dispute": `{"id":"REF","reason":"no"}`,
			"forget_memory":     `{"id":"REF"}`,
		} {
			want := strings.ReplaceAll(ana.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", absent)), absent, id)
			if told := ana.fails(ken.CodeNotFound, tool, strings.ReplaceAll(args, "REF", id)); told != want {
				t.Errorf("%s of %s: %s, of one that is absent: %s", tool, id, told, want)
			}
		}
	}
	for _, id := range []string{shared, hidden, absent} { // the resource tells the history, which is its owner's
		if text, _, err := ana.registry.ReadResource(t.Context(), ana.caller, tools.ClaimURI+id); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("resource of %s: %q, %v", id, text, err)
		}
	}
	for tool, args := range map[string]string{
		"memory_recall":    `{"query":"Zebra quagmire cursed","limit":50}`,
		"knowledge_recall": `{"question":"Zebra quagmire cursed","limit":50,"statuses":["observed","disputed","superseded","hypothesis"],"documents":true}`,
		"memory_list":      `{"limit":50}`,
		"memory_stats":     `{}`,
		"entity_search":    `{}`,
		"task_list":        `{}`,
	} {
		res := ana.call(nil, tool, args)
		if said := string(res.JSON) + res.Text; strings.Contains(said, "cursed") || strings.Contains(said, "session-of-team") || strings.Contains(said, hidden) {
			t.Errorf("%s: %s", tool, said)
		}
	}
}

// A caller without an owner is the one of the turn in the context. Where the layer requires an owner, there
// is no other.
func TestOwnerOfTheContext(t *testing.T) {
	k := newKit(t)
	k.as(func(c *tools.Caller) { c.Owner = "ana" }).call(nil, "memory_ingest", `{"text":"Ana's ledger is in Oslo."}`)
	k.call(nil, "memory_ingest", `{"text":"The company's ledger is in Bergen."}`)
	nobody := tools.Caller{Rights: tools.Rights()}
	const where = `{"query":"Where is the ledger?"}`
	got, err := k.registry.Call(ken.WithTurn(t.Context(), ken.Turn{Owner: "ana"}), nobody, "memory_recall", json.RawMessage(where))
	if err != nil || !strings.Contains(got.Text, "Oslo") || strings.Contains(got.Text, "Bergen") {
		t.Errorf("%s, %v", got.Text, err)
	}
	strict, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Foreground: true, RequireOwner: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer strict.Close()
	registry := tools.New(strict, func(*tools.Options) {})
	if got, err := registry.Call(t.Context(), nobody, "memory_recall", json.RawMessage(where)); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("%s, %v", got.Text, err)
	}
	if _, _, err := registry.ReadResource(t.Context(), nobody, tools.ClaimURI+"0195616d"); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}
