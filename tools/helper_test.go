package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kit is a registry on a layer in an empty project.
type kit struct {
	testing.TB
	layer    *middleware.Layer
	registry *tools.Registry
	caller   tools.Caller
}

func newKit(t testing.TB, change ...func(*config.Config)) *kit {
	t.Helper()
	c := config.Default()
	c.Retrieval.Deadline = 30 * time.Second // a busy machine must not change what is found
	c.Repository.Index = false
	c.Middleware.Events = false
	c.Knowledge.Nearest = 0
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
	quiet := func(o *tools.Options) { o.Log = slog.New(slog.NewTextHandler(t.Output(), nil)) }
	return &kit{t, l, tools.New(l, quiet), tools.Caller{Session: "s1", Agent: "tester", Project: "payments", Rights: tools.Rights(),
		Offer: []string{"all", "memory_ingest", "knowledge_recall"}}}
}

// as returns the kit with another caller.
func (k *kit) as(change func(*tools.Caller)) *kit {
	other := *k
	change(&other.caller)
	return &other
}

// call calls a tool that must succeed, and decodes its answer into out.
func (k *kit) call(out any, name, args string) tools.Result {
	k.Helper()
	res, err := k.registry.Call(context.Background(), k.caller, name, json.RawMessage(args))
	if err != nil {
		k.Fatalf("%s %s: %s", name, args, tools.Explain(err))
	}
	if out != nil {
		if err := json.Unmarshal(res.JSON, out); err != nil {
			k.Fatalf("%s: decode %s: %v", name, res.JSON, err)
		}
	}
	return res
}

// fails calls a tool that must fail with a code, and returns what the model is told.
func (k *kit) fails(code ken.Code, name, args string) string {
	k.Helper()
	res, err := k.registry.Call(context.Background(), k.caller, name, json.RawMessage(args))
	if err == nil {
		k.Fatalf("%s %s succeeded: %s", name, args, res.Text)
	}
	var e *ken.Error
	if !errors.As(err, &e) || e.Code != code {
		k.Fatalf("%s %s: %v, want code %s", name, args, err, code)
	}
	return tools.Explain(err)
}

// store runs fn on the caller's store.
func (k *kit) store(fn func(s store.Engine)) {
	k.Helper()
	s, release, err := k.layer.Store(context.Background(), k.caller.Owner)
	if err != nil {
		k.Fatal(err)
	}
	defer release()
	fn(s)
}

// operator writes a claim as a person does, and returns its id.
func (k *kit) operator(text string, change ...func(*ken.Claim)) (id string) {
	k.Helper()
	c, err := ken.NewClaim(text, ken.FromHumanAssertion("ada", time.Now(), "checked"))
	if err != nil {
		k.Fatal(err)
	}
	for _, f := range change {
		f(&c)
	}
	k.store(func(s store.Engine) {
		if id, err = s.WriteClaim(context.Background(), c); err != nil {
			k.Fatal(err)
		}
	})
	return id
}

// claim reads a claim.
func (k *kit) claim(id string) (c ken.Claim) {
	k.Helper()
	k.store(func(s store.Engine) {
		var err error
		if c, err = s.Get(context.Background(), id); err != nil {
			k.Fatalf("claim %s: %v", id, err)
		}
	})
	return c
}

// count is how many claims there are, whatever their status.
func (k *kit) count() (n int) {
	k.Helper()
	k.store(func(s store.Engine) {
		for _, err := range s.Claims(context.Background()) {
			if err != nil {
				k.Fatal(err)
			}
			n++
		}
	})
	return n
}

// says has the layer prepare a turn of the caller's session and journal it, with what
// it was told.
func (k *kit) says(msgs ...ken.Message) ken.Receipt {
	k.Helper()
	return k.layer.Assemble(context.Background(), ken.Turn{Owner: k.caller.Owner, Session: k.caller.Session, Messages: msgs}).Receipt
}

func user(text string) ken.Message { return ken.Message{Role: "user", Text: text} }

// ran are the messages of a command that an agent ran.
func ran(id, command, output string) []ken.Message {
	args, _ := json.Marshal(map[string]string{"command": command})
	return []ken.Message{
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: "bash", Arguments: string(args)}}},
		{Role: "tool", ToolCallID: id, Text: output},
	}
}

// fill writes many claims at once.
func (k *kit) fill(claims []ken.Claim) {
	k.Helper()
	in := make([]store.Incoming, len(claims))
	for i := range claims {
		in[i].Claim = claims[i]
	}
	k.store(func(s store.Engine) {
		for _, o := range s.Import(context.Background(), in) {
			if o.Err != nil {
				k.Fatal(o.Err)
			}
		}
	})
}
