package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a layer with tools.
type kit struct {
	testing.TB
	layer    *middleware.Layer
	registry *tools.Registry
}

func newKit(t testing.TB, change ...func(*config.Config)) *kit {
	t.Helper()
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Repository.Index = false
	for _, f := range change {
		f(&c)
	}
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &c, Foreground: true, Strict: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	return &kit{t, l, tools.New(l)}
}

var everybody = tools.Caller{Rights: tools.Rights()}

// operator writes a claim as a person and returns its id.
func (k *kit) operator(owner, text string) (id string) {
	k.Helper()
	c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Now(), "checked"))
	if err != nil {
		k.Fatal(err)
	}
	k.store(owner, func(s store.Engine) {
		if id, err = s.WriteClaim(context.Background(), c); err != nil {
			k.Fatal(err)
		}
	})
	return id
}

func (k *kit) store(owner string, fn func(store.Engine)) {
	k.Helper()
	s, release, err := k.layer.Store(context.Background(), owner)
	if err != nil {
		k.Fatal(err)
	}
	defer release()
	fn(s)
}

// connect connects a client of the SDK over a transport.
func connect(t testing.TB, tr mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "inspector", Version: "1"}, o).Connect(context.Background(), tr, &mcp.ClientSessionOptions{ProtocolVersion: protocolOf(o)})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() {
		if err := cs.Close(); err != nil {
			t.Logf("close client: %v", err)
		}
	})
	return cs
}

// inMemory serves a caller to a client in this process.
func (k *kit) inMemory(c tools.Caller, o *mcp.ClientOptions, change ...func(*mcpserver.Options)) *mcp.ClientSession {
	k.Helper()
	var so mcpserver.Options
	for _, f := range change {
		f(&so)
	}
	here, there := mcp.NewInMemoryTransports()
	ss, err := mcpserver.NewServer(k.registry, c, so).Connect(context.Background(), here, nil)
	if err != nil {
		k.Fatal(err)
	}
	cs := connect(k, there, o)
	k.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return cs
}

// call calls a tool and returns its result and text.
func call(t testing.TB, cs *mcp.ClientSession, name string, args any) (*mcp.CallToolResult, string) {
	t.Helper()
	res, err := cs.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(res.Content) != 1 {
		t.Fatalf("%s: %d pieces of content", name, len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: content %T", name, res.Content[0])
	}
	return res, text.Text
}

// structuredToo switches structured answers on.
func structuredToo(o *mcpserver.Options) { o.Structured = true }

// structured decodes the structured content of an answer.
func structured(t testing.TB, res *mcp.CallToolResult, out any) {
	t.Helper()
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		t.Fatal(err)
	}
}
