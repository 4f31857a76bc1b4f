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

// List returns the names of all owners: those in the folder or, on a node, those in the engine.
func (w *Owners) List(ctx context.Context) ([]string, error) {
	if w.o.Node == nil {
		return bolt.List(w.dir)
	}
	return w.o.Node.o.Log.Owners(ctx)
}

// CopyTo copies the current state of an owner's store to dir, which must not contain a store. The
// store may be in use meanwhile. A node copies from the engine, without the node that serves the
// owner. CopyTo follows an owner that has moved to Options.Next. For an owner in another place the
// error wraps a bolt.AwayError.
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
		err = standing.CheckUsable(owner)
	}
	if !w.follow(owner, err) {
		return errors.Join(err, lock.Release())
	}
	if err := errors.Join(lock.Clear(), lock.Release()); err != nil {
		return err
	}
	return w.next.CopyTo(ctx, owner, dir)
}

// copyTo is CopyTo, except that a node also copies a store that has moved away from the engine or
// has not completely arrived in it.
func (w *Owners) copyTo(ctx context.Context, owner, dir string) error {
	if w.o.Node == nil {
		s, release, err := w.Get(ctx, owner)
		if err != nil {
			return err
		}
		defer release()
		return s.(*proxyEngine).CopyTo(ctx, dir)
	}
	lock, err := bolt.Acquire(dir, w.store(owner))
	if err != nil {
		return err
	}
	lock.LeaveUnsynced() // an incomplete copy is not used
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
