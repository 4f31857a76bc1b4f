// Package middleware is the way in for a Go program: it opens a layer over a
// project's knowledge and puts it in front of a chat loop.
//
// Before every model call a chain of stages works on the turn:
//
//	guard → intent → retrieve → budget
//
// and yields insertions: messages to put at given places into the conversation.
// The conversation itself is never rewritten. Two adapters carry the insertions
// over: package goopenai wraps a go-openai client, and Layer.Transport works as
// an http.RoundTripper under any SDK of OpenAI's or Anthropic's. What passes model
// calls on by itself, such as a gateway, uses Layer.Begin and Exchange.Listen,
// which a Transport is made of.
//
// A block is composed once a turn. The requests that follow, of the same turn
// and of later ones, carry it at the same place byte for byte, so that the
// provider's prompt cache keeps what it has; see sticky.go.
//
// The layer fails open: a stage that errs, panics or is late is left out, the
// turn goes on, and the receipt says so.
package middleware
