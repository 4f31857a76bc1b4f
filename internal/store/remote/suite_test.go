package remote_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) ken.Store { return serve(t, o, remote.ServerOptions{}) })
}

func TestProjections(t *testing.T) {
	storetest.RunProjections(t, func(t *testing.T, o storetest.Options) *served { return serve(t, o, remote.ServerOptions{}) })
}

func TestShelf(t *testing.T) {
	storetest.Shelf(t, func(t *testing.T) store.Shelf { return serve(t, storetest.Options{}, remote.ServerOptions{}).Shelf() })
}
