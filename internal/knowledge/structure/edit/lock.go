package edit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// What the package keeps on the shelf.
const (
	shelfLock = "structure/edit/lock/" // and what is locked
	shelfTask = "structure/edit/task"  // the number of the newest task
)

// lease is how long a change that reads before it writes may take; a lock of a process
// that died is void after it. What runs under it gets half of that.
const lease = 20 * time.Second

type lock struct {
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

// exclusive runs fn while nobody else runs one for the same thing, in this process or
// another: the store writes a claim whatever it was before, so that of two who change
// what they have read one would be lost.
func (e *Editor) exclusive(ctx context.Context, what string, fn func(ctx context.Context) error) error {
	key, me := shelfLock+what, e.o.NewID()
	if err := e.take(ctx, key, me); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, lease/2)
	err := fn(within)
	cancel()
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/4)
	defer cancel()
	mine := false
	if gone := e.s.Shelf().Update(done, func(tx store.ShelfTx) error {
		if mine = readLock(tx, key).By == me; !mine {
			return nil
		}
		return tx.Delete(key)
	}); err == nil && gone == nil && !mine {
		err = &ken.Error{Code: ken.CodeUnavailable, Msg: "the change took so long that somebody else's may have come in between", Try: "Look at what is there now, and try again."}
	}
	return err
}

// take waits until the lock is free, and takes it.
func (e *Editor) take(ctx context.Context, key, me string) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		free := false
		if err := e.s.Shelf().View(ctx, func(r store.ShelfReader) error {
			free = e.free(r, key)
			return nil
		}); err != nil {
			return err
		}
		if free {
			took := false
			if err := e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
				if took = e.free(tx, key); !took {
					return nil
				}
				b, err := json.Marshal(lock{me, e.now().Add(lease)})
				if err != nil {
					return err
				}
				return tx.Put(key, b)
			}); err != nil || took {
				return err
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (e *Editor) free(r store.ShelfReader, key string) bool {
	until, now := readLock(r, key).Until, e.now()
	// One that is further away than a lease was taken by a clock that was wrong.
	return !now.Before(until) || until.Sub(now) > lease
}

func readLock(r store.ShelfReader, key string) (l lock) {
	if json.Unmarshal(r.Get(key), &l) != nil {
		return lock{}
	}
	return l
}
