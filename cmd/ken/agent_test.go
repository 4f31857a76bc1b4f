package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
)

// agent plays an agent's sessions in the project, one a file, through the layer as
// a program that embeds it would. A file has one line a message: a role and its
// text, or "call TOOL ARGUMENTS" and "result TEXT" for a tool. With "open" the
// process is gone without a word after it, and with "ended" before the harvest.
func agent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || args[0] != "open" && args[0] != "ended" && args[0] != "harvested" {
		ts.Fatalf("usage: agent open|ended|harvested FILE…")
	}
	withLayer(ts, func(ctx context.Context, l *middleware.Layer) {
		s, release, err := l.Store(ctx, "")
		ts.Check(err)
		defer release()
		for _, file := range args[1:] {
			messages := played(ts, file)
			about := session.About{ID: "session-" + path.Base(file), Agent: "agent"}
			if args[0] == "harvested" {
				l.Assemble(ctx, ken.Turn{Session: about.ID, Agent: about.Agent, Messages: messages})
				ts.Check(l.End(ctx, "", about.ID))
				_, err := l.Harvest(ctx, "")
				ts.Check(err)
				continue
			}
			j := session.NewJournal(s.Shelf(), session.Options{Process: "an earlier one"})
			_, err := j.Append(ctx, about, messages)
			ts.Check(err)
			if args[0] == "ended" {
				_, err := j.End(ctx, about.ID, session.Closed)
				ts.Check(err)
			}
		}
	})
}

// played reads a session's messages.
func played(ts *testscript.TestScript, file string) (out []ken.Message) {
	calls := 0
	for line := range strings.Lines(ts.ReadFile(file)) {
		word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "":
		case "user", "assistant":
			out = append(out, ken.Message{Role: word, Text: text})
		case "call":
			calls++
			name, arguments, _ := strings.Cut(text, " ")
			out = append(out, ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: callID(calls), Name: name, Arguments: arguments}}})
		case "result":
			out = append(out, ken.Message{Role: "tool", ToolCallID: callID(calls), Text: strings.ReplaceAll(text, `\n`, "\n")})
		default:
			ts.Fatalf("%s: a line begins with %q", file, word)
		}
	}
	return out
}

func callID(n int) string { return "call-" + string(rune('a'+n)) }

// withLayer opens the project's layer in this process.
func withLayer(ts *testscript.TestScript, fn func(context.Context, *middleware.Layer)) {
	ctx := context.Background()
	o := middleware.Options{Root: ts.MkAbs("."), Foreground: true, Strict: true, Log: slog.New(slog.DiscardHandler)}
	if path, ok := config.Find(o.Root); ok {
		c, err := config.Load(path)
		ts.Check(err)
		o.Config = &c
	}
	l, err := middleware.Open(ctx, o)
	ts.Check(err)
	defer func() { ts.Check(l.Close()) }()
	fn(ctx, l)
}

// job adds a job, such as one that can't be done.
func job(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: job KIND KEY PAYLOAD")
	}
	withLayer(ts, func(ctx context.Context, l *middleware.Layer) {
		_, _, err := l.Operator().Jobs("").Add(ctx, jobs.New{Kind: args[0], Key: args[1], Payload: json.RawMessage(args[2])})
		ts.Check(err)
	})
}

// extractor starts a model that extracts, and configures the project to use it
// beside what is configured. "none" is an address where nothing listens.
func extractor(ts *testscript.TestScript, neg bool, args []string) {
	plays := map[string]modeltest.Play{"echo": modeltest.Echo(), "prose": modeltest.Prose()}
	if neg || len(args) != 1 || plays[args[0]] == nil && args[0] != "none" {
		ts.Fatalf("usage: extractor echo|prose|none")
	}
	s := modeltest.Start(plays[args[0]])
	ts.Defer(s.Stop)
	if args[0] == "none" {
		s.Stop()
	}
	file := ts.MkAbs(".ken/config.yaml")
	have, err := os.ReadFile(file)
	ts.Check(err)
	ts.Check(os.WriteFile(file, append(bytes.Replace(have, []byte(harvestOff), nil, 1), "harvest:\n  model: "+modeltest.Model+"\n  base_url: "+s.URL+"\n"...), 0o600))
	ts.Check(trustFolder(ts.MkAbs(".")))
}
