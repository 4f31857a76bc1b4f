package trace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kenlayer/ken"
)

// CloseTimeout is how long Close waits for the last spans to be sent.
const CloseTimeout = time.Second

// Options configures Open. The zero value records nothing, unless the environment
// enables it.
type Options struct {
	// Endpoint is the collector's URL, such as http://localhost:4318. One without a
	// path gets /v1/traces. If empty, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
	// OTEL_EXPORTER_OTLP_ENDPOINT is used; if they are empty too, tracing is off. The
	// other variables of the SDK apply, such as OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER
	// and OTEL_EXPORTER_OTLP_HEADERS; OTEL_SDK_DISABLED=true and
	// OTEL_TRACES_EXPORTER=none switch everything off.
	Endpoint string
	// Version is the program's version, for the resource attributes.
	Version string
	// Exporter replaces OTLP. Endpoint and the environment are then ignored.
	Exporter sdk.SpanExporter
	// Log receives one warning when the collector starts to fail. Default
	// slog.Default().
	Log *slog.Logger
	Now func() time.Time // default time.Now
}

// Tracer creates spans. It is safe for concurrent use. The caller closes it.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *spanSender
	now      func() time.Time
}

// Open returns a tracer, or nil if tracing is off. It does not wait for the collector.
// Errors: ErrInvalid for an endpoint that is not a URL.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if o.Exporter == nil && off(o.Endpoint) {
		return nil, nil
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	exporter := o.Exporter
	if exporter == nil {
		var err error
		if exporter, err = otlp(ctx, o.Endpoint); err != nil {
			return nil, err
		}
	}
	// The environment is last, so it overrides the other attributes.
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		semconv.ServiceName("ken"), semconv.ServiceVersion(cmp.Or(o.Version, "unknown"))), resource.WithFromEnv())
	if err != nil && res == nil {
		return nil, fmt.Errorf("read the trace resource: %w", err)
	}
	t := &Tracer{exporter: newSpanSender(exporter, o.Log), now: o.Now}
	t.provider = sdk.NewTracerProvider(sdk.WithBatcher(t.exporter), sdk.WithResource(res))
	t.tracer = t.provider.Tracer("github.com/kenlayer/ken", trace.WithSchemaURL(semconv.SchemaURL))
	return t, nil
}

// off reports whether tracing is off in the configuration and in the environment.
func off(endpoint string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return true
	}
	return endpoint == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == ""
}

func otlp(ctx context.Context, endpoint string) (sdk.SpanExporter, error) {
	var with []otlptracehttp.Option
	if endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "telemetry.traces", Msg: "not an http or https URL",
				Try: "Give the collector's address, such as http://localhost:4318."}
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces"
		}
		with = append(with, otlptracehttp.WithEndpointURL(u.String()))
	}
	return otlptracehttp.New(ctx, with...)
}

// Close sends the remaining spans, for [CloseTimeout] at most, and drops the rest.
// Spans that end later are not recorded.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	err := t.provider.Shutdown(ctx)
	t.exporter.cut()
	if ctx.Err() != nil {
		return nil // an unreachable collector is not an error of the program
	}
	return err
}

// ID returns the ids of the trace and the span in ctx, for logs; empty if there is
// none.
func ID(ctx context.Context) (traceID, spanID string) {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return "", ""
	}
	return c.TraceID().String(), c.SpanID().String()
}

// incoming reads and writes the trace context headers of the W3C, the only supported
// format.
var incoming = propagation.TraceContext{}

// Inject writes the span in ctx to the headers of an outgoing request, as its parent:
// traceparent, and the trace's tracestate. Without a span in ctx it does nothing.
func Inject(ctx context.Context, h http.Header) { incoming.Inject(ctx, propagation.HeaderCarrier(h)) }

// start starts a span with attributes.
func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, *Span) {
	at := t.now()
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	return ctx, &Span{span: s, tracer: t, begin: at, server: kind == trace.SpanKindServer}
}

// spanSender passes spans to an exporter. If spans can't be sent, they are lost, and
// the first such loss in a row is logged. cut stops a call that hangs.
type spanSender struct {
	sdk.SpanExporter
	log    *slog.Logger
	stop   context.Context
	cut    context.CancelFunc
	failed atomic.Bool // the last batch was lost
}

func newSpanSender(e sdk.SpanExporter, log *slog.Logger) *spanSender {
	p := &spanSender{SpanExporter: e, log: log}
	p.stop, p.cut = context.WithCancel(context.Background())
	return p
}

// ExportSpans implements sdk.SpanExporter.
func (p *spanSender) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if p.stop.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.stop, cancel)()
	err := p.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err == nil:
		p.failed.Store(false)
	case p.stop.Err() == nil && !p.failed.Swap(true):
		p.log.Warn("send traces; spans are lost until the collector takes them", "cause", err, "try", "Start the collector that telemetry.traces names, or empty the key.")
	}
	return nil
}
