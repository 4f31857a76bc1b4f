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

// Turn records a turn as a child of the span in ctx. It fits the callback that
// receives receipts. The span ends now and began when the receipt says; its stages
// are events with their durations. Of the receipt's cause only the class is
// recorded, and nothing of the question, the block or the items.
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
	if !r.Reused { // a reused block has the times of the request that composed it
		t.stagesOf(ctx, s, r, end)
	}
	s.End(trace.WithTimestamp(end))
}

// stagesOf records the stages of a turn: each as an event, and the retrieval as a
// span of its own. The receipt has only durations. The stages follow one another and
// the last one ends with the turn, so the retrieval ended when the budget stage
// began.
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

// stages returns the names of the degraded stages, without the reasons.
func stages(degraded []string) (out []string) {
	for _, d := range degraded {
		name, _, _ := strings.Cut(d, ":")
		out = append(out, clip(name))
	}
	return out
}

func millis(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
