package gateway_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// What the layer of a rig knows, and a question that it bears on.
const (
	rigClaim    = "The payments service retries a failed transfer three times, ten seconds apart."
	rigQuestion = "How often does the payments service retry a failed transfer?"
	rigMarker   = "[Pipeline Knowledge]"
)

// rig is a gateway that listens, in front of a recorded provider, and a client that
// changes nothing by itself.
type rig struct {
	up     *upstreamtest.Server
	layer  *middleware.Layer
	url    string
	client *http.Client
}

// rigged changes what a rig is made of.
type rigged func(*config.Config, *gateway.Options)

// newRig starts a gateway before up. Its layer knows rigClaim.
func newRig(t testing.TB, up *upstreamtest.Server, change ...rigged) *rig {
	t.Helper()
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events = false, false
	cfg.Retrieval.Deadline = 30 * time.Second // what is found must not depend on the machine's load
	o := gateway.Options{Upstream: up.URL + "/v1", Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&cfg, &o)
	}
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("open layer: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close layer: %v", err)
		}
	})
	knows(t, l, "", rigClaim)
	g, err := gateway.New(l, o)
	if err != nil {
		t.Fatalf("new gateway: %v", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx, ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	r := &rig{up: up, layer: l, url: "http://" + ln.Addr().String(), client: plainClient(t)}
	return r
}

// plainClient neither compresses nor follows, and leaves no connection behind.
func plainClient(t testing.TB) *http.Client {
	tr := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// knows writes a fact into an owner's store.
func knows(t testing.TB, l *middleware.Layer, owner, text string) {
	t.Helper()
	s, release, err := l.Store(context.Background(), owner)
	if err != nil {
		t.Fatalf("store of %q: %v", owner, err)
	}
	defer release()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	c.Owner = owner
	if _, err := s.WriteClaim(context.Background(), c); err != nil {
		t.Fatalf("learn: %v", err)
	}
}

// message is a request as a client sends it.
type message struct {
	method string // "" is POST
	target string // path and query
	header map[string]string
	body   string
	length int64 // -1 sends the body in chunks
}

// outcome is what a client sees of an answer.
type outcome struct {
	Status  int
	Length  int64
	Header  http.Header
	Body    string
	Trailer http.Header
	Interim []http.Header
	Err     string // how it ended, "" for well
}

// send makes one request and reads its answer as far as it goes.
func send(t testing.TB, c *http.Client, base string, m message) (o outcome) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		if code != http.StatusContinue {
			o.Interim = append(o.Interim, http.Header(h))
		}
		return nil
	}})
	resp, err := c.Do(m.request(t, ctx, base))
	if err != nil {
		o.Err = ending(err)
		return o
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	o.Status, o.Length, o.Header, o.Body, o.Trailer, o.Err = resp.StatusCode, resp.ContentLength, resp.Header, string(body), resp.Trailer, ending(err)
	return o
}

func (m message) request(t testing.TB, ctx context.Context, base string) *http.Request {
	t.Helper()
	method := m.method
	if method == "" {
		method = http.MethodPost
	}
	var body io.Reader
	if m.body != "" || m.length != 0 {
		body = strings.NewReader(m.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base, body)
	if err != nil {
		t.Fatal(err)
	}
	if req.URL.Opaque = m.target; strings.HasPrefix(m.target, "//") { // as it is, without cleaning
		req.URL.Opaque, req.URL.Path = "", m.target // or it would be read as a host
	}
	if m.length < 0 {
		req.ContentLength = -1
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "a client/1.0")
	for k, v := range m.header {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header[k] = append(req.Header[k], v)
	}
	return req
}

// ending is how a client sees an answer end, in words that do not depend on ports.
func ending(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "broke off"
	}
	return "failed"
}

// ours are the headers that an answer may have beside the provider's.
func ours(h http.Header) http.Header {
	out := http.Header{}
	for name, v := range h {
		if strings.HasPrefix(name, "X-Ken-") || name == "Server-Timing" {
			out[name] = v
		}
	}
	return out
}

// theirs is an outcome without what is ours.
func (o outcome) theirs() outcome {
	h := o.Header.Clone()
	for name := range ours(h) {
		delete(h, name)
	}
	delete(h, "Connection")
	o.Header = h
	return o
}

// passedOn are a request's headers that a proxy has to pass on.
func passedOn(r *upstreamtest.Request) http.Header {
	h := http.Header{}
	for _, f := range r.Header {
		h.Add(f.Name, f.Value)
	}
	for _, name := range []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Trailer"} {
		delete(h, name)
	}
	return h
}

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
		events := [][]byte{fmt.Appendf(nil, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", asked), []byte("data: [DONE]\n\n")}
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
// requests each begin with the one before. Both begin before either goes on: who begins in a
// session that has gone on without it is told where that stands.
func TestTwoClientsWithTheSameSession(t *testing.T) {
	up := upstreamtest.New(t)
	r := newRig(t, up)
	knows(t, r.layer, "", "The invoices service listens on port 6432.")
	questions := []string{rigQuestion, "Which port does the invoices service listen on?"}
	var clients, begun sync.WaitGroup
	begun.Add(len(questions))
	for i, q := range questions {
		clients.Go(func() {
			messages := fmt.Sprintf(`{"role":"user","content":%q}`, q)
			for turn := range 20 {
				got := send(t, r.client, r.url, message{target: chatPath, body: `{"messages":[` + messages + `],"user":"` + fmt.Sprint(i) + `"}`,
					header: map[string]string{"X-Ken-Session": "shared"}})
				if got.Status != http.StatusOK || got.Body != string(upstreamtest.Recording("chat").Body()) {
					t.Errorf("client %d: %d %s", i, got.Status, got.Body)
				}
				messages += `,{"role":"assistant","content":"ok"},{"role":"user","content":"thanks!"}`
				if turn == 0 {
					begun.Done()
					begun.Wait()
				}
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
