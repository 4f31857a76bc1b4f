package shared_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

func suiteOptions(o storetest.Options) shared.Options {
	b := bolt.Options{Now: o.Now, NewID: o.NewID, Assign: o.Assign, NoSync: true}
	if o.Embed != nil {
		b.Embedder = suiteEmbedder{o}
	}
	return shared.Options{Store: b}
}

// roles are the two that a process can have at a store.
var roles = map[string]func(t *testing.T, o storetest.Options) store.Engine{
	"holder": func(t *testing.T, o storetest.Options) store.Engine {
		return openAs(t, owners(t, t.TempDir(), suiteOptions(o)), o.Owner)
	},
	"client": func(t *testing.T, o storetest.Options) store.Engine {
		dir := t.TempDir()
		openAs(t, owners(t, dir, suiteOptions(o)), o.Owner)
		w := owners(t, dir, suiteOptions(o))
		s := openAs(t, w, o.Owner)
		if w.Holds(o.Owner) {
			t.Fatal("the second one holds the folder")
		}
		return s
	},
}

func openAs(t *testing.T, w *shared.Owners, owner string) store.Engine {
	t.Helper()
	s, release, err := w.Get(context.Background(), owner)
	must(t, err)
	t.Cleanup(release)
	return s
}

func TestStore(t *testing.T) {
	for name, open := range roles {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return open(t, o) })
		})
	}
}

func TestProjections(t *testing.T) {
	for name, open := range roles {
		t.Run(name, func(t *testing.T) { storetest.RunProjections(t, open) })
	}
}

func TestShelf(t *testing.T) {
	for name, open := range roles {
		t.Run(name, func(t *testing.T) {
			storetest.Shelf(t, func(t *testing.T) store.Shelf { return open(t, storetest.Options{}).Shelf() })
		})
	}
}

// suiteOptionsPlain are of the children.
func suiteOptionsPlain() shared.Options {
	return shared.Options{Store: bolt.Options{Embedder: embedtest.Bag{}}}
}
