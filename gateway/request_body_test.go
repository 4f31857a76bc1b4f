package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/gateway/upstreamtest"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/middleware"
)

// looking has a gateway look into so many bytes at once.
func looking(n int) func(*gateway.Options) {
	return configured(func(c *config.Gateway) { c.LookBytes = n })
}

// padded is a request of more than n bytes whose question stands at its end.
func padded(n int) string { return chat(strings.Repeat("word ", n/5) + question) }

// What there is no room for is passed on byte for byte, and told: in the answer, in the
// metrics and in the log.
func TestBodyWithoutRoomIsPassedOn(t *testing.T) {
	up := upstreamtest.New(t)
	m := metrics.New()
	g := start(t, layer(t, map[string]string{"": about}), up.URL, looking(5<<20), func(o *gateway.Options) { o.Operator().Metrics = m })
	for _, announced := range []bool{true, false} {
		for _, n := range []int{2000, 2 << 20, 6 << 20} {
			body := padded(n)
			req := request(t, http.MethodPost, g.URL+"/v1/chat/completions", body, "Content-Type", "application/json")
			if !announced {
				req.ContentLength, req.Body, req.GetBody = -1, io.NopCloser(strings.NewReader(body)), nil
			}
			got := do(t, req)
			if got.StatusCode != http.StatusOK {
				t.Fatalf("%d bytes: %d %s", n, got.StatusCode, got.body)
			}
			arrived := up.Last(t).Body
			if n < 5<<20 {
				if got.Header["X-Ken-Untouched"] != nil || got.Header["X-Ken-Turn"] == nil {
					t.Errorf("%d bytes: %v", n, got.Header)
				}
				continue
			}
			if string(arrived) != body || got.Header.Get("X-Ken-Untouched") != "memory" || got.Header["X-Ken-Turn"] != nil {
				t.Errorf("%d of %d bytes arrived: %v", len(arrived), len(body), got.Header)
			}
		}
	}
	g.stop()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `ken_untouched_total{reason="memory"} 2`+"\n") {
		t.Error("it is not counted")
	}
	told := 0
	for line := range strings.Lines(g.log.String()) {
		if gjson.Get(line, "untouched").String() == "memory" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
}

// Room that one request takes is not there for another until its answer has ended, and
// then it is, however the request ended.
func TestRoomIsGivenBack(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL, looking(30_000))
	untouched := func() bool {
		t.Helper()
		got := post(t, g.URL+"/v1/chat/completions", padded(20_000))
		if got.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", got.StatusCode, got.body)
		}
		return got.Header["X-Ken-Untouched"] != nil
	}
	for range 3 {
		for untouched() { // the answer's last byte is a moment ahead of the room
		}
	}
	pace := make(chan struct{})
	slow := upstreamtest.Recording("chat_stream")
	slow.Pace = pace
	up.Next(slow)
	resp, err := client(t).Do(request(t, http.MethodPost, g.URL+"/v1/chat/completions", padded(20_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !untouched() {
		t.Error("there is room twice")
	}
	close(pace)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, g.URL, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000\r\n\r\n{")
	if err := conn.Close(); err != nil { // it breaks off
		t.Fatal(err)
	}
	for untouched() { // until both ends were noticed
	}
}

// Many short messages count for more than their bytes.
func TestManyMessagesTakeRoom(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL, looking(100_000))
	for n, want := range map[int]string{50: "", 2000: "memory"} {
		body := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"x"},`, n) + `{"role":"user","content":"` + question + `"}]}`
		got := post(t, g.URL+"/v1/chat/completions", body)
		for want == "" && got.Header.Get("X-Ken-Untouched") != "" { // the room of the request before is a moment late
			got = post(t, g.URL+"/v1/chat/completions", body)
		}
		if got.Header.Get("X-Ken-Untouched") != want || (string(up.Last(t).Body) == body) != (want != "") {
			t.Errorf("%d messages: %v", n, got.Header)
		}
	}
}

// Other calls that are not looked into say why as well.
func TestUntouchedSaysWhy(t *testing.T) {
	up := upstreamtest.New(t)
	g := start(t, layer(t, map[string]string{"": about}), up.URL)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(chat(question))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		body, want string
		header     []string
	}{
		{zipped.String(), "encoding", []string{"Content-Encoding", "gzip"}},
		{padded(33 << 20), "length", nil},
		{chat(question), "", []string{"X-Ken", "off"}},
		{chat(question), "", nil},
	} {
		got := post(t, g.URL+"/v1/chat/completions", tt.body, tt.header...)
		if got.StatusCode != http.StatusOK || got.Header.Get("X-Ken-Untouched") != tt.want {
			t.Errorf("%d bytes, %v: %d %v", len(tt.body), tt.header, got.StatusCode, got.Header)
		}
		if tt.want != "" && string(up.Last(t).Body) != tt.body {
			t.Errorf("%s: other bytes arrived", tt.want)
		}
	}
}

// Where Ken itself is to answer, there is nobody to pass it on to.
func TestEmbeddingsWithoutRoomAreRefused(t *testing.T) {
	g := start(t, layer(t, nil), "", looking(1000))
	got := post(t, g.URL+"/v1/embeddings", `{"model":"ken","input":"`+strings.Repeat("word ", 500)+`"}`)
	if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", got.StatusCode, got.Header, got.body)
	}
}

// A call that comes while too many turns are composed is passed on at once, and its
// answer and the metrics say so. What the upstream says of when to come back stays.
func TestCallsBeyondTheBoundSaySo(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{})
	cfg := config.Default()
	cfg.Repository.Index, cfg.Middleware.Events, cfg.Retrieval.AtOnce, cfg.Retrieval.Deadline = false, false, 1, 30*time.Second
	l, err := middleware.Open(context.Background(), middleware.Options{Root: t.TempDir(), Config: &cfg, Foreground: true, Strict: true, Log: quiet,
		Use: []middleware.Middleware{func(next middleware.Handler) middleware.Handler {
			return func(ctx context.Context, st *middleware.State) error {
				entered <- struct{}{}
				<-hold
				return next(ctx, st)
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	up, m := upstreamtest.New(t), metrics.New()
	g := start(t, l, up.URL, func(o *gateway.Options) { o.Operator().Metrics = m })
	done := make(chan reply, 1)
	go func() { done <- post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "first") }()
	<-entered
	up.Next(upstreamtest.Recording("error_429").With("Retry-After", "7"))
	got := post(t, g.URL+"/v1/chat/completions", chat(question), "X-Ken-Session", "second")
	if got.Header.Get("X-Ken-Untouched") != "turns" || got.StatusCode != http.StatusTooManyRequests || !strings.Contains(strings.Join(got.Header.Values("Retry-After"), ","), "7") {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	if string(up.Last(t).Body) != chat(question) {
		t.Errorf("arrived as %s", up.Last(t).Body)
	}
	close(hold)
	if first := <-done; first.Header.Get("X-Ken-Untouched") != "" {
		t.Errorf("the first one: %v", first.Header)
	}
	g.stop() // so that every call has been counted
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), `ken_untouched_total{reason="turns"} 1`) {
		t.Error("the metrics do not say so")
	}
}
