package shared

import (
	"context"
	"errors"
	"testing"
)

// TestOpeningsWaitForEachOther checks that openings beyond the limit wait until another one is
// complete. A caller whose context ends, and Close, do not wait for that.
func TestOpeningsWaitForEachOther(t *testing.T) {
	put := make(chan string, 8)
	w := NewOwners(t.TempDir(), 1, Options{OnPutAway: func(owner string) { put <- owner }})
	w.opening <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, _, err := w.Get(ctx, "ada")
		waits <- err
	}()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("a store is opened beyond the limit, or %v", err)
	}
	go func() {
		_, _, err := w.Get(t.Context(), "ben")
		waits <- err
	}()
	<-w.opening
	if err := <-waits; err != nil {
		t.Error(err)
	}
	_, release, err := w.Get(t.Context(), "eve") // beside one that is in use
	if err != nil {
		t.Fatal(err)
	}
	release()
	for owner := ""; owner != "eve"; { // ada's was given up
		owner = <-put
	}
	w.opening <- struct{}{}
	go func() {
		_, _, err := w.Get(t.Context(), "dan")
		waits <- err
	}()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waits; err == nil {
		t.Error("a store is opened after Close")
	}
}
