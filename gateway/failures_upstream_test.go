package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
)

const chatStream = `{"model":"m","stream":true,"messages":[` + asks + `]}`

func field(name, value string) upstreamtest.Field {
	return upstreamtest.Field{Name: name, Value: value}
}

// Whatever an upstream does, the client sees through the gateway what it would have
// seen without.
func TestUpstreamsBadDayIsTheClientsOwn(t *testing.T) {
	rec := upstreamtest.Recording
	const ended, brokeOff = "", "broke off"
	for name, tt := range map[string]struct {
		answer upstreamtest.Answer
		status int
		ends   string
	}{
		"429 with Retry-After":              {rec("error_429"), 429, ended},
		"Anthropic's 429":                   {rec("messages_error_429"), 429, ended},
		"Anthropic is overloaded":           {rec("messages_error_529"), 529, ended},
		"401 with a challenge":              {rec("error_401"), 401, ended},
		"413":                               {upstreamtest.Answer{Status: 413, Header: rec("error_401").Header, Pieces: rec("error_401").Pieces}, 413, ended},
		"500 with a web page":               {rec("error_500_html"), 500, ended},
		"502 with a web page":               {rec("error_502_html"), 502, ended},
		"200 with an error event":           {rec("chat_error_stream"), 200, ended},
		"half an event":                     {upstreamtest.HalfEvent(rec("chat_stream")), 200, ended},
		"gzip that nobody asked for":        {upstreamtest.Gzipped(rec("chat_stream")), 200, ended},
		"gzip, not streamed":                {upstreamtest.Gzipped(rec("chat")), 200, ended},
		"gzip that breaks off":              {upstreamtest.CutAt(upstreamtest.Gzipped(rec("chat_stream")), 200), 200, brokeOff},
		"something called gzip":             {rec("chat").With("Content-Encoding", "gzip"), 200, ended},
		"an unknown encoding":               {rec("chat").With("Content-Encoding", "zstd"), 200, ended},
		"one line of 1 MB":                  {upstreamtest.HugeLine(1 << 20), 200, ended},
		"one line of 6 MB":                  {upstreamtest.HugeLine(6 << 20), 200, ended},
		"a body shorter than its length":    {upstreamtest.CutAt(rec("chat"), 50), 200, brokeOff},
		"a head alone":                      {upstreamtest.CutAt(rec("chat_stream"), 0), 200, brokeOff},
		"a stream that ends with its close": {upstreamtest.Answer{Header: rec("chat_stream").Header, Pieces: rec("chat_stream").Pieces, Framing: upstreamtest.ToClose}, 200, ended},
		"an empty answer":                   {upstreamtest.Answer{Header: rec("chat").Header}, 200, ended},
		"204":                               {upstreamtest.Answer{Status: 204, Header: []upstreamtest.Field{field("Date", "d")}, Framing: upstreamtest.ToClose}, 204, ended},
		"a redirect":                        {upstreamtest.Answer{Status: 307, Header: []upstreamtest.Field{field("Date", "d"), field("Location", "https://elsewhere.invalid/v1?a=%2F")}}, 307, ended},
		"JSON that is none":                 {upstreamtest.Answer{Header: rec("chat").Header, Pieces: [][]byte{[]byte(`{"choices":[{"message":`)}}, 200, ended},
		"events that are none":              {upstreamtest.Answer{Header: rec("chat_stream").Header, Framing: upstreamtest.Chunked, Pieces: [][]byte{[]byte("data: {]\r\n\r\ndata\n\n\x00\xff:\n")}}, 200, ended},
		"trailers": {upstreamtest.Answer{Header: append(rec("chat_stream").Header, field("Trailer", "X-Sum, X-Cost")), Framing: upstreamtest.Chunked,
			Pieces: rec("chat_stream").Pieces, Trailer: []upstreamtest.Field{field("X-Sum", "1"), field("X-Cost", "2")}}, 200, ended},
		"trailers that were not announced": {upstreamtest.Answer{Header: rec("chat_stream").Header, Framing: upstreamtest.Chunked,
			Pieces: rec("chat_stream").Pieces, Trailer: []upstreamtest.Field{field("X-Sum", "1")}}, 200, ended},
		"early hints": {upstreamtest.Answer{Interim: []upstreamtest.Interim{{Status: 103, Header: []upstreamtest.Field{field("Link", "</a>; rel=preload")}}, {Status: 103}},
			Header: rec("chat").Header, Pieces: rec("chat").Pieces}, 200, ended},
		"odd headers": {upstreamtest.Answer{Header: append(rec("chat").Header, field("x-empty", ""), field("X-Twice", "1"), field("x-twice", "2"), field("X-Utf8", "é\xff"),
			field("Server", "odd"), field("Via", "1.1 x"), field("Access-Control-Allow-Origin", "*")), Pieces: rec("chat").Pieces}, 200, ended},
		"no type":    {upstreamtest.Answer{Header: []upstreamtest.Field{field("Date", "d")}, Pieces: [][]byte{[]byte("<html>")}}, 200, ended},
		"status 299": {upstreamtest.Answer{Status: 299, Reason: "Fine", Header: rec("chat").Header, Pieces: rec("chat").Pieces}, 299, ended},
		"close":      {upstreamtest.Answer{Header: rec("chat").Header, Pieces: rec("chat").Pieces, Ending: upstreamtest.Close}, 200, ended},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstreamtest.New(t)
			up.Handle(func(*upstreamtest.Request) upstreamtest.Answer { return tt.answer })
			r := newRig(t, up)
			m := message{target: chatPath, body: chatStream}
			want, got := send(t, r.client, up.URL, m).theirs(), send(t, r.client, r.url, m).theirs()
			if want.Status != tt.status || want.Err != tt.ends {
				t.Fatalf("directly: %d, %q", want.Status, want.Err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-direct +gateway): %.3000s", diff)
			}
			if !strings.Contains(string(up.Requests()[1].Body), rigMarker) {
				t.Error("the request had no block: the test shows little")
			}
		})
	}
}

// An answer over HTTP/2 is the same answer.
func TestUpstreamOverHTTP2(t *testing.T) {
	up, trusting := upstreamtest.NewHTTP2(t)
	r := newRig(t, up, func(_ *config.Config, o *gateway.Options) { o.Transport = trusting.Transport })
	for _, path := range []string{chatPath, responsesPath, messagesPath} {
		m := message{target: path, body: `{"stream":true,"model":"m","input":[` + asks + `],"messages":[` + asks + `]}`}
		want, got := send(t, trusting, up.URL, m), send(t, r.client, r.url, m)
		if diff := cmp.Diff(want.theirs(), got.theirs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-direct +gateway): %s", path, diff)
		}
		if last := up.Last(t); last.Proto != "HTTP/2.0" || !strings.Contains(string(last.Body), rigMarker) {
			t.Errorf("%s: %s %s", path, last.Proto, last.Body)
		}
	}
	up.Next(upstreamtest.CutAt(upstreamtest.Recording("chat_stream"), 1000))
	if got := send(t, r.client, r.url, message{target: chatPath, body: chatStream}); got.Err == "" || len(got.Body) > 1000 {
		t.Errorf("a stream that was reset ended as %q after %d bytes", got.Err, len(got.Body))
	}
}

// Without an answer there is one of the gateway's own, in the shape that the client
// can read, and with its name on it.
func TestNoAnswerFromTheUpstream(t *testing.T) {
	dead := upstreamtest.Refusing(t)
	for name, tt := range map[string]struct {
		answer   upstreamtest.Answer
		upstream string
		change   rigged
		status   int
		code     string
	}{
		"refuses":     {upstream: dead, status: http.StatusBadGateway, code: "upstream_unreachable"},
		"no name":     {upstream: "http://nowhere.invalid", status: http.StatusBadGateway, code: "upstream_unreachable"},
		"hangs up":    {answer: upstreamtest.HangUp(), status: http.StatusBadGateway, code: "upstream_unreachable"},
		"resets":      {answer: upstreamtest.Answer{Nothing: true, Ending: upstreamtest.Reset}, status: http.StatusBadGateway, code: "upstream_unreachable"},
		"never spoke": {answer: upstreamtest.Hang(), change: func(c *config.Config, _ *gateway.Options) { c.Gateway.Response = 1e9 }, status: http.StatusGatewayTimeout, code: "upstream_timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := &upstreamtest.Server{URL: tt.upstream}
			if tt.upstream == "" {
				up = upstreamtest.New(t)
				up.Handle(func(*upstreamtest.Request) upstreamtest.Answer { return tt.answer })
			}
			var changes []rigged
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			r := newRig(t, up, changes...)
			for path, want := range map[string]string{
				chatPath: `{"error":{`, responsesPath: `{"error":{`, messagesPath: `{"error":{"message":`, "/v1/files": `{"error":{`,
			} {
				if path == messagesPath {
					want = `"type":"error"`
				}
				got := send(t, r.client, r.url, message{target: path, body: chatStream})
				if got.Status != tt.status || got.Header.Get("X-Ken-Error") != tt.code || !strings.Contains(got.Body, want) {
					t.Errorf("%s: %d %s %s%s", path, got.Status, got.Header.Get("X-Ken-Error"), got.Body, got.Err)
				}
				if strings.Contains(got.Body, rigMarker) || strings.Contains(got.Body, "127.0.0.1") || strings.Contains(got.Body, "payments") {
					t.Errorf("%s tells too much: %s", path, got.Body)
				}
			}
		})
	}
}

// A request that is passed on and fails before it was read leaves a connection that
// works, or one that says that it is closed: net/http panics when it reads the next
// request behind one that it threw away itself.
func TestConnectionOutlivesAFailedRequest(t *testing.T) {
	r := newRig(t, &upstreamtest.Server{URL: upstreamtest.Refusing(t)})
	for i := range 200 {
		m := message{target: "/v1/files", body: strings.Repeat("x", i*100)}
		if got := send(t, r.client, r.url, m); got.Status != http.StatusBadGateway {
			t.Fatalf("request %d: %d %s", i, got.Status, got.Err)
		}
	}
}

// A client that cannot wait leaves, and the upstream hears of it: before the answer,
// and in the middle of one, in each dialect.
func TestClientVanishes(t *testing.T) {
	for name, answer := range map[string]func(string) upstreamtest.Answer{
		"before the answer": func(string) upstreamtest.Answer { return upstreamtest.Hang() },
		"behind the head": func(d string) upstreamtest.Answer {
			return upstreamtest.Stalled(upstreamtest.Recording(d+"_stream"), 0)
		},
		"in the middle of a stream": func(d string) upstreamtest.Answer {
			return upstreamtest.Stalled(upstreamtest.Recording(d+"_stream"), 3)
		},
	} {
		for path, d := range map[string]string{chatPath: "chat", responsesPath: "responses", messagesPath: "messages", "/v1/other": "chat"} {
			t.Run(name+path, func(t *testing.T) {
				up := upstreamtest.New(t)
				a := answer(d)
				up.Next(a)
				r := newRig(t, up)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				m := message{target: path, body: `{"stream":true,"messages":[` + asks + `],"input":[` + asks + `]}`}
				came := make(chan struct{})
				var client sync.WaitGroup
				client.Go(func() {
					resp, err := r.client.Do(m.request(t, ctx, r.url))
					if err != nil {
						if !a.Nothing {
							t.Error(err)
						}
						close(came)
						return
					}
					defer resp.Body.Close()
					want := a.Body()
					got := make([]byte, len(want))
					for n := 0; n < len(got); {
						k, err := resp.Body.Read(got[n:])
						if n += k; err != nil {
							t.Errorf("after %d bytes of %d: %v", n, len(got), err)
							break
						}
					}
					close(came)
					<-ctx.Done()
				})
				req := up.Wait(t, 0)
				if !a.Nothing {
					<-came // what the upstream sent is here, though it stalls
				}
				select {
				case <-req.Gone():
					t.Error("the upstream's client is gone while ours is there")
				default:
				}
				leave()
				<-req.Gone()
				client.Wait()
			})
		}
	}
}
