package shared

import (
	"context"

	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/store"
)

// Later returns the options of a node with records of a later format than this program's.
func Later(o NodeOptions, by commitlog.Format) NodeOptions {
	o.later = by
	return o
}

// Read runs fn on the store of an engine of this package, as each of its reading methods does.
func Read(ctx context.Context, e store.Engine, fn func(store.Engine) error) error {
	return e.(*proxyEngine).read(ctx, fn)
}
