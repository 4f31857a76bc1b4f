// Package upstreamtest is a model provider for tests: a server that answers as
// OpenAI's, Anthropic's and Ollama do, from recordings, and keeps every request byte for
// byte as it came over the wire.
//
// It speaks HTTP/1.1 over plain connections by itself, without net/http, because
// a test of a proxy has to see details that net/http hides: the order and spelling of
// headers, the framing of a body, the moment at which a connection breaks. It can also
// misbehave: stop in the middle of an event, send a wrong length, or answer and vanish. NewHTTP2 offers the same answers over HTTP/2.
//
// It takes a WebSocket on the path of responses, too, as OpenAI's API does; see Switching.
//
// Without instructions, a request is answered by the recording that fits it: its
// path, whether it streams, whether it offers tools, whether it brings a tool's
// result. Server.Next and Server.Handle say otherwise. Nothing in the package
// sleeps; a slow answer waits for a channel.
//
// The recordings under testdata were written by hand in the shape in which the
// providers send, headers included. Their texts are made up.
//
// The command in cmd/upstream serves the same to programs in other languages.
package upstreamtest
