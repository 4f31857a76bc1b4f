// Package upstreamtest is a model provider for tests. It is a server that answers as OpenAI, Anthropic and Ollama do,
// from recordings, and keeps every request byte for byte.
//
// It implements HTTP/1.1 over plain connections itself, without net/http, because tests of a proxy check details that
// net/http hides: the order and spelling of headers, the framing of a body, the moment at which a connection breaks. It
// can also misbehave: stop in the middle of an event, send a wrong length, or close the connection after an answer.
// NewHTTP2 offers the same answers over HTTP/2.
//
// Like OpenAI's API, it also accepts a WebSocket on the path of responses.
//
// By default, a request is answered by the recording that matches its path, whether it streams, whether it offers tools
// and whether it has a tool's result. Server.Next and Server.Handle change this. Nothing in the package sleeps; a slow
// answer waits for a channel.
//
// The recordings under testdata were written by hand in the format of the providers, headers included. Their texts are
// invented.
//
// The command in cmd/upstream serves the same to programs in other languages.
package upstreamtest
