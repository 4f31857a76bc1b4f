package gateway_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/race"
)

// A stream that is cut at any byte gives the client exactly the bytes up to there,
// and an answer that broke off: never one that ended well.
func TestStreamCutAtEveryByte(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	for path, name := range map[string]string{chatPath: "chat_error_stream", responsesPath: "responses_error_stream", messagesPath: "messages_error_stream"} {
		t.Run(name, func(t *testing.T) {
			a := upstreamtest.Recording(name)
			body := string(a.Body())
			m := message{target: path, body: `{"stream":true,"messages":[` + asks + `],"input":[` + asks + `]}`, header: map[string]string{"X-Ken-Incognito": "1"}}
			for n := range len(body) + 1 {
				if n%race.Pick(1, 5) != 0 && n < len(body) && body[max(n-1, 0)] != '\n' {
					continue // with the race detector, at line ends and at every fifth byte
				}
				up.Next(upstreamtest.CutAt(a, n))
				if got := send(t, r.client, r.url, m); got.Body != body[:n] || got.Err != "broke off" || got.Status != 200 {
					t.Fatalf("cut at %d: status %d, %d bytes, %q", n, got.Status, len(got.Body), got.Err)
				}
			}
			up.Next(a)
			if got := send(t, r.client, r.url, m); got.Body != body || got.Err != "" {
				t.Fatalf("whole: %d bytes, %q", len(got.Body), got.Err)
			}
		})
	}
}

// The same for an answer of known length and for one that is compressed, at some
// bytes.
func TestAnswerCut(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	for name, a := range map[string]upstreamtest.Answer{
		"length": upstreamtest.Recording("chat"), "gzip": upstreamtest.Gzipped(upstreamtest.Recording("chat_stream")),
	} {
		body := string(a.Body())
		for n := 0; n < len(body); n += 37 {
			up.Next(upstreamtest.CutAt(a, n))
			got := send(t, r.client, r.url, message{target: chatPath, body: chatStream})
			if got.Body != body[:n] || got.Err != "broke off" {
				t.Fatalf("%s, cut at %d: %d bytes, %q", name, n, len(got.Body), got.Err)
			}
		}
	}
}
