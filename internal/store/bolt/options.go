package bolt

import (
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/store"
)

// Options configures a store; the zero value works.
type Options struct {
	Owner string // default ken.DefaultOwner

	// Embedder makes the vectors. Nil keeps none. One that works in process
	// (embed.IsLocal) embeds during the write; for any other, a record is
	// searchable by keyword at once and by vector after the next EmbedMissing.
	Embedder embed.Embedder

	// Progress is told about long work while the store opens or rebuilds, from
	// one goroutine at a time. May be nil.
	Progress Progress

	// Assign finds out what a claim is about while it is written: see store.Env. The
	// store hands itself, where Known counts what the same transaction has written
	// before, too. Nil: nobody does.
	Assign func(store.Structure, *ken.Claim)

	// Log hears of damage, of what is mended, and of texts that could not be read.
	// Default slog.Default().
	Log *slog.Logger

	Now   func() time.Time // default time.Now
	NewID func() string    // default UUID version 7
	// LockTimeout is how long to wait for a folder that another process holds.
	// Default 500 ms; less than 0 waits not at all.
	LockTimeout time.Duration
	// NoSync leaves out the fsync of every commit: for bulk loads and benchmarks
	// of other parts. A crash may then lose what was acknowledged.
	NoSync bool

	readOnly bool // the file is read alone: a repair, or a folder that can't be written
}

// Progress is told how far a stage is: done of total, in the stage's unit. A
// total of 0 is unknown.
type Progress func(stage string, done, total int)

func (o Options) withDefaults() Options {
	if o.Owner == "" {
		o.Owner = ken.DefaultOwner
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
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 500 * time.Millisecond
	}
	return o
}

func (o Options) env() store.Env { return store.Env{Now: o.Now, NewID: o.NewID, Log: o.Log} }
