package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/kenlayer/ken/store"
)

var errAlone = errors.New("this one fails")

// Updates of several callers may share a transaction. Each of these finds what
// those before it did, and nothing of those that failed or panicked.
func shelfAlone(k *shelfKit) {
	const each = 12
	together(func(w int) {
		for i := range each {
			key := fmt.Sprintf("by/%d/%02d", w, i)
			func() {
				defer func() {
					if r := recover(); (r != nil) != (w%3 == 2) {
						k.Errorf("writer %d: panic %v", w, r)
					}
				}()
				err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
					if got := scan(tx, "failed/"); len(got) > 0 {
						k.Errorf("it sees what failed: %q", got)
					}
					if i > 0 && w%3 == 0 && tx.Get(fmt.Sprintf("by/%d/%02d", w, i-1)) == nil {
						k.Errorf("it does not see its caller's last update")
					}
					if w%3 == 0 {
						return tx.Put(key, nil)
					}
					if err := tx.Put("failed/"+key, nil); err != nil {
						return err
					}
					for seen := range tx.Scan("by/") {
						if err := tx.Delete(seen); err != nil {
							return err
						}
						break
					}
					if w%3 == 1 {
						return errAlone
					}
					panic("this one panics")
				})
				if fails := w%3 == 1; fails != errors.Is(err, errAlone) {
					k.Errorf("writer %d: %v", w, err)
				}
			}()
		}
	})
	var want []string
	for w := range writers {
		for i := range each {
			if w%3 == 0 {
				want = append(want, fmt.Sprintf("by/%d/%02d", w, i))
			}
		}
	}
	slices.Sort(want)
	k.want("", want...)
}

// A test that fails within an update ends its goroutine there.
func shelfGoexit(k *shelfKit) {
	k.fill("a")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			k.put(tx, "b", "half")
			runtime.Goexit()
			return nil
		})
	}()
	<-gone
	k.want("", "a")
	k.fill("c")
	k.want("", "a", "c")
}

// Whoever waits behind a long update may have a context that ends.
func shelfGivesUp(k *shelfKit) {
	over, cancel := context.WithCancel(k.ctx)
	entered, leave, long := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		long <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			close(entered)
			<-leave
			return tx.Put("long", nil)
		})
	}()
	<-entered
	short := make(chan error, 1)
	go func() { short <- k.s.Update(over, func(tx store.ShelfTx) error { return tx.Put("short", nil) }) }()
	cancel()
	close(leave)
	if err := <-long; err != nil {
		k.Error(err)
	}
	if err := <-short; !errors.Is(err, context.Canceled) {
		k.Errorf("it returns %v", err)
	}
	k.want("", "long")
}
