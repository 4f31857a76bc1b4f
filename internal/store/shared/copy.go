package shared

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

// CopyTo implements engine.Copier. The holder of the store writes to dir.
func (e *proxyEngine) CopyTo(ctx context.Context, dir string) error {
	return e.read(ctx, func(s store.Engine) error { return s.(engine.Copier).CopyTo(ctx, dir) })
}

// List names the owners that there are: in the folder, or in the node's engine.
func (w *Owners) List(ctx context.Context) ([]string, error) {
	if w.o.Node == nil {
		return bolt.List(w.dir)
	}
	return w.o.Node.o.Log.Owners(ctx)
}

// CopyTo copies an owner's store as it is now to a folder that has none, while it is in use.
// A node copies from the engine, and asks no other node. Errors: one that wraps a bolt.AwayError
// for an owner who is elsewhere.
func (w *Owners) CopyTo(ctx context.Context, owner, dir string) error {
	if err := w.copyTo(ctx, owner, dir); err != nil || w.o.Node == nil {
		return err
	}
	lock, err := bolt.Acquire(dir, bolt.Options{Owner: owner})
	if err != nil {
		return err
	}
	standing, err := lock.Standing()
	if err == nil {
		err = standing.Away(owner)
	}
	if !w.follow(owner, err) {
		return errors.Join(err, lock.Release())
	}
	if err := errors.Join(lock.Clear(), lock.Release()); err != nil {
		return err
	}
	return w.next.CopyTo(ctx, owner, dir)
}

// copyTo is CopyTo, and a node also copies what has left the engine, or has come in part.
func (w *Owners) copyTo(ctx context.Context, owner, dir string) error {
	if w.o.Node == nil {
		s, release, err := w.Get(ctx, owner)
		if err != nil {
			return err
		}
		defer release()
		return s.(*proxyEngine).CopyTo(ctx, dir)
	}
	o := w.o.Store
	o.Owner = owner
	lock, err := bolt.Acquire(dir, o)
	if err != nil {
		return err
	}
	lock.LeaveUnsynced() // a copy that is cut short counts for nothing
	t := &tenure{n: w.o.Node, owner: owner, dir: dir}
	last, err := w.o.Node.o.Log.Last(ctx, owner)
	if err == nil && last == 0 {
		err = &ken.Error{Code: ken.CodeNotFound, Field: "owner", Msg: "the engine has no owner " + owner, Try: "See ken doctor for those that it has."}
	}
	if err == nil {
		_, _, err = t.load(ctx, lock)
	}
	return errors.Join(err, lock.Release())
}
