package shared

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
)

// proxyEngine is an owner's store, held by this process or by another one. The holder
// may change between two calls.
type proxyEngine struct{ s *ownerConn }

var (
	_ store.Engine = (*proxyEngine)(nil)
	_ store.Remote = (*proxyEngine)(nil)
)

const (
	// maxTries is the maximum number of attempts of a call. Without it, a call that
	// crashes its holder would crash one holder after another.
	maxTries = 8
	// quick is the timeout for calls that take no context.
	quick = 2 * time.Second
	// surely is the time after its start for which a write may be repeated with its ID.
	// It is well below CommitsKept, the time for which a store remembers the ID.
	surely = store.CommitsKept / 3
)

// read runs fn on the store. It runs fn again when the holder is lost, or gave the store up and closed
// it before the call, and on the next engine when the owner has moved there. It makes at most maxTries
// attempts.
func (e *proxyEngine) read(ctx context.Context, fn func(store.Engine) error) error {
	for try := 1; ; try++ {
		r, err := e.s.current(ctx)
		if err == nil {
			err = fn(r.store)
		}
		switch _, lost := remote.Lost(err); {
		case err == nil:
			return nil
		case e.s.w.follow(e.s.owner, err):
			return e.readNext(ctx, fn)
		case r != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return e.s.late(ctx)
		case r == nil, !lost && !(r.client != nil && e.s.w.next != nil && isMoved(err)) && !(bolt.IsClosed(err) && !r.valid()):
			return err
		}
		e.s.lost(r, false)
		if ctx.Err() != nil {
			return e.s.late(ctx)
		}
		if try == maxTries {
			return err
		}
	}
}

// isMoved reports whether a holder refused a call because the owner has moved. The
// holder has not executed the call.
func isMoved(err error) bool {
	var e *ken.Error
	return errors.As(err, &e) && e.Code == ken.CodeRefused && e.Field == "store.url"
}

// readNext is read on the engine that the owner has moved to.
func (e *proxyEngine) readNext(ctx context.Context, fn func(store.Engine) error) error {
	s, release, err := e.s.w.next.Get(ctx, e.s.owner)
	if err != nil {
		return err
	}
	defer release()
	return s.(*proxyEngine).read(ctx, fn)
}

// write is read for a write. fn must pass the context that it receives to the write: it
// carries the write's ID. A repeated write has the same ID, so the store applies it once.
func (e *proxyEngine) write(ctx context.Context, fn func(context.Context, store.Engine) error) error {
	named, start, sent := ctx, time.Now(), false
	if store.CommitOf(ctx) == uuid.Nil {
		named = store.WithCommit(ctx, uuid.Must(uuid.NewV7()))
	}
	answered := false // whether the holder answered the last attempt
	err := e.read(ctx, func(s store.Engine) error {
		answered = false
		if sent && time.Since(start) > surely {
			return errLate
		}
		c := named
		if _, away := s.(*remote.Client); !away && !sent && e.s.w.o.Node == nil && e.s.w.next == nil {
			c = ctx // a call within this process needs no ID: its answer can't be lost
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

// ask is read for calls with a result, askStore for those that take only ctx, and put is write for calls with a result.
func ask[A any](ctx context.Context, e *proxyEngine, fn func(store.Engine) (A, error)) (a A, err error) {
	err = e.read(ctx, func(s store.Engine) (err error) { a, err = fn(s); return err })
	return a, err
}

func askStore[A any](ctx context.Context, e *proxyEngine, fn func(store.Engine, context.Context) (A, error)) (A, error) {
	return ask(ctx, e, func(s store.Engine) (A, error) { return fn(s, ctx) })
}

func put[A any](ctx context.Context, e *proxyEngine, fn func(context.Context, store.Engine) (A, error)) (a A, err error) {
	err = e.write(ctx, func(ctx context.Context, s store.Engine) (err error) { a, err = fn(ctx, s); return err })
	return a, err
}

// errLate means that a write can't be repeated: the store may have forgotten its ID.
var errLate = errors.New("it took too long to find another holder")

// now runs fn on the store, for calls that take no context. It runs fn again when the
// holder is lost meanwhile. It returns without running fn if no store is available
// within quick.
func (e *proxyEngine) now(fn func(store.Engine)) {
	if r := e.s.role.Load(); r != nil {
		if r.held() { // not valid, which reads the clock: a search makes thousands of these calls
			fn(r.store)
			if r.client == nil || !r.client.Broken() {
				return
			}
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

// value is now for calls with a result, which is zero if no store is available.
func value[A any](e *proxyEngine, fn func(store.Engine) A) (a A) {
	e.now(func(s store.Engine) { a = fn(s) })
	return a
}

// Hangs returns an error if the holder of the store is connected but does not answer; nil
// otherwise.
func (e *proxyEngine) Hangs() error {
	if r := e.s.role.Load(); r != nil && r.client != nil {
		return r.client.Hangs()
	}
	if h := e.s.silent.Load(); h != nil {
		return h.err()
	}
	return nil
}

// Owner implements store.Engine.
func (e *proxyEngine) Owner() string { return e.s.owner }

// Dir implements store.Engine.
func (e *proxyEngine) Dir() string { return e.s.dir }

// Embedder implements store.Engine.
func (e *proxyEngine) Embedder() embed.Embedder { return e.s.w.o.Store.Embedder }

// Standby implements store.Projections.
func (e *proxyEngine) Standby() string { return value(e, store.Engine.Standby) }

// EmbedMissing implements store.Engine.
func (e *proxyEngine) EmbedMissing(ctx context.Context) (int, error) {
	return askStore(ctx, e, store.Engine.EmbedMissing)
}

// Compact implements store.Engine.
func (e *proxyEngine) Compact(ctx context.Context) error {
	return e.read(ctx, func(s store.Engine) error { return s.Compact(ctx) })
}

// Rebuild implements store.Engine.
func (e *proxyEngine) Rebuild(ctx context.Context) error {
	return e.read(ctx, func(s store.Engine) error { return s.Rebuild(ctx) })
}

// Shelf implements store.Engine.
func (e *proxyEngine) Shelf() store.Shelf { return shelf{e} }

type shelf struct{ e *proxyEngine }

// View implements store.Shelf.
func (h shelf) View(ctx context.Context, fn func(store.ShelfReader) error) error {
	return h.e.read(ctx, func(s store.Engine) error { return s.Shelf().View(ctx, fn) })
}

// Update implements store.Shelf.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	return h.e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Shelf().Update(ctx, fn) })
}

// WriteClaim implements ken.Store.
func (e *proxyEngine) WriteClaim(ctx context.Context, c ken.Claim) (string, error) {
	return put(ctx, e, func(ctx context.Context, s store.Engine) (string, error) { return s.WriteClaim(ctx, c) })
}

// Query implements ken.Store.
func (e *proxyEngine) Query(ctx context.Context, q ken.Query) ([]ken.Claim, error) {
	return ask(ctx, e, func(s store.Engine) ([]ken.Claim, error) { return s.Query(ctx, q) })
}

// Transition implements ken.Store.
func (e *proxyEngine) Transition(ctx context.Context, t ken.Transition) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Transition(ctx, t) })
}

// Supersede implements ken.Store.
func (e *proxyEngine) Supersede(ctx context.Context, oldID, newID string) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Supersede(ctx, oldID, newID) })
}

// SupersedeFor implements store.Claims.
func (e *proxyEngine) SupersedeFor(ctx context.Context, oldID, newID, reason string, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error {
		return s.SupersedeFor(ctx, oldID, newID, reason, actor)
	})
}

// History implements ken.Store.
func (e *proxyEngine) History(ctx context.Context, id string) ([]ken.ClaimEvent, error) {
	return ask(ctx, e, func(s store.Engine) ([]ken.ClaimEvent, error) { return s.History(ctx, id) })
}

// Get implements store.Claims.
func (e *proxyEngine) Get(ctx context.Context, id string) (ken.Claim, error) {
	return ask(ctx, e, func(s store.Engine) (ken.Claim, error) { return s.Get(ctx, id) })
}

// ByKey implements store.Claims.
func (e *proxyEngine) ByKey(ctx context.Context, key string) (ken.Claim, error) {
	return ask(ctx, e, func(s store.Engine) (ken.Claim, error) { return s.ByKey(ctx, key) })
}

// Import implements store.Claims. A large import takes several transactions if another
// process holds the store, or if this process is a node.
func (e *proxyEngine) Import(ctx context.Context, in []store.Incoming) []store.Outcome {
	if r := e.s.role.Load(); r != nil && r.client == nil && e.s.w.o.Node == nil {
		return r.store.Import(ctx, in)
	}
	out := make([]store.Outcome, 0, len(in))
	for part := range remote.Parts(in) {
		var got []store.Outcome
		err := e.write(ctx, func(ctx context.Context, s store.Engine) error {
			got = s.Import(ctx, part)
			for i := range got {
				if _, lost := remote.Lost(got[i].Err); lost {
					return got[i].Err
				}
			}
			return nil
		})
		if err != nil {
			got = make([]store.Outcome, len(part))
			for i := range got {
				got[i].Err = err
			}
		}
		out = append(out, got...)
	}
	return out
}

// Reinforce implements store.Claims.
func (e *proxyEngine) Reinforce(ctx context.Context, id string, evidence []ken.Evidence, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Reinforce(ctx, id, evidence, actor) })
}

// Archive implements store.Claims.
func (e *proxyEngine) Archive(ctx context.Context, id, reason string, actor ken.Actor) error {
	return e.write(ctx, func(ctx context.Context, s store.Engine) error { return s.Archive(ctx, id, reason, actor) })
}

// Forget implements store.Claims.
func (e *proxyEngine) Forget(ctx context.Context, id, reason string, actor ken.Actor) ([]string, error) {
	return put(ctx, e, func(ctx context.Context, s store.Engine) ([]string, error) { return s.Forget(ctx, id, reason, actor) })
}

// Scan implements store.Claims.
func (e *proxyEngine) Scan(ctx context.Context, f *ken.Filter, want func(store.Glance) bool) iter.Seq2[ken.Claim, error] {
	own := *f // the caller may change f before the iteration
	return func(yield func(ken.Claim, error) bool) {
		all := remote.Walk(ctx, pages{e}, &own, want)
		if r := e.s.role.Load(); r != nil && r.client == nil && want != nil {
			all = r.store.Scan(ctx, &own, want)
		}
		all(yield)
	}
}

// Claims implements store.Claims.
func (e *proxyEngine) Claims(ctx context.Context) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		all := remote.Walk(ctx, pages{e}, nil, nil)
		if r := e.s.role.Load(); r != nil && r.client == nil {
			all = r.store.Claims(ctx)
		}
		all(yield)
	}
}

// pages reads the claims page by page, each from the current holder. A record keeps its
// ref when another process takes over.
type pages struct{ e *proxyEngine }

func (p pages) Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []engine.Located, next store.Ref, done bool, err error) {
	err = p.e.read(ctx, func(s store.Engine) (err error) {
		page, next, done, err = s.(remote.Paged).Glances(ctx, f, from, n)
		return err
	})
	return page, next, done, err
}

func (p pages) Records(ctx context.Context, refs []store.Ref) ([]engine.Record, error) {
	return ask(ctx, p.e, func(s store.Engine) ([]engine.Record, error) { return s.(remote.Paged).Records(ctx, refs) })
}

// Writes of documents are idempotent, so they need no ID: they use read.

// DocumentHashes implements store.Documents.
func (e *proxyEngine) DocumentHashes(ctx context.Context) (map[string]store.Known, error) {
	return askStore(ctx, e, store.Engine.DocumentHashes)
}

// PutDocuments implements store.Documents.
func (e *proxyEngine) PutDocuments(ctx context.Context, docs []store.Document) error {
	return e.read(ctx, func(s store.Engine) error { return s.PutDocuments(ctx, docs) })
}

// RemoveDocuments implements store.Documents.
func (e *proxyEngine) RemoveDocuments(ctx context.Context, paths []string) error {
	return e.read(ctx, func(s store.Engine) error { return s.RemoveDocuments(ctx, paths) })
}

// TouchDocuments implements store.Documents.
func (e *proxyEngine) TouchDocuments(ctx context.Context, known map[string]store.Known) error {
	return e.read(ctx, func(s store.Engine) error { return s.TouchDocuments(ctx, known) })
}

// Orphans implements store.Documents.
func (e *proxyEngine) Orphans(ctx context.Context) ([]string, error) {
	return askStore(ctx, e, store.Engine.Orphans)
}

// PruneOrphans implements store.Documents. If the holder is lost meanwhile, n does not
// count the documents that it had pruned already.
func (e *proxyEngine) PruneOrphans(ctx context.Context, paths []string) (int, error) {
	return ask(ctx, e, func(s store.Engine) (int, error) { return s.PruneOrphans(ctx, paths) })
}

// Events implements store.Log. When the holder is lost, it continues after the last
// event with the next holder.
func (e *proxyEngine) Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error] {
	return func(yield func(*store.Event, error) bool) {
		for done := false; !done; {
			stopped := false
			err := e.read(ctx, func(s store.Engine) error {
				for ev, err := range s.Events(ctx, from) {
					if err != nil {
						return err
					}
					from = ev.Seq + 1
					if stopped = !yield(ev, nil); stopped {
						return nil
					}
				}
				done = true
				return nil
			})
			if err != nil {
				yield(nil, err)
			}
			if err != nil || stopped {
				return
			}
		}
	}
}

// Seq implements store.Log.
func (e *proxyEngine) Seq() uint64 { return value(e, store.Engine.Seq) }

// Wait implements store.Log.
func (e *proxyEngine) Wait(ctx context.Context, seq uint64) error {
	return e.read(ctx, func(s store.Engine) error { return s.Wait(ctx, seq) })
}

// Check implements store.Engine.
func (e *proxyEngine) Check(ctx context.Context) (store.CheckReport, error) {
	return askStore(ctx, e, store.Engine.Check)
}

// Faults implements store.Engine.
func (e *proxyEngine) Faults(ctx context.Context) ([]store.Fault, error) {
	return askStore(ctx, e, store.Engine.Faults)
}

// VerifyLog implements store.Log.
func (e *proxyEngine) VerifyLog(ctx context.Context) (store.LogReport, error) {
	return askStore(ctx, e, store.Engine.VerifyLog)
}
