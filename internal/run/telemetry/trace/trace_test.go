package trace_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept stores all spans that it receives, also after its end.
type kept struct {
	mu    sync.Mutex
	spans tracetest.SpanStubs
}

func (k *kept) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, tracetest.SpanStubsFromReadOnlySpans(spans)...)
	return nil
}

func (*kept) Shutdown(context.Context) error { return nil }

// record returns the spans that use makes, by name.
func record(t *testing.T, use func(*trace.Tracer)) map[string]tracetest.SpanStub {
	t.Helper()
	k := &kept{}
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	tr, err := trace.Open(t.Context(), trace.Options{Exporter: k, Version: "1.2.3", Now: func() time.Time { at = at.Add(10 * time.Millisecond); return at }})
	if err != nil {
		t.Fatal(err)
	}
	use(tr)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	out := map[string]tracetest.SpanStub{}
	for _, s := range k.spans {
		out[s.Name] = s
	}
	return out
}

// attributes of a span as text, sorted.
func attributes(s tracetest.SpanStub) (out []string) {
	for _, a := range s.Attributes {
		out = append(out, string(a.Key)+"="+a.Value.String())
	}
	slices.Sort(out)
	return out
}

const (
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	secret      = "the-launch-code-is-0000"
)

func request() *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/chat/completions?q="+secret, strings.NewReader(secret))
	r.Header.Set("traceparent", traceparent)
	r.Header.Set("Authorization", "Bearer "+secret)
	return r
}

func receipt() *ken.Receipt {
	return &ken.Receipt{Turn: "turn-1", Owner: "o", Session: "s", Mode: ken.ModeLate, Cause: "vector: not there within 150ms of " + secret, Block: secret, Chars: 90,
		Signals: ken.Signals{Keywords: []string{secret}, Question: secret}, Items: []ken.Item{{ID: "1", Heading: secret, Text: secret}}, Cut: []ken.Cut{{ID: "2", Detail: secret}},
		Degraded: []string{"vector: " + secret}, CachedBytes: 5, NewBytes: 6, MS: map[string]float64{"total": 4, "retrieve": 2, "budget": 1, "keyword": 1.5}}
}

// exchange is what a gateway does with one request.
func exchange(tr *trace.Tracer) {
	r := request()
	ctx, server := tr.Request(r.Context(), r)
	server.Route("POST /v1/chat/completions")
	server.Session("alice", "s1")
	tr.Turn(ctx, receipt())
	_, client := tr.Chat(ctx, trace.Call{Model: "gpt-5", Server: "api.example.com", Port: 8443, Conversation: "s1", Stream: true})
	client.FirstByte()
	client.Answer(trace.Answer{ID: "resp-1", Model: "gpt-5-2026", Finish: []string{"tool_calls"}, Input: 100, Output: 20, Cached: 80})
	client.End(200, nil)
	server.End(200, nil)
}

func TestSpansOfARequest(t *testing.T) {
	got := record(t, exchange)
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"POST /v1/chat/completions", "chat gpt-5", "ken.assemble", "retrieval ken"}, names); d != "" {
		t.Fatalf("spans (-want +got):\n%s", d)
	}
	server := got["POST /v1/chat/completions"]
	for child, parent := range map[string]string{"chat gpt-5": server.Name, "ken.assemble": server.Name, "retrieval ken": "ken.assemble"} {
		if got[child].Parent.SpanID() != got[parent].SpanContext.SpanID() {
			t.Errorf("%s is no child of %s", child, parent)
		}
	}
	for name, want := range map[string][]string{
		"POST /v1/chat/completions": {"gen_ai.conversation.id=s1", "http.request.method=POST", "http.response.status_code=200", "http.route=/v1/chat/completions", "ken.owner=alice", "url.scheme=http"},
		"chat gpt-5": {"gen_ai.conversation.id=s1", "gen_ai.operation.name=chat", "gen_ai.provider.name=openai", "gen_ai.request.model=gpt-5", "gen_ai.request.stream=true",
			`gen_ai.response.finish_reasons=["tool_calls"]`, "gen_ai.response.id=resp-1", "gen_ai.response.model=gpt-5-2026", "gen_ai.response.time_to_first_chunk=0.01",
			"gen_ai.usage.cache_read.input_tokens=80", "gen_ai.usage.input_tokens=100", "gen_ai.usage.output_tokens=20", "http.response.status_code=200", "server.address=api.example.com", "server.port=8443"},
		"ken.assemble": {"ken.cause=deadline", "ken.chars=90", "ken.cut=1", `ken.degraded=["vector"]`, "ken.items=1", "ken.mode=late", "ken.prompt.new_bytes=6",
			"ken.prompt.shared_bytes=5", "ken.reused=false", "ken.turn=turn-1"},
		"retrieval ken": {"gen_ai.data_source.id=ken", "gen_ai.operation.name=retrieval", "ken.mode=late"},
	} {
		if d := cmp.Diff(want, attributes(got[name])); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	for name, want := range map[string]time.Duration{"ken.assemble": 4 * time.Millisecond, "retrieval ken": 2 * time.Millisecond} {
		if d := got[name].EndTime.Sub(got[name].StartTime); d != want {
			t.Errorf("%s took %v, the receipt says %v", name, d, want)
		}
	}
	if events := got["ken.assemble"].Events; len(events) != 3 {
		t.Errorf("%d stages, want 3: %v", len(events), events)
	}
}

// Traces go to places that knowledge must not go to.
func TestNoSpanHoldsContent(t *testing.T) {
	got := record(t, func(tr *trace.Tracer) {
		exchange(tr)
		_, s := tr.Chat(t.Context(), trace.Call{Model: "m"})
		s.End(500, errors.New("the upstream says: "+secret))
	})
	if s := fmt.Sprintf("%+v", got); strings.Contains(s, secret) || strings.Contains(s, "launch") {
		t.Errorf("a span holds content: %s", s)
	}
}

func TestIncomingTraceGoesOn(t *testing.T) {
	r := request()
	before := r.Header.Clone()
	var id string
	got := record(t, func(tr *trace.Tracer) {
		ctx, s := tr.Request(r.Context(), r)
		id, _ = trace.ID(ctx)
		s.Route("POST /v1/messages")
		s.End(200, nil)
	})
	s := got["POST /v1/messages"]
	if id != "0af7651916cd43dd8448eb211c80319c" || s.SpanContext.TraceID().String() != id || s.Parent.SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("trace %s, parent %s", s.SpanContext.TraceID(), s.Parent.SpanID())
	}
	if d := cmp.Diff(before, r.Header); d != "" {
		t.Errorf("what goes upstream is not what the client sent:\n%s", d)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		server bool
		status int
		err    error
		want   string
	}{
		{true, 200, nil, ""},
		{true, 404, nil, ""},
		{true, 502, nil, "502"},
		{false, 200, nil, ""},
		{false, 429, nil, "429"},
		{false, 0, context.Canceled, "cancelled"},
		{false, 0, fmt.Errorf("read: %w", context.DeadlineExceeded), "timeout"},
		{false, 0, &net.OpError{Op: "dial", Err: &net.DNSError{Name: secret}}, "name_resolution"},
		{false, 0, &net.OpError{Op: "dial", Err: errors.New(secret)}, "dial"},
		{false, 0, errors.New(secret), "*errors.errorString"},
	} {
		got := record(t, func(tr *trace.Tracer) {
			var s *trace.Span
			if c.server {
				r := request()
				_, s = tr.Request(r.Context(), r)
			} else {
				_, s = tr.Chat(t.Context(), trace.Call{})
			}
			s.End(c.status, c.err)
		})
		for _, s := range got {
			is := ""
			for _, a := range s.Attributes {
				if a.Key == "error.type" {
					is = a.Value.AsString()
				}
			}
			if is != c.want || (s.Status.Code.String() == "Error") != (c.want != "") || s.Status.Description != "" {
				t.Errorf("%+v: error.type %q, status %v", c, is, s.Status)
			}
		}
	}
}

// What a client sends as a model or a session must not fill the collector.
func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("日", 1<<20)
	for name, s := range record(t, func(tr *trace.Tracer) {
		_, s := tr.Chat(t.Context(), trace.Call{Model: long, Conversation: long})
		s.Answer(trace.Answer{ID: long, Model: long, Finish: slices.Repeat([]string{long}, 1000)})
		s.End(200, nil)
	}) {
		if n := len(fmt.Sprint(name, s.Attributes)); n > 8000 {
			t.Errorf("%d bytes", n)
		}
	}
}

// A reused block's stages were those of another request.
func TestReusedTurnHasNoStages(t *testing.T) {
	got := record(t, func(tr *trace.Tracer) {
		r := receipt()
		r.Reused = true
		tr.Turn(t.Context(), r)
	})
	if len(got) != 1 || len(got["ken.assemble"].Events) != 0 {
		t.Errorf("%v", got)
	}
}

func off(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"} {
		t.Setenv(name, "")
	}
}

func TestOffByDefault(t *testing.T) {
	off(t)
	if tr, err := trace.Open(t.Context(), trace.Options{}); tr != nil || err != nil {
		t.Errorf("%v, %v", tr, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if tr, err := trace.Open(t.Context(), trace.Options{}); tr != nil || err != nil {
		t.Errorf("disabled: %v, %v", tr, err)
	}
}

func TestNilRecordsNothing(t *testing.T) {
	var tr *trace.Tracer
	exchange(tr)
	_, s := tr.Chat(t.Context(), trace.Call{Model: "x"})
	s.End(0, nil)
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	if a, b := trace.ID(t.Context()); a != "" || b != "" {
		t.Error(a, b)
	}
}

func TestBadEndpointIsRefused(t *testing.T) {
	off(t)
	for _, endpoint := range []string{"localhost:4318", "ftp://x", "http://", "http://[::1"} {
		_, err := trace.Open(t.Context(), trace.Options{Endpoint: endpoint})
		if e := (*ken.Error)(nil); !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Try == "" {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// A collector gets the spans, where the configuration or the environment says.
func TestSpansReachACollector(t *testing.T) {
	off(t)
	type sent struct {
		path, kind string
		body       []byte
	}
	got := make(chan sent, 2)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(b); err != nil && len(b) == 0 {
			t.Error(err)
		}
		got <- sent{r.URL.Path, r.Header.Get("Content-Type"), b}
	}))
	defer collector.Close()
	for _, configured := range []bool{true, false} {
		o := trace.Options{Endpoint: collector.URL}
		if !configured {
			o.Endpoint = ""
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
		}
		tr, err := trace.Open(t.Context(), o)
		if err != nil || tr == nil {
			t.Fatal(tr, err)
		}
		exchange(tr)
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if s := <-got; s.path != "/v1/traces" || s.kind != "application/x-protobuf" || !strings.Contains(string(s.body), "chat gpt-5") {
			t.Errorf("configured %v: %s, %s, %d bytes", configured, s.path, s.kind, len(s.body))
		}
	}
	collector.CloseClientConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// stuck is a collector that accepts everything and answers nothing.
type stuck struct{ calls chan struct{} }

func (s stuck) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error {
	s.calls <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (stuck) Shutdown(context.Context) error { return nil }

// A collector that is away costs spans: no turn waits, and the end takes a second at
// most.
func TestCollectorThatHangsDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{make(chan struct{}, 1000)}
		tr, err := trace.Open(t.Context(), trace.Options{Exporter: s, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 5000 { // more than the queue holds
			exchange(tr)
		}
		if d := time.Since(begin); d > 0 {
			t.Errorf("turns waited %v", d)
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > trace.CloseTimeout {
			t.Errorf("the end took %v", d)
		}
		if len(s.calls) == 0 {
			t.Error("nothing was ever sent, so nothing was shown")
		}
	})
}

// failing is a collector that takes nothing.
type failing struct{}

func (failing) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return errors.New("refused") }
func (failing) Shutdown(context.Context) error                        { return nil }

// lines counts what is logged.
type lines struct {
	mu sync.Mutex
	n  int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	return len(p), nil
}

func TestCollectorThatRefusesIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lines{}
		tr, err := trace.Open(t.Context(), trace.Options{Exporter: failing{}, Log: slog.New(slog.NewTextHandler(out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			exchange(tr)
			time.Sleep(time.Minute) // a batch is sent every few seconds
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if out.n != 1 {
			t.Errorf("%d lines in the log", out.n)
		}
	})
}

func ExampleTracer() {
	k := &kept{} // a program leaves Exporter out and names a collector
	tr, err := trace.Open(context.Background(), trace.Options{Exporter: k})
	if err != nil {
		panic(err)
	}
	_, span := tr.Chat(context.Background(), trace.Call{Model: "gpt-4.1-mini"})
	span.End(0, nil)
	if err := tr.Close(); err != nil {
		panic(err)
	}
	fmt.Println(k.spans[0].Name)
	// Output: chat gpt-4.1-mini
}

func BenchmarkOff(b *testing.B) {
	b.ReportAllocs()
	r, rec := request(), receipt()
	for b.Loop() {
		var tr *trace.Tracer
		ctx, s := tr.Request(b.Context(), r)
		tr.Turn(ctx, rec)
		_, c := tr.Chat(ctx, trace.Call{Model: "m"})
		c.End(200, nil)
		s.End(200, nil)
	}
}

func BenchmarkOn(b *testing.B) {
	tr, err := trace.Open(b.Context(), trace.Options{Exporter: &discard{}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		exchange(tr)
	}
	if err := tr.Close(); err != nil {
		b.Error(err)
	}
}

type discard struct{}

func (discard) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                        { return nil }
