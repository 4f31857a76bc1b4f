package shared

import (
	"log/slog"
	"os"
	"time"

	"github.com/kenlayer/ken/internal/store/bolt"
)

// Options configures Owners; the zero value works.
type Options struct {
	// Store is how stores are opened. Owner and LockTimeout are ignored.
	Store bolt.Options

	// OnHold is called when this process has come to hold an owner's folder, the
	// first time as well as by taking over: it is who looks after the store from now
	// on. It must not take long, nor call Close. May be nil.
	OnHold func(owner string)

	// Wait is how long a folder may be held by a process that can't be reached before
	// that is an error. Default 10 s.
	Wait time.Duration
	// RuntimeDir is where sockets lie whose path would be too long in the folder of
	// the store: in a folder of this user alone. Default XDG_RUNTIME_DIR, else the
	// folder for temporary files.
	RuntimeDir string
	// Mend is how often a holder looks whether its socket is still there. Default 1 s.
	Mend time.Duration
	Log  *slog.Logger // default slog.Default()
}

// drain is how long a holder that ends waits for what it was asked.
const drain = 5 * time.Second

func (o Options) withDefaults() Options {
	if o.OnHold == nil {
		o.OnHold = func(string) {}
	}
	if o.Wait <= 0 {
		o.Wait = 10 * time.Second
	}
	if o.RuntimeDir == "" {
		if o.RuntimeDir = os.Getenv("XDG_RUNTIME_DIR"); o.RuntimeDir == "" {
			o.RuntimeDir = os.TempDir()
		}
	}
	if o.Mend <= 0 {
		o.Mend = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Store.Log == nil {
		o.Store.Log = o.Log
	}
	if o.Store.Progress == nil {
		o.Store.Progress = func(string, int, int) {}
	}
	o.Store.LockTimeout = -1 // others are waited for by asking them
	return o
}
