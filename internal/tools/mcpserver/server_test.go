package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

func TestInitialize(t *testing.T) {
	k := newKit(t)
	init := k.inMemory(everybody, nil).InitializeResult()
	if init.ServerInfo.Name != "ken" || init.Capabilities.Tools == nil || init.Capabilities.Resources == nil || !init.Capabilities.Resources.Subscribe ||
		init.Capabilities.Prompts == nil || !strings.Contains(init.Instructions, "memory_recall") {
		t.Errorf("got %+v", init)
	}
	reader := k.inMemory(tools.Caller{Rights: []tools.Right{tools.Read}}, nil).InitializeResult()
	if strings.Contains(reader.Instructions, "knowledge_learn") {
		t.Errorf("a reader is told to write: %s", reader.Instructions)
	}
}

// Clients decide by the annotations of a tool whether to ask a person before a call.
func TestToolsAndAnnotations(t *testing.T) {
	k := newKit(t)
	all := everybody
	all.Offer = []string{"all"}
	list, err := k.inMemory(all, nil, structuredToo).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != len(k.registry.Tools(all)) {
		t.Errorf("%d tools", len(list.Tools))
	}
	for _, x := range list.Tools {
		own, err := k.registry.Lookup(x.Name)
		if err != nil {
			t.Fatal(err)
		}
		a := x.Annotations
		if a == nil || a.ReadOnlyHint != (own.Effect == tools.Reads) || a.DestructiveHint == nil || *a.DestructiveHint || *a.OpenWorldHint || !a.IdempotentHint {
			t.Errorf("%s: %+v", x.Name, a)
		}
		if x.InputSchema == nil || x.OutputSchema == nil || x.Title == "" {
			t.Errorf("%s: %+v", x.Name, x)
		}
	}
	list, err = k.inMemory(tools.Caller{Rights: []tools.Right{tools.Read}}, nil).ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Tools {
		if !x.Annotations.ReadOnlyHint {
			t.Errorf("a reader is offered %s", x.Name)
		}
	}
}

func TestCalls(t *testing.T) {
	k := newKit(t)
	cs := k.inMemory(everybody, nil, structuredToo)
	res, text := call(t, cs, "memory_ingest", map[string]any{"text": "The user deploys on Tuesdays."})
	var learned struct{ ID, Outcome string }
	structured(t, res, &learned)
	if res.IsError || learned.Outcome != "learned" || !strings.HasPrefix(text, "Learned as a new claim.") {
		t.Errorf("%+v, %q", learned, text)
	}
	k.store("", func(s store.Engine) {
		c, err := s.Get(context.Background(), learned.ID)
		if err != nil || c.Actor.ID != "inspector" || !strings.HasPrefix(c.Session, "mcp-") {
			t.Errorf("claim %+v, %v", c, err)
		}
		if _, err := k.layer.Operator().Journal("").Info(context.Background(), c.Session); !errors.Is(err, ken.ErrNotFound) {
			t.Errorf("calls of tools began a journal: %v", err)
		}
	})
	res, text = call(t, cs, "memory_recall", map[string]any{"query": "when does the user deploy?"})
	var found struct{ Claims []any }
	structured(t, res, &found)
	if len(found.Claims) != 1 || !strings.Contains(text, "deploys on Tuesdays") {
		t.Errorf("%+v, %q", found, text)
	}
	// The model reads what is wrong with a call.
	res, text = call(t, cs, "memory_recall", map[string]any{"qery": "x"})
	if !res.IsError || res.StructuredContent != nil || !strings.Contains(text, "did you mean query?") || !strings.Contains(text, "Try: ") {
		t.Errorf("%v, %q", res.IsError, text)
	}
	// An unknown tool is a protocol error.
	_, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "no_such_tool"})
	if wantCode(t, err, jsonrpc.CodeInvalidParams); !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("got %v", err)
	}
}

func wantCode(t *testing.T, err error, code int64) {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want code %d", err, code)
	}
}

func TestResources(t *testing.T) {
	k := newKit(t)
	id := k.operator("", "The vault opens with a brass lever.")
	updated := make(chan string, 10)
	cs := k.inMemory(everybody, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI }})
	ctx := context.Background()
	list, err := cs.ListResources(ctx, nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != tools.MemoryURI {
		t.Fatalf("resources %+v, %v", list, err)
	}
	templates, err := cs.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		t.Fatalf("templates %+v, %v", templates, err)
	}
	uri := tools.ClaimURI + id
	got, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(got.Contents) != 1 || !strings.Contains(got.Contents[0].Text, "brass lever") || got.Contents[0].MIMEType != "application/json" {
		t.Errorf("claim %+v, %v", got, err)
	}
	for _, missing := range []string{tools.ClaimURI + "ffffffff", tools.TurnURI + "none", "ken://other", "file:///etc/passwd"} {
		_, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: missing})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
	}
	if err := cs.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	for told := false; !told; { // Subscribe may return before the server knows of it; what is disputed already does not change
		k.store("", func(s store.Engine) {
			if err := s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusVerified, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", time.Now(), "checked")}}); err != nil {
				t.Fatal(err)
			}
		})
		call(t, cs, "knowledge_dispute", map[string]any{"id": id, "reason": "it is steel"})
		select {
		case got := <-updated:
			if told = true; got != uri {
				t.Errorf("told of %s", got)
			}
		case <-time.After(time.Second):
		}
	}
	if err := cs.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri}); err != nil {
		t.Error(err)
	}
}

func TestPrompt(t *testing.T) {
	k := newKit(t)
	k.operator("", "The vault opens with a brass lever.")
	cs := k.inMemory(everybody, nil)
	ctx := context.Background()
	list, err := cs.ListPrompts(ctx, nil)
	if err != nil || len(list.Prompts) != 1 || list.Prompts[0].Name != tools.RecallPrompt || !list.Prompts[0].Arguments[0].Required {
		t.Fatalf("prompts %+v, %v", list, err)
	}
	got, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: tools.RecallPrompt, Arguments: map[string]string{"question": "How does the vault open?"}})
	if err != nil || len(got.Messages) != 1 || got.Messages[0].Role != "user" {
		t.Fatalf("%+v, %v", got, err)
	}
	if text := got.Messages[0].Content.(*mcp.TextContent).Text; !strings.Contains(text, "brass lever") || !strings.HasSuffix(text, "How does the vault open?") {
		t.Errorf("prompt %q", text)
	}
	_, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: tools.RecallPrompt})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
	_, err = cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "other"})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
}

type slowIn struct{}

type slowOut struct{}

func (slowOut) Write(p *tools.Page) { p.Line("done") }

// slow is a tool that reports progress and waits until it is cancelled.
func slow(started, ended chan<- struct{}) tools.Tool {
	return tools.Define(tools.Spec{Name: "wait_long", Title: "Wait", Description: "Wait.", Effect: tools.Reads, Right: tools.Read, Example: `{}`},
		func(ctx context.Context, _ *tools.Call, _ slowIn) (slowOut, error) {
			close(started)
			<-ctx.Done()
			close(ended)
			return slowOut{}, ctx.Err()
		})
}

// When a client cancels a call, the call ends.
func TestCancellation(t *testing.T) {
	k := newKit(t)
	started, ended := make(chan struct{}), make(chan struct{})
	k.registry.Add(slow(started, ended))
	cs := k.inMemory(everybody, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "wait_long"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
	call(t, cs, "memory_stats", nil) // the session goes on
}

func TestProgress(t *testing.T) {
	k := newKit(t)
	in := make([]store.Incoming, 2001)
	for i := range in {
		c, err := ken.NewClaim(fmt.Sprintf("Shelf %d holds gold.", i), ken.FromUserStatement("s", "m"))
		if err != nil {
			t.Fatal(err)
		}
		in[i].Claim = c
	}
	k.store("", func(s store.Engine) { s.Import(context.Background(), in) })
	told := make(chan float64, 10)
	cs := k.inMemory(everybody, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		told <- r.Params.Progress
	}})
	p := &mcp.CallToolParams{Name: "memory_stats"}
	p.SetProgressToken("t1")
	if _, err := cs.CallTool(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	got := []float64{<-told, <-told}
	if slices.Sort(got); got[0] != 1000 || got[1] != 2000 {
		t.Errorf("told %v", got)
	}
}

// A client reads no claim of another owner from the same registry.
func TestOwnersOverOneRegistry(t *testing.T) {
	k := newKit(t)
	id := k.operator("b", "Zebra launches its orbital shop in Nairobi.")
	a := k.inMemory(tools.Caller{Owner: "a", Rights: tools.Rights()}, nil)
	if _, text := call(t, a, "memory_recall", map[string]any{"query": "Zebra Nairobi"}); strings.Contains(text, "orbital") {
		t.Errorf("A reads %q", text)
	}
	if res, _ := call(t, a, "knowledge_history", map[string]any{"id": id}); !res.IsError {
		t.Error("A reads the history of B's claim")
	}
	_, err := a.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: tools.ClaimURI + id})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
}
