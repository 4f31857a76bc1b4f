package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// answeringModel reads one answer from a connection.
func answered(t *testing.T, conn net.Conn) (status int, body string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, whole(t, resp)
}

func whole(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// counted waits until so many requests are counted: that happens when the client has its
// answer already.
func counted(t *testing.T, u *usage.Store, n int64) []usage.Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		rows, err := u.Rows(1)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, r := range rows {
			sum += r.Requests
		}
		if sum >= n {
			return rows
		}
		if ctx.Err() != nil {
			t.Fatalf("%d of %d were counted", sum, n)
		}
		runtime.Gosched()
	}
}

// What an answer says of its tokens is counted, whatever becomes of the rest of it: with
// knowledge or without, streamed or whole, compressed or not. No byte of it is changed.
func TestUsageIsRead(t *testing.T) {
	prices := []config.GatewayPrice{{Model: "gpt-*", Input: 1, CachedInput: .5, Output: 10}, {Model: "claude*", Input: 3, Output: 15}}
	for _, tt := range []struct {
		name, path, recording string
		gzip                  bool
		header                []string
		usage                 string // where the recording says so
	}{
		{name: "chat", path: "/v1/chat/completions", recording: "chat", usage: "usage"},
		{name: "chat, stream", path: "/v1/chat/completions", recording: "chat_stream"},
		{name: "without knowledge", path: "/v1/chat/completions", recording: "chat", header: []string{"X-Ken", "off"}, usage: "usage"},
		{name: "packed", path: "/v1/chat/completions", recording: "chat", gzip: true, usage: "usage"},
		{name: "responses, stream", path: "/v1/responses", recording: "responses_stream"},
		{name: "messages", path: "/v1/messages", recording: "messages", usage: "usage"},
		{name: "messages, stream", path: "/v1/messages", recording: "messages_stream"},
		{name: "completions", path: "/v1/completions", recording: "chat", usage: "usage"},
		{name: "another spelling", path: "/v1/%63hat//completions", recording: "chat", usage: "usage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := upstreamtest.New(t)
			u, err := usage.Open("", usage.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := upstreamtest.Recording(tt.recording)
			if tt.gzip {
				a = upstreamtest.Gzipped(a)
			}
			up.Next(a)
			k, key := keyFor("ci", "carl")
			g := start(t, layer(t, nil), up.URL, withKeys(k), configured(func(c *config.Gateway) { c.Prices = prices }), func(o *gateway.Options) { o.Operator().Usage = u })
			got := post(t, g.URL+tt.path, chat(question), append([]string{"X-Ken-Key", key, "Accept-Encoding", "gzip"}, tt.header...)...)
			if got.body != string(a.Body()) {
				t.Errorf("%d bytes came of %d", len(got.body), len(a.Body()))
			}
			rows := counted(t, u, 1)
			r := rows[0]
			if len(rows) != 1 || r.Key != "ci" || r.Owner != "carl" || r.Model == "" || r.Input == 0 || r.Output == 0 || r.Unmetered != 0 || r.Estimated != 0 {
				t.Errorf("%+v", rows)
			}
			if r.Cost <= 0 || r.Unpriced != 0 {
				t.Errorf("cost %v of %s", r.Cost, r.Model)
			}
			if tt.usage != "" && !tt.gzip {
				said := gjson.Get(got.body, tt.usage)
				if in := said.Get("prompt_tokens").Int() + said.Get("input_tokens").Int(); in > 0 && in > r.Input {
					t.Errorf("%d, want %d", r.Input, in)
				}
			}
		})
	}
}

// Where a stream does not say what it took, a budget counts an estimate, and usage says
// that it is one.
func TestUsageIsEstimatedForBudgetsAlone(t *testing.T) {
	up := upstreamtest.New(t)
	u, err := usage.Open("", usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stream := "data: {\"id\":\"1\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n"
	up.Next(upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "text/event-stream"}}, Pieces: [][]byte{[]byte(strings.Repeat(stream, 30))}})
	k, key := keyFor("ci", "")
	k.TokensPerDay = 40
	g := start(t, layer(t, nil), up.URL, withKeys(k), configured(func(c *config.Gateway) { c.Prices = []config.GatewayPrice{{Model: "*", Input: 1, Output: 1}} }),
		func(o *gateway.Options) { o.Operator().Usage = u })
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != http.StatusOK {
		t.Fatal(got.StatusCode)
	}
	r := counted(t, u, 1)[0]
	if r.Model != "gpt-5" || r.Input != 0 || r.Output != 0 || r.Cost != 0 || r.Unmetered != 1 || r.Estimated < 30+20 || r.Estimated > 300 {
		t.Errorf("%+v", r)
	}
	if got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Key", key); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d", got.StatusCode)
	}
}

// A client that leaves before the end of Anthropic's stream, which has the count of the output, has used what came.
func TestUsageOfStreamThatBreaksOff(t *testing.T) {
	up := upstreamtest.New(t)
	u, err := usage.Open("", usage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := upstreamtest.Recording("messages_stream")
	up.Next(upstreamtest.CutAt(a, strings.Index(string(a.Body()), "event: message_delta")))
	g := start(t, layer(t, nil), up.URL, func(o *gateway.Options) { o.Operator().Usage = u })
	req := request(t, http.MethodPost, g.URL+"/v1/messages", chat(question))
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body) // it breaks off
		_ = resp.Body.Close()
	}
	r := counted(t, u, 1)[0]
	if deltas := int64(strings.Count(string(a.Body()), "event: content_block_delta")); r.Input == 0 || r.Unmetered != 1 || r.Estimated < deltas {
		t.Errorf("%+v, of %d pieces", r, deltas)
	}
}

// Embeddings are counted from the end of their answer, and what fails has no model.
func TestUsageOfEmbeddingsAndFailures(t *testing.T) {
	up := upstreamtest.New(t)
	u, err := usage.Open("", usage.Options{Now: func() time.Time { return time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, layer(t, nil), up.URL, func(o *gateway.Options) { o.Operator().Usage = u })
	vectors := `{"object":"list","data":[{"embedding":[` + strings.Repeat("0.25,", 20_000) + `1]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`
	up.Next(upstreamtest.Answer{Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(vectors[:50_000]), []byte(vectors[50_000:])}})
	post(t, g.URL+"/v1/embeddings", `{"model":"text-embedding-3-small","input":"a"}`)
	up.Next(upstreamtest.Recording("error_429"))
	post(t, g.URL+"/v1/chat/completions", chat(question))
	rows := counted(t, u, 2)
	if len(rows) != 2 || rows[0].Model != "" || rows[0].Input != 0 || rows[1].Model != "text-embedding-3-small" || rows[1].Input != 8 || rows[1].Unpriced != 1 || rows[1].Unmetered != 0 {
		t.Errorf("%+v", rows)
	}
}
