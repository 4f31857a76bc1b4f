package trace

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/telemetry"
)

// Turn records what the layer just assembled, as a child of the span in ctx: it fits
// where the layer hands out its receipts. The span ends now and began when the
// receipt says; its stages are events with their durations. Of the cause only the
// kind is recorded, and nothing of the question, the block or the items.
func (t *Tracer) Turn(ctx context.Context, r *ken.Receipt) {
	if t == nil {
		return
	}
	end := t.now()
	begin := end.Add(-millis(r.MS["total"]))
	ctx, s := t.tracer.Start(ctx, "ken.assemble", trace.WithTimestamp(begin), trace.WithAttributes(
		attribute.String("ken.turn", clip(r.Turn)),
		attribute.String("ken.mode", clip(string(r.Mode))),
		attribute.String("ken.cause", telemetry.CauseClass(r.Cause)),
		attribute.Bool("ken.reused", r.Reused),
		attribute.Int("ken.items", len(r.Items)),
		attribute.Int("ken.cut", len(r.Cut)),
		attribute.Int("ken.chars", r.Chars),
		attribute.Int64("ken.prompt.shared_bytes", r.CachedBytes),
		attribute.Int64("ken.prompt.new_bytes", r.NewBytes),
	))
	if len(r.Degraded) > 0 {
		s.SetAttributes(attribute.StringSlice("ken.degraded", stages(r.Degraded)))
	}
	if !r.Reused { // else the times are those of the request that composed the block
		t.stagesOf(ctx, s, r, end)
	}
	s.End(trace.WithTimestamp(end))
}

// stagesOf writes the stages of a turn: each as an event, and retrieval as a span of
// its own. The receipt has durations alone. Stages follow each other and the last
// ends with the turn, so retrieval ended when the budget began.
func (t *Tracer) stagesOf(ctx context.Context, s trace.Span, r *ken.Receipt, end time.Time) {
	for _, name := range slices.Sorted(maps.Keys(r.MS)) {
		if name != "total" {
			s.AddEvent("ken.stage", trace.WithTimestamp(end), trace.WithAttributes(attribute.String("ken.stage.name", clip(name)),
				attribute.Float64("ken.stage.duration", r.MS[name]/1000)))
		}
	}
	took, ok := r.MS["retrieve"]
	if !ok {
		return
	}
	done := end.Add(-millis(r.MS["budget"]))
	_, child := t.tracer.Start(ctx, "retrieval ken", trace.WithTimestamp(done.Add(-millis(took))), trace.WithAttributes(
		semconv.GenAIOperationNameRetrieval, semconv.GenAIDataSourceID("ken"), attribute.String("ken.mode", clip(string(r.Mode)))))
	child.End(trace.WithTimestamp(done))
}

// stages are what was degraded, without the reasons.
func stages(degraded []string) (out []string) {
	for _, d := range degraded {
		name, _, _ := strings.Cut(d, ":")
		out = append(out, clip(name))
	}
	return out
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
