package trace

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// spanSender hands spans to an exporter. Spans that can't be sent are lost; the loss is
// logged once, not with every batch. cut ends a call that hangs.
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
