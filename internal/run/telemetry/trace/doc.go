// Package trace records spans of what the gateway does with OpenTelemetry, and sends them to a
// collector over OTLP/HTTP. It is the adapter to that project's SDK, and the only package that knows
// it.
//
// A request has a server span with two children: ken.assemble, with the stages of the turn as events
// and the retrieval as a child, and "chat MODEL", the client span of the upstream call. Names and
// attributes follow the semantic conventions for HTTP and for generative AI; names of our own start
// with ken.
//
// Spans hold names, numbers and kinds. No span contains the text of a message, a claim, a tool's
// argument or an error, because knowledge must not reach the systems that collect traces.
//
// Recording never waits for a collector. If the collector can't be reached, spans are lost, and
// closing takes at most [CloseTimeout]. A trace that the client started is continued. The client's
// own trace header goes upstream unchanged; this package never writes it.
//
// A nil *Tracer and a nil *Span record nothing, and every method may be called on them.
package trace
