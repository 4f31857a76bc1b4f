//lint:file-ignore SA1019 see sampling.go

package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
)

// talkAndHarvest journals a session with a decision, harvests it, and returns the outcome.
func (k *kit) talkAndHarvest(id string) session.Outcome {
	k.Helper()
	ctx := context.Background()
	k.layer.Assemble(ctx, ken.Turn{Session: id, Messages: []ken.Message{{Role: "user", Text: "We decided to keep the invoices of " + id + " in the bucket ledger-exports because the share is full."},
		{Role: "assistant", Text: "Noted."}, {Role: "user", Text: "Thanks!"}}})
	if err := k.layer.Operator().Recorded(ctx); err != nil {
		k.Fatal(err)
	}
	if err := k.layer.End(ctx, "", id); err != nil {
		k.Fatal(err)
	}
	if _, err := k.layer.Harvest(ctx, ""); err != nil {
		k.Fatal(err)
	}
	tr, err := k.layer.Operator().Journal("").Read(ctx, id)
	if err != nil || tr.Info.Outcome == nil {
		k.Fatalf("%+v, %v", tr.Info, err)
	}
	return *tr.Info.Outcome
}

// A client's model extracts facts while the client is connected and offers it. If it refuses,
// is disconnected, or offers none, the rules extract them.
func TestClientsModelHarvests(t *testing.T) {
	k := newKit(t, func(c *config.Config) { c.Harvest.Sampling = true })
	asked, refuse := 0, false
	offers := &mcp.ClientOptions{CreateMessageHandler: func(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		asked++
		if refuse {
			return nil, errors.New("the user said no")
		}
		text := req.Params.Messages[0].Content.(*mcp.TextContent).Text
		var out bytes.Buffer
		if modeltest.Program(strings.NewReader(req.Params.SystemPrompt+"\n\n"+text), &out) != 0 {
			return nil, errors.New("not a transcript")
		}
		return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: out.String()}, Model: "the client's", Role: "assistant"}, nil
	}}
	listens := func(o *mcpserver.Options) { o.OnSampler = k.layer.Operator().AddSampler }
	if out := k.talkAndHarvest("nobody"); out.Model != "" || !strings.Contains(out.Note, "no MCP client") {
		t.Errorf("without a client: %+v", out)
	}
	k.inMemory(everybody, nil, listens)
	if out := k.talkAndHarvest("plain"); out.Model != "" || !strings.Contains(out.Note, "no MCP client") {
		t.Errorf("a client that offers nothing: %+v", out)
	}
	cs := k.inMemory(everybody, offers, listens)
	if _, err := cs.ListTools(context.Background(), nil); err != nil { // it is initialized
		t.Fatal(err)
	}
	if out := k.talkAndHarvest("offered"); out.Model == "" || asked != 1 || len(out.Learned) == 0 {
		t.Errorf("asked %d times: %+v", asked, out)
	}
	refuse = true
	if out := k.talkAndHarvest("refused"); out.Model != "" || out.Note == "" || len(out.Learned)+len(out.Reinforced) == 0 || strings.Contains(out.Note, "bucket") {
		t.Errorf("%+v", out)
	}
}

// protocolOf returns the newest protocol version in which a server may ask for the client's
// model, if the client offers it, and otherwise "" for the newest version.
func protocolOf(o *mcp.ClientOptions) string {
	if o != nil && o.CreateMessageHandler != nil {
		return "2025-11-25"
	}
	return ""
}
