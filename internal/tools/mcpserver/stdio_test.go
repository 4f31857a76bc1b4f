package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/tools/mcpserver"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// serve sends a client's lines and returns the server's answers by id.
func (k *kit) serve(lines string) (byID map[string]gjson.Result, out string) {
	k.Helper()
	var b bytes.Buffer
	if err := mcpserver.Serve(context.Background(), k.registry, everybody, strings.NewReader(lines), &b, mcpserver.Options{}); err != nil {
		k.Fatalf("serve: %v", err)
	}
	byID = map[string]gjson.Result{}
	sc := bufio.NewScanner(&b)
	sc.Buffer(nil, 8<<20)
	for sc.Scan() {
		if !json.Valid(sc.Bytes()) {
			k.Fatalf("not the protocol: %q", sc.Text())
		}
		v := gjson.Parse(sc.Text())
		byID[v.Get("id").Raw] = v
		out += sc.Text() + "\n"
	}
	return byID, out
}

// Requests before the end of the input are answered.
func TestServeAnswersBeforeItEnds(t *testing.T) {
	k := newKit(t)
	k.operator("", "The vault opens with a brass lever.")
	got, out := k.serve(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"memory_recall","arguments":{"query":"how does the vault open?"}}}
{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	if got["1"].Get("result.serverInfo.name").String() != "ken" || got["2"].Get("result.tools.#").Int() != 5 ||
		!strings.Contains(got[`"three"`].Get("result.content.0.text").String(), "brass lever") || !got["4"].Get("result").Exists() {
		t.Errorf("got %s", out)
	}
}

// No cache may give an owner's resources, or the lists of a caller with more rights, to others.
func TestNothingIsCachedForOthers(t *testing.T) {
	k := newKit(t)
	got, out := k.serve(hello + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"resources/list"}
{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"ken://memory"}}
{"jsonrpc":"2.0","id":5,"method":"prompts/list"}
{"jsonrpc":"2.0","id":6,"method":"resources/templates/list"}`)
	for _, id := range []string{"2", "3", "4", "5", "6"} {
		if got[id].Get("result.cacheScope").Str != "private" {
			t.Errorf("%s: %s", id, out)
		}
	}
}

// One bad line does not end the session.
func TestBadLines(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct {
		name, line string
		code       int64
	}{
		{"not JSON", `{"jsonrpc":`, -32700},
		{"garbage", "\x00\xff hello", -32700},
		{"a number", `42`, -32600},
		{"a string", `"x"`, -32600},
		{"no message", `{"foo":1}`, -32600},
		{"another protocol", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, -32600},
		{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, -32600},
		{"an empty batch", `[]`, -32600},
		{"too long", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`, -32600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k.TB = t
			got, out := k.serve(hello + tt.line + "\n\n" + `{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\r\n")
			if got["null"].Get("error.code").Int() != tt.code || !got["9"].Get("result").Exists() {
				t.Errorf("got %s", out)
			}
		})
	}
}

// An unknown URI with characters that must be quoted does not end the session.
func TestOddURIs(t *testing.T) {
	for _, uri := range []string{`\u0000`, `\u0007://x`, `ken://claim/\u0000`, `ken://claim/\ud800`, `ken://claim/%zz`, `\u2028`, `\ue000`} {
		t.Run(uri, func(t *testing.T) {
			got, out := newKit(t).serve(hello + `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"` + uri + `"}}
{"jsonrpc":"2.0","id":3,"method":"ping"}
`)
			if !got["2"].Get("error").Exists() || !got["3"].Get("result").Exists() {
				t.Errorf("got %s", out)
			}
		})
	}
}

func TestUnknownMethodAndBadParams(t *testing.T) {
	k := newKit(t)
	got, out := k.serve(hello + `{"jsonrpc":"2.0","id":2,"method":"no/such"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"memory_recall","arguments":"query"}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"memory_stats"}}
{"jsonrpc":"2.0","id":6,"method":"tools/call"}
{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{}}
`)
	if got["2"].Get("error.code").Int() != -32601 || !got["3"].Get("error").Exists() || !got["4"].Get("result.isError").Bool() ||
		!strings.HasPrefix(got["5"].Get("result.content.0.text").String(), "0 claims") || !got["6"].Get("error").Exists() || !got["7"].Get("error").Exists() {
		t.Errorf("got %s", out)
	}
}

// Serve ends with its context, even if the input is still open.
func TestServeEndsWithItsContext(t *testing.T) {
	k := newKit(t)
	pr, pw := io.Pipe()
	defer pw.Close()
	ctx, cancel := context.WithCancel(context.Background())
	out, answered := io.Pipe()
	go func() {
		_, _ = io.WriteString(pw, hello)
		_, _ = bufio.NewReader(out).ReadString('\n')
		cancel()
		_ = pw.Close() // so that this test leaves no reader behind
		_, _ = io.Copy(io.Discard, out)
	}()
	if err := mcpserver.Serve(ctx, k.registry, everybody, pr, answered, mcpserver.Options{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = answered.Close()
	_ = pr.Close()
}

// An error of writing to a disconnected client also ends Serve.
func TestServeWithoutAReader(t *testing.T) {
	k := newKit(t)
	pr, pw := io.Pipe()
	_ = pr.Close()
	err := mcpserver.Serve(context.Background(), k.registry, everybody, strings.NewReader(hello), pw, mcpserver.Options{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// FuzzServe sends arbitrary lines. The server must answer in its protocol or not at all,
// and end with its input.
func FuzzServe(f *testing.F) {
	for _, s := range []string{`{}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_recall","arguments":{"query":"x"}}}`, `[`, "\n\n", `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"ken://claim/%00"}}`, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"\u0000"}}`, `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"recall","arguments":{"question":"x"}}}`} {
		f.Add([]byte(s))
	}
	k := newKit(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		var b bytes.Buffer
		in := append([]byte(hello), line...)
		if err := mcpserver.Serve(context.Background(), k.registry, everybody, bytes.NewReader(in), &b, mcpserver.Options{}); err != nil {
			t.Fatalf("%q ends the server: %v", line, err)
		}
		for out := range bytes.Lines(b.Bytes()) {
			if !json.Valid(out) {
				t.Fatalf("%q is answered with %q", line, out)
			}
		}
	})
}
