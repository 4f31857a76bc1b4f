package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/store"
)

func shelfCounter(k *shelfKit) {
	const each = 25
	together(func(w int) {
		for range each {
			err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
				n, _ := strconv.Atoi(string(tx.Get("n")))
				if err := tx.Put(fmt.Sprintf("by/%d/%d", w, n), nil); err != nil {
					return err
				}
				return tx.Put("n", []byte(strconv.Itoa(n+1)))
			})
			if err != nil {
				k.Errorf("update: %v", err)
			}
		}
	})
	if v, _ := k.get("n"); v != strconv.Itoa(writers*each) {
		k.Errorf("%d updates counted to %s", writers*each, v)
	}
	if n := len(k.keys("by/")); n != writers*each {
		k.Errorf("%d of %d keys", n, writers*each)
	}
}

// A view that began before an update is neither changed by it nor waits for it.
func shelfSnapshot(k *shelfKit) {
	// An update that has to enlarge the file may wait for the readers to go, and
	// here the reader waits for the update: make room first.
	k.update(func(tx store.ShelfTx) { k.put(tx, "room", strings.Repeat("x", 1<<20)) })
	k.update(func(tx store.ShelfTx) { k.delete(tx, "room") })
	k.fill("a", "b")
	err := k.s.View(k.ctx, func(r store.ShelfReader) error {
		done := make(chan error)
		go func() {
			done <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
				if err := tx.Put("a", []byte("changed")); err != nil {
					return err
				}
				if err := tx.Delete("b"); err != nil {
					return err
				}
				return tx.Put("c", []byte("new"))
			})
		}()
		if err := <-done; err != nil {
			return err
		}
		k.same(r, "", map[string]string{"a": "a", "b": "b"}, 0, 0)
		return nil
	})
	if err != nil {
		k.Error(err)
	}
	k.want("", "a", "c")

	// The other way round: a view within the time of an update sees nothing of it.
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- k.s.Update(k.ctx, func(tx store.ShelfTx) error {
			err := tx.Put("d", nil)
			close(entered)
			<-leave
			return err
		})
	}()
	<-entered
	k.want("", "a", "c")
	close(leave)
	if err := <-done; err != nil {
		k.Error(err)
	}
	k.want("", "a", "c", "d")
}

func shelfAtomicity(k *shelfKit) {
	k.fill("pair/a", "pair/b")
	together(func(w int) {
		for i := range 20 {
			value := fmt.Sprintf("%d/%d", w, i)
			if w%4 == 0 {
				err := k.s.Update(k.ctx, func(tx store.ShelfTx) error {
					if err := tx.Put("pair/a", []byte(value)); err != nil {
						return err
					}
					return tx.Put("pair/b", []byte(value))
				})
				if err != nil {
					k.Errorf("update: %v", err)
				}
				continue
			}
			err := k.s.View(k.ctx, func(r store.ShelfReader) error {
				a, b := string(r.Get("pair/a")), string(r.Get("pair/b"))
				if a != b && a != "pair/a" {
					k.Errorf("half an update: %q and %q", a, b)
				}
				if got := scan(r, "pair/"); !slices.Equal(got, []string{"pair/a", "pair/b"}) {
					k.Errorf("it sees %q", got)
				}
				return nil
			})
			if err != nil {
				k.Errorf("view: %v", err)
			}
		}
	})
}
