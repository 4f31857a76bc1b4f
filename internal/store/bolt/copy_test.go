package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// A copy is whole although others go on to write: its log verifies, and what was
// there when it was begun is found in it.
func TestACopyIsWhole(t *testing.T) {
	ctx := context.Background()
	o := bolt.Options{NoSync: true, Embedder: embedtest.Bag{}}
	s := open(t, t.TempDir(), o)
	for i := range 50 {
		write(t, s, claim(t, fmt.Sprintf("the port of service%d is %d", i, i)))
	}
	put(t, s.Shelf(), "a", "b")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = s.WriteClaim(ctx, claim(t, fmt.Sprintf("written meanwhile %d", i)))
			}
		}
	})
	to := t.TempDir()
	must(t, s.CopyTo(ctx, to))
	close(stop)
	wg.Wait()
	c := open(t, to, o) // and verified when the test ends
	if got := texts(t, c, "service7 port"); len(got) == 0 || got[0] != "the port of service7 is 7" {
		t.Errorf("found %q", got)
	}
	if c.Len() < 50 || c.ID() != s.ID() || shelfOf(t, c.Shelf())["a"] != "b" {
		t.Errorf("%d claims", c.Len())
	}
	if _, err := c.EmbedMissing(ctx); err != nil {
		t.Error(err)
	}
	if have, total := c.Coverage(); have != total {
		t.Errorf("%d of %d have a vector", have, total)
	}
	n := c.Seq()
	if err := s.CopyTo(ctx, to); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("over a store: %v", err)
	}
	closeStore(t, c)
	if c := open(t, to, o); c.Seq() != n {
		t.Errorf("it was written over: %d events became %d", n, c.Seq())
	}
}
