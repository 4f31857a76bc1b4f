package trace

import (
	"cmp"
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Call describes a call of the upstream.
type Call struct {
	Model        string // as requested
	Provider     string // openai, anthropic, …; "" means openai, because the protocol is OpenAI's
	Server       string // host name
	Port         int    // 0 leaves it out
	Conversation string // the session's id
	Stream       bool
}

// Chat begins the client span of a model call.
func (t *Tracer) Chat(ctx context.Context, c Call) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs, semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(clip(cmp.Or(c.Provider, "openai"))))
	attrs = named(attrs, semconv.GenAIRequestModel, c.Model)
	attrs = named(attrs, semconv.ServerAddress, c.Server)
	if c.Server != "" && c.Port > 0 {
		attrs = append(attrs, semconv.ServerPort(c.Port))
	}
	attrs = named(attrs, semconv.GenAIConversationID, c.Conversation)
	if c.Stream {
		attrs = append(attrs, semconv.GenAIRequestStreamKey.Bool(true))
	}
	return t.start(ctx, strings.TrimRight("chat "+clip(c.Model), " "), trace.SpanKindClient, attrs...)
}

// named appends an attribute, unless its value is empty.
func named(attrs []attribute.KeyValue, attr func(string) attribute.KeyValue, value string) []attribute.KeyValue {
	if value == "" {
		return attrs
	}
	return append(attrs, attr(clip(value)))
}

// FirstByte records when the first byte of the answer arrived. Call it once.
func (s *Span) FirstByte() {
	if s == nil {
		return
	}
	s.span.SetAttributes(semconv.GenAIResponseTimeToFirstChunkKey.Float64(s.tracer.now().Sub(s.begin).Seconds()))
}

// Answer holds what the upstream reports about its answer.
type Answer struct {
	ID, Model string
	Finish    []string // why each choice ended
	Input     int      // tokens, 0 when unknown; cached ones included
	Output    int
	Cached    int
}

// Answer records the upstream's report about its answer.
func (s *Span) Answer(a Answer) {
	if s == nil {
		return
	}
	attrs := make([]attribute.KeyValue, 0, 6)
	attrs = named(attrs, semconv.GenAIResponseID, a.ID)
	attrs = named(attrs, semconv.GenAIResponseModel, a.Model)
	if len(a.Finish) > 0 {
		reasons := make([]string, 0, min(len(a.Finish), 8))
		for _, f := range a.Finish[:cap(reasons)] {
			reasons = append(reasons, clip(f))
		}
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(reasons...))
	}
	for _, u := range [...]struct {
		key attribute.Key
		n   int
	}{{semconv.GenAIUsageInputTokensKey, a.Input}, {semconv.GenAIUsageOutputTokensKey, a.Output}, {semconv.GenAIUsageCacheReadInputTokensKey, a.Cached}} {
		if u.n > 0 {
			attrs = append(attrs, u.key.Int(u.n))
		}
	}
	s.span.SetAttributes(attrs...)
}
