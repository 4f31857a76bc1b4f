// Package middleware puts a knowledge layer between a Go program and its language model. Open
// opens the layer over a project's knowledge; Assemble, a Transport or a wrapped client adds
// what the agent should know to each model call.
//
// A chain of stages works on every turn:
//
//	guard → intent → structure → retrieve → budget → insertions and receipt
//
// Insertions are blocks of text and their places in the conversation. The conversation itself
// is never rewritten. Package goopenai inserts the blocks into the requests of a go-openai
// client. Layer.Transport is an http.RoundTripper for any SDK of OpenAI's or Anthropic's API.
//
// A block is composed once a turn. The later requests of that turn, and of the turns after it,
// carry the block at the same place, byte for byte, so that the provider's prompt cache stays
// valid.
//
// The layer fails open. A stage that fails, panics or is late is left out, the turn goes on,
// and the receipt says so.
package middleware

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
)

// Options configures Open. Only Root is needed.
type Options struct {
	// Root is the project's folder. It holds the state and the event logs, and its files can be
	// searched. Empty means the working directory.
	Root string
	// Config replaces all configuration files. Nil means the result of config.Resolve, which uses
	// the settings in a project's file only as far as the user consented to them. In both cases,
	// the layer does not use a state folder in the project that this user did not create on this
	// machine. It then uses a folder of its own and logs a warning.
	Config *config.Config
	// Embedder replaces the configured embedder.
	Embedder embed.Embedder

	// Strict makes Open fail when the store can't be opened. Otherwise the layer works without
	// knowledge, every receipt names the cause, and the log has an error.
	Strict bool
	// Foreground disables indexing and embedding in the background. The program calls Refresh
	// instead.
	Foreground bool
	// Brief is for a short-lived process that serves one moment of a conversation, such as an
	// agent's hook. It implies Foreground. Close learns what users stated, but ends no session and
	// harvests nothing: other processes end the sessions when they are idle.
	Brief bool
	// Watch watches the project's files for changes, if the configuration allows it. Set it in
	// long-lived processes. Without it, the layer notices files that a conversation's tool calls
	// write, and other changes at the next start.
	Watch bool
	// CountTokens fills in Receipt.Tokens even without a token budget. The first count loads the
	// tokenizer's table, which takes some tens of milliseconds.
	CountTokens bool

	// Taint is what a Transport does with an answer that calls a tool with words of an external
	// claim: see Exchange.Guard. Empty means the setting gateway.taint.
	Taint config.TaintAction

	// RequireOwner is for a program with many users. A turn that names no owner then gets no knowledge,
	// and nothing of it is kept; Remember, Recall and tools return ErrInvalid. Without it, such a turn
	// belongs to the configured owner.
	RequireOwner bool

	// Use adds middlewares around the built-in stages. The first is the outermost.
	Use []Middleware
	// OnReceipt is called with each turn's receipt before the model call, on the turn's
	// goroutine. It must not change the receipt.
	OnReceipt func(context.Context, ken.Receipt)
	// OnMessage is called in the background with each message that is new to a session's
	// journal, in order. It may use the session and should return soon.
	OnMessage func(context.Context, *Session, Said)
	// OnEvent answers the events of hooks that other processes send, if this process holds the
	// owner's store. Nil means that such events are not answered.
	OnEvent func(ctx context.Context, l *Layer, owner string, body []byte) ([]byte, error)
	// Progress receives the progress of long tasks. It is called from several goroutines.
	Progress func(stage string, done, total int)
	// Log receives errors that can't be returned to a caller. Nil means slog.Default().
	Log *slog.Logger

	Now   func() time.Time // default: time.Now
	NewID func() string    // ids of turns; default: UUID version 7
}

func (o Options) withDefaults() Options {
	o.Root = cmp.Or(o.Root, ".")
	o.Foreground = o.Foreground || o.Brief
	o.Log = cmp.Or(o.Log, slog.Default())
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
