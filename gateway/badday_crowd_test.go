package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

// 500 streams are open at once, each gets its own answer and its own knowledge, and
// none waits for another.
func TestFiveHundredStreamsAtOnce(t *testing.T) {
	const streams = 500
	up := upstreamtest.New(t)
	r := newRig(t, up, func(c *config.Config, _ *gateway.Options) { c.Retrieval.AtOnce = streams })
	for i := range 10 {
		knows(t, r.layer, "", fmt.Sprintf("The port of the service named quokka%d is %d.", i, 7000+i))
	}
	release := make(chan struct{})
	up.Handle(func(req *upstreamtest.Request) upstreamtest.Answer {
		asked := gjson.GetBytes(req.Body, "messages.@reverse.0.content").Str
		events := [][]byte{[]byte(fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", asked)), []byte("data: [DONE]\n\n")}
		return upstreamtest.Answer{Header: []upstreamtest.Field{field("Content-Type", "text/event-stream")}, Framing: upstreamtest.Chunked, Pieces: events, Pace: release}
	})
	var clients, open sync.WaitGroup
	open.Add(streams)
	for i := range streams {
		clients.Go(func() {
			question := fmt.Sprintf("What is the port of quokka%d, asked %d?", i%10, i)
			m := message{target: chatPath, body: fmt.Sprintf(`{"stream":true,"messages":[{"role":"user","content":%q}]}`, question),
				header: map[string]string{"X-Ken-Session": fmt.Sprint("session ", i%10)}}
			resp, err := r.client.Do(m.request(t, t.Context(), r.url))
			open.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if want := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", question); err != nil || string(got) != want {
				t.Errorf("stream %d: %q, %v", i, got, err)
			}
		})
	}
	open.Wait() // every head is here, and no event
	close(release)
	clients.Wait()
	requests := up.Requests()
	if len(requests) != streams {
		t.Fatalf("%d requests arrived", len(requests))
	}
	for _, req := range requests {
		block, question := gjson.GetBytes(req.Body, "messages.0.content").Str, gjson.GetBytes(req.Body, "messages.1.content").Str
		var n, i int
		if _, err := fmt.Sscanf(question, "What is the port of quokka%d, asked %d?", &n, &i); err != nil {
			t.Fatalf("%q: %v", req.Body, err)
		}
		if !strings.HasPrefix(block, rigMarker) || !strings.Contains(block, fmt.Sprint(7000+n)) {
			t.Errorf("stream %d got %q", i, block)
		}
	}
}

// Two clients use one session at once. Each keeps its own conversation, whose
// requests each begin with the one before.
func TestTwoClientsWithTheSameSession(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	knows(t, r.layer, "", "The invoices service listens on port 6432.")
	questions := []string{rigQuestion, "Which port does the invoices service listen on?"}
	var clients sync.WaitGroup
	for i, q := range questions {
		clients.Go(func() {
			messages := fmt.Sprintf(`{"role":"user","content":%q}`, q)
			for range 20 {
				got := send(t, r.client, r.url, message{target: chatPath, body: `{"messages":[` + messages + `],"user":"` + fmt.Sprint(i) + `"}`,
					header: map[string]string{"X-Ken-Session": "shared"}})
				if got.Status != http.StatusOK || got.Body != string(upstreamtest.Recording("chat").Body()) {
					t.Errorf("client %d: %d %s", i, got.Status, got.Body)
				}
				messages += `,{"role":"assistant","content":"ok"},{"role":"user","content":"thanks!"}`
			}
		})
	}
	clients.Wait()
	before := map[string][]byte{}
	for _, req := range up.Requests() {
		user := gjson.GetBytes(req.Body, "user").Str
		said, _, _ := bytes.Cut(req.Body, []byte(`],"user"`))
		if prefix := before[user]; !bytes.HasPrefix(said, prefix) {
			t.Errorf("client %s: %s\ndoes not begin with\n%s", user, said, prefix)
		}
		before[user] = said
		if n := bytes.Count(req.Body, []byte(rigMarker)); n != 1 {
			t.Errorf("client %s: %d blocks", user, n)
		}
	}
	if len(before) != 2 || !strings.Contains(string(before["1"]), "6432") {
		t.Errorf("got %.500q", before)
	}
}
