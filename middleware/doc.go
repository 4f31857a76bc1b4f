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

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/run/session"
)

// Options configures Open. Only Root is needed.
type Options struct {
	// Root is the project's folder: state and events lie under it, and its files
	// are what the layer can search. Empty: the working directory.
	Root string
	// Config is used instead of the files: it is the program's word, and all of it
	// counts. Nil: what config.Resolve finds, of which a project's file counts as far as
	// the user consented. Either way, a state in the project's folder that was not made
	// here by this user is not used: Ken works in a folder of its own, and Log hears of it.
	Config *config.Config
	// Embedder is used instead of the configured one.
	Embedder embed.Embedder

	// Strict makes Open fail when the store can't be opened. Otherwise the layer
	// works without knowledge, every receipt names the cause, and Log hears of it.
	Strict bool
	// Foreground leaves it to the caller to call Refresh. Otherwise Open starts
	// indexing and embedding in the background.
	Foreground bool
	// Watch follows the project's files as they change, where the configuration lets it:
	// for processes that stay. Otherwise, what a conversation's tool calls write is
	// noticed, and the rest at the next start.
	Watch bool
	// CountTokens fills in Receipt.Tokens even when no token budget is set. It
	// loads the tokenizer's table, some tens of milliseconds once.
	CountTokens bool

	// Taint is what a Transport does about an answer that calls a tool with what an
	// external claim said; see Exchange.Guard. Empty: what gateway.taint says.
	Taint config.TaintAction

	// Use adds middlewares around the built-in stages, the first outermost.
	Use []Middleware
	// OnReceipt is called with each turn's receipt, on the turn's goroutine,
	// before the model call. It must not change it.
	OnReceipt func(context.Context, ken.Receipt)
	// OnMessage is called with each message of a session that is new to its journal,
	// in order, behind the turn's back: for programs that learn from messages as they
	// come. It may use the handle, and should not take long.
	OnMessage func(context.Context, *session.Session, session.Entry)
	// Progress is told about long work, from several goroutines.
	Progress func(stage string, done, total int)
	// Log hears what no caller is there to be told. Default slog.Default().
	Log *slog.Logger

	Now   func() time.Time // default time.Now
	NewID func() string    // of turns; default UUID version 7
}

func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = "."
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return o
}
