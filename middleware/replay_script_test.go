package middleware_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
)

// script is testdata/replay.txt: what is known, and the requests that a client
// sends in the course of the conversation, each as its raw messages.
type script struct {
	knows    []string
	requests [][]string
	turns    []int // where each turn's first request is, in requests
}

const systemPrompt = `You are the coding agent of the payments team. Work in small steps: read before you edit, run the tests of ` +
	`every package that you touched, and say in one or two sentences what you found. Never print secrets, and never change ` +
	`production data without being asked. Amounts are integers. Answer in the language of the question.`

func loadScript(t testing.TB) script {
	t.Helper()
	f, err := os.Open("testdata/replay.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s script
	msgs := []string{object("role", "system", "content", strings.Repeat(systemPrompt+"\n", 6))}
	request := func() { s.requests = append(s.requests, msgs[:len(msgs):len(msgs)]) }
	call := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		text = strings.TrimSpace(text)
		switch kind {
		case "know":
			s.knows = append(s.knows, text)
		case "user":
			msgs = append(msgs, object("role", "user", "content", text))
			s.turns = append(s.turns, len(s.requests))
			request()
		case "call":
			name, args, _ := strings.Cut(text, " ")
			call = fmt.Sprintf("call_%d", len(msgs))
			msgs = append(msgs, `{"role":"assistant","content":null,"tool_calls":[{"id":"`+call+`","type":"function","function":`+
				object("name", name, "arguments", args)+`}]}`)
		case "result":
			msgs = append(msgs, object("role", "tool", "tool_call_id", call, "content", listing(text)))
			request()
		case "assistant":
			msgs = append(msgs, object("role", "assistant", "content", text))
		}
	}
	if len(s.turns) != 30 || len(s.requests) < 50 {
		t.Fatalf("the script has %d turns and %d requests", len(s.turns), len(s.requests))
	}
	return s
}

// listing is a tool's output: "HEAD LINES" becomes the head and that many lines.
func listing(text string) string {
	head, lines := text, 0
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		head = text[:i]
		fmt.Sscan(text[i:], &lines)
	}
	var b strings.Builder
	b.WriteString(head)
	for i := range lines {
		fmt.Fprintf(&b, "\n%4d\tif err := step%d(ctx, %q); err != nil { return err }", i+1, i*7%13, head)
	}
	return b.String()
}

// object is a JSON object in the order given.
func object(kv ...string) string {
	var b strings.Builder
	for i := 0; i < len(kv); i += 2 {
		k, _ := json.Marshal(kv[i])
		v, _ := json.Marshal(kv[i+1])
		fmt.Fprintf(&b, `,%s:%s`, k, v)
	}
	return "{" + b.String()[1:] + "}"
}

// chatBody is a request whose other fields no struct would keep.
func chatBody(msgs []string) string {
	return `{"model":"gpt-4o","temperature":0,"stop":"END","messages":[` + strings.Join(msgs, ",") + `],"seed":12345678901234567890}`
}

// through sends requests through a layer's transport, as one client does in a
// session, and returns the raw messages that reached the server.
func through(t testing.TB, l *middleware.Layer, session string, requests [][]string) [][]string {
	t.Helper()
	var sent [][]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, rawMessages(body))
	}))
	defer server.Close()
	client := &http.Client{Transport: l.Transport(server.Client().Transport, ken.Turn{Session: session})}
	for _, msgs := range requests {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/v1/chat/completions", strings.NewReader(chatBody(msgs)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	return sent
}

func rawMessages(body []byte) (msgs []string) {
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		msgs = append(msgs, m.Raw)
	}
	return msgs
}
