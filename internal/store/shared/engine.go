package shared

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// engine is a store that this process or another one holds, now the one and then
// the other.
type engine struct{ s *seat }

var (
	_ store.Engine = (*engine)(nil)
	_ store.Remote = (*engine)(nil)
)

const (
	// maxTries is after how many lost holders a call gives up: one that takes each
	// down with it would go on for ever.
	maxTries = 8
	// quick bounds the calls that take no context.
	quick = 2 * time.Second
	// surely is how long a write may be repeated under its name.
	surely = store.CommitsKept / 3
)

// read runs fn on the store, and again when its holder is lost.
func (e *engine) read(ctx context.Context, fn func(store.Engine) error) error {
	for try := 1; ; try++ {
		r, err := e.s.current(ctx)
		if err != nil {
			return err
		}
		err = fn(r.store)
		if _, lost := remote.Lost(err); !lost {
			return err
		}
		e.s.lost(r, false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if try == maxTries {
			return err
		}
	}
}

// write is read for a write: fn gives the context that it gets to it. Done again, it
// has the same name, so that it is done once.
func (e *engine) write(ctx context.Context, fn func(context.Context, store.Engine) error) error {
	named, start, sent := ctx, time.Now(), false
	if store.CommitOf(ctx) == uuid.Nil {
		named = store.WithCommit(ctx, uuid.Must(uuid.NewV7()))
	}
	answered := false // the last try was
	err := e.read(ctx, func(s store.Engine) error {
		answered = false
		if sent && time.Since(start) > surely {
			return errLate
		}
		c := named
		if _, away := s.(*remote.Client); !away && !sent {
			c = ctx // there is no answer that could get lost
		}
		err := fn(c, s)
		was, lost := remote.Lost(err)
		sent, answered = sent || was, !lost
		return err
	})
	if err != nil && sent && !answered && ctx.Err() == nil {
		return &ken.Error{Code: ken.CodeUnavailable, Msg: "it is not known whether the write was done", Err: err,
			Try: "Look whether it is there before you repeat it."}
	}
	return err
}

// errLate is that a write's name may be forgotten by now.
var errLate = errors.New("it took too long to find another holder")

// now runs fn, which takes no context, on the store: again when the holder was lost
// meanwhile, for two seconds at most. It does not run when there is no store by then.
func (e *engine) now(fn func(store.Engine)) {
	if r := e.s.role.Load(); r != nil {
		fn(r.store)
		if r.client == nil || !r.client.Broken() {
			return
		}
		e.s.lost(r, false)
	}
	ctx, cancel := context.WithTimeout(e.s.ctx, quick)
	defer cancel()
	for {
		r, err := e.s.current(ctx)
		if err != nil {
			return
		}
		fn(r.store)
		if r.client == nil || !r.client.Broken() || ctx.Err() != nil {
			return
		}
		e.s.lost(r, false)
	}
}

// Hangs is why the store can't be asked just now: its holder is there and does not answer.
// Nil when it does.
func (e *engine) Hangs() error {
	if r := e.s.role.Load(); r != nil && r.client != nil {
		return r.client.Hangs()
	}
	if h := e.s.silent.Load(); h != nil {
		return h.err()
	}
	return nil
}

// Owner implements store.Engine.
func (e *engine) Owner() string { return e.s.owner }

// Dir implements store.Engine.
func (e *engine) Dir() string { return e.s.dir }

// Embedder implements store.Engine.
func (e *engine) Embedder() embed.Embedder { return e.s.w.o.Store.Embedder }

// EmbedMissing implements store.Engine.
func (e *engine) EmbedMissing(ctx context.Context) (n int, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { n, err = s.EmbedMissing(ctx); return err })
	return n, err
}

// Compact implements store.Engine.
func (e *engine) Compact(ctx context.Context) error {
	return e.read(ctx, func(s store.Engine) error { return s.Compact(ctx) })
}

// Rebuild implements store.Engine.
func (e *engine) Rebuild(ctx context.Context) error {
	return e.read(ctx, func(s store.Engine) error { return s.Rebuild(ctx) })
}

// Shelf implements store.Engine.
func (e *engine) Shelf() store.Shelf { return shelf{e} }

type shelf struct{ e *engine }

// View implements store.Shelf.
func (h shelf) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return h.e.read(ctx, func(s store.Engine) error { return s.Shelf().View(ctx, fn) })
}

// Update implements store.Shelf.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return h.e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Shelf().Update(ctx, fn) })
}
