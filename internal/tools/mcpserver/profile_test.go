package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

// maxCore bounds what the core profile costs an agent in every request: all of tools/list
// and the server's instructions, in tokens of o200k_base.
const maxCore = 2000

// maxAnswer bounds the tokens of an answer with the default limit.
const maxAnswer = 1000

// A list of tools is in every request of an agent. docs/tools.md states what each profile
// costs; go test ./internal/tools/mcpserver -run ProfileCost -v prints it.
func TestProfileCost(t *testing.T) {
	count, err := tokens.Counter("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	cost := func(v any) int {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return count(string(b))
	}
	k := newKit(t)
	for _, p := range tools.Profiles() {
		caller := everybody
		caller.Offer = []string{p.Name}
		cs := k.inMemory(caller, nil)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != len(p.Tools) {
			t.Errorf("%s lists %d tools, want %d", p.Name, len(list.Tools), len(p.Tools))
		}
		var model []map[string]any // as a client hands it to a model
		for _, x := range list.Tools {
			model = append(model, map[string]any{"name": x.Name, "description": x.Description, "input_schema": x.InputSchema})
		}
		whole, instructions := cost(list), count(cs.InitializeResult().Instructions)
		structured := k.inMemory(caller, nil, structuredToo)
		full, err := structured.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d tools, %d tokens for the model, %d for all of tools/list, %d with output schemas, %d of instructions", p.Name, len(list.Tools), cost(model), whole, cost(full), instructions)
		row := fmt.Sprintf("| `%s` | %d | %d |", p.Name, len(list.Tools), whole)
		if !strings.Contains(string(doc), row) {
			t.Errorf("docs/tools.md lacks the row that begins with %s", row)
		}
		if p.Name == tools.DefaultProfile && whole+instructions > maxCore {
			t.Errorf("%s costs %d tokens with %d of instructions, and %d is the most", p.Name, whole, instructions, maxCore)
		}
	}
}

// Answers from a store with long claims and rules take no more tokens than from one with short ones.
func TestAnswerCost(t *testing.T) {
	count, err := tokens.Counter("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t)
	k.store("", func(s store.Engine) {
		for i := range 60 {
			text := fmt.Sprintf("Shelf %d of the vault holds gold bars of the year %d. ", i, 1900+i) + strings.Repeat("Every bar there is weighed twice before a customer may see it. ", 3+i%30)
			c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Now(), "checked"))
			if err != nil {
				t.Fatal(err)
			}
			c.Constraint, c.Entities = i%2 == 0, []string{"vault"}
			if _, err := s.WriteClaim(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	})
	plain, both := k.inMemory(everybody, nil), k.inMemory(everybody, nil, structuredToo)
	for name, args := range map[string]map[string]any{
		"memory_recall": {"query": "which shelf of the vault holds gold bars?"}, "memory_list": {}, "entity_show": {"name": "vault"},
	} {
		res, text := call(t, plain, name, args)
		t.Logf("%s: %d characters, %d tokens", name, utf8.RuneCountInString(text), count(text))
		if n := count(text); n > maxAnswer || n < maxAnswer/4 || res.StructuredContent != nil {
			t.Errorf("%s costs %d tokens, structured content %v: %s", name, n, res.StructuredContent != nil, text)
		}
		if res, again := call(t, both, name, args); again != text || res.StructuredContent == nil {
			t.Errorf("%s answers a program with %s", name, again)
		}
	}
}

// A profile sets which tools are listed. Old names and unlisted tools can still be called,
// within the caller's rights.
func TestUnlistedToolsAnswer(t *testing.T) {
	k := newKit(t)
	k.operator("", "The vault opens with a brass lever.")
	cs := k.inMemory(everybody, nil)
	if _, text := call(t, cs, "knowledge_recall", map[string]any{"question": "how does the vault open?"}); !strings.Contains(text, "brass lever") {
		t.Errorf("knowledge_recall: %s", text)
	}
	if _, text := call(t, cs, "memory_ingest", map[string]any{"text": "The lamp is green."}); !strings.HasPrefix(text, "Learned") {
		t.Errorf("memory_ingest: %s", text)
	}
	reader := k.inMemory(tools.Caller{Rights: []tools.Right{tools.Read}}, nil)
	if _, text := call(t, reader, "memory_stats", nil); !strings.HasPrefix(text, "2 claims") {
		t.Errorf("memory_stats: %s", text)
	}
	_, err := reader.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_ingest", Arguments: map[string]any{"text": "x"}})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
}

// The query of the URL sets which tools the client gets.
func TestAddressChoosesTools(t *testing.T) {
	k := newKit(t)
	k.operator("a", "The vault opens with a brass lever.")
	srv := k.listen(mcpserver.Options{})
	at := func(query string) *mcp.ClientSession {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		return connect(t, &mcp.StreamableClientTransport{Endpoint: srv.URL + query, HTTPClient: &http.Client{Transport: keyed{"a", tr}}}, nil)
	}
	for query, want := range map[string]int{"": 5, "?tools=core": 5, "?tools=code": 3, "?tools=core,code": 8, "?tools=memory_stats": 1, "?tools=all&structured=true": 29} {
		cs := at(query)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != want {
			t.Errorf("%s lists %d tools, %v", query, len(list.Tools), err)
			continue
		}
		structured := strings.Contains(query, "structured")
		if (list.Tools[0].OutputSchema != nil) != structured {
			t.Errorf("%s: output schema %v", query, list.Tools[0].OutputSchema)
		}
		res, text := call(t, cs, "knowledge_recall", map[string]any{"question": "how does the vault open?"})
		if !strings.Contains(text, "brass lever") || (res.StructuredContent != nil) != structured {
			t.Errorf("%s: %s", query, text)
		}
	}
	line, _, _ := strings.Cut(hello, "\n")
	for query, want := range map[string]string{"?tools=cor": "did you mean core?", "?tools=": "no profile", "?structured=maybe": "neither true nor false"} {
		if status, text := post(t, srv.URL+query, "a", "", line); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
}
