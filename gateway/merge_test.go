package gateway_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// llamaRefusal is what llama.cpp's server says to two user messages in a row.
const llamaRefusal = `{"error":{"code":500,"message":"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...","type":"server_error"}}`

// A server whose chat template insists on alternating roles refuses once, and no client
// notices.
func TestAlternatingRoles(t *testing.T) {
	up := upstreamtest.New(t)
	up.Handle(func(r *upstreamtest.Request) upstreamtest.Answer {
		if gjson.GetBytes(r.Body, "messages.#").Int() > 1 {
			return upstreamtest.Answer{Status: http.StatusInternalServerError, Header: []upstreamtest.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: [][]byte{[]byte(llamaRefusal)}}
		}
		return upstreamtest.Recorded(r)
	})
	g := start(t, layer(t, map[string]string{"": about}), up.URL+"/v1")
	body := strings.Replace(chat(question), "{", `{"stream":true,`, 1)
	want := upstreamtest.Recording("chat_stream")
	for i := range 3 {
		got := post(t, g.URL+"/v1/chat/completions", body)
		if got.StatusCode != http.StatusOK || got.body != string(want.Body()) || got.Header.Get("X-Ken-Turn") == "" {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
		last := up.Last(t)
		if n := len(up.Requests()); n != i+2 || len(bytes.TrimSpace(last.Body)) == 0 {
			t.Errorf("%d requests after %d calls", n, i+1)
		}
		injected(t, body, last.Body, "02:00 UTC")
		if !bytes.Contains(last.Body, []byte(`[/Pipeline Knowledge]\n\n`+question)) {
			t.Errorf("sent as %s", last.Body)
		}
	}
}
