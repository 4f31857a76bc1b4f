// Package trace records spans of what the gateway does with OpenTelemetry, and sends
// them to a collector over OTLP/HTTP. It is the adapter to that project's SDK, and
// the only package that knows it.
//
// A request has a server span; in it are ken.assemble, with the stages of the turn
// as events and the retrieval as a child, and the client span of the upstream call,
// "chat MODEL". Names and attributes follow the semantic conventions for HTTP and for generative AI;
// what those have no name for starts with ken.
//
// Spans hold names, numbers and kinds. No span holds what a message, a claim, a tool's
// argument or an error says: traces go to places that knowledge must not go to.
//
// Recording never waits for a collector. One that can't be reached costs spans, and
// at most [CloseTimeout] when the program ends. A trace that the client started goes
// on; what goes upstream is the client's own header, which this package never writes.
//
// A nil *Tracer and a nil *Span record nothing, and every method may be called on
// them.
package trace
