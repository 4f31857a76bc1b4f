package remote

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

const (
	scanKeys  = 512 // most keys of a page of a scan
	scanBytes = 256 << 10
)

// Ends of a client's transaction.
var (
	errEnded  = errors.New("the client is done")
	errGone   = errors.New("the client is gone")
	errSilent = &ken.Error{Code: ken.CodeUnavailable, Msg: "a transaction on the shelf was left open without a word; it was rolled back",
		Try: "Do less within one transaction."}
)

// shelf runs a transaction for a client: its function runs there, and asks.
func (c *session) shelf(f frame) error {
	var q shelfRequest
	if err := codec.Decode(f.body, &q); err != nil {
		return err
	}
	if f.kind == kView {
		err := c.store.Shelf().View(c.ctx, func(r store.ShelfReader) error {
			_, err := c.transact(r)
			return err
		})
		return c.transacted(err)
	}
	ran := false
	err := c.store.Shelf().Update(named(c.ctx, q.Commit), func(tx store.ShelfTx) error {
		ran = true
		todo, err := c.transact(tx)
		if err != nil {
			return err
		}
		for i, key := range todo.Keys {
			if todo.Values[i] == nil {
				err = tx.Delete(key)
			} else {
				err = tx.Put(key, todo.Values[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if !ran && err == nil { // it was done before
		return c.tell(nil, &shelfAnswer{Known: true})
	}
	if ran && err == nil {
		return c.tell(nil, &shelfAnswer{})
	}
	return c.transacted(err)
}

// transacted ends a transaction that was not committed. An error ends the
// connection, too.
func (c *session) transacted(err error) error {
	switch {
	case err == nil, errors.Is(err, errEnded):
		return nil
	case errors.Is(err, errGone):
		return err
	case errors.Is(err, errSilent):
		// The client hears of it when it speaks again.
		return errors.Join(err, c.tell(err, &shelfAnswer{}))
	}
	return c.tell(err, &shelfAnswer{})
}

func (c *session) tell(err error, a *shelfAnswer) error {
	return c.send(c.answer(c.store.Commit(), err, func(b []byte) []byte { return appendTo(b, a) }))
}

// transact answers what the client asks within a transaction, until it says what is
// to be done, or that it is done.
func (c *session) transact(r store.ShelfReader) (todo changes, err error) {
	if err := c.tell(nil, &shelfAnswer{}); err != nil {
		return todo, errGone
	}
	var s scan
	defer s.end()
	silence := time.NewTimer(c.s.o.Silence)
	defer silence.Stop()
	for {
		var f frame
		select {
		case f = <-c.frames:
		case <-c.ctx.Done():
			return todo, errGone
		case <-silence.C:
			return todo, errSilent
		}
		silence.Reset(c.s.o.Silence)
		if f.kind == kShelfStage {
			var part changes
			if err := codec.Decode(f.body, &part); err != nil || len(part.Keys) != len(part.Values) {
				return todo, errGone
			}
			todo.Keys, todo.Values = append(todo.Keys, part.Keys...), append(todo.Values, part.Values...)
			continue
		}
		var q shelfRequest
		if err := codec.Decode(f.body, &q); err != nil {
			return todo, errGone
		}
		a := &shelfAnswer{}
		switch f.kind {
		case kShelfCommit:
			return todo, nil
		case kShelfEnd:
			return todo, errEnded
		case kShelfGet:
			if v := r.Get(q.Key); v != nil {
				a.Values = [][]byte{v}
			}
		case kShelfScan:
			a = s.page(r, &q)
		default:
			return todo, fmt.Errorf("%w: a frame of kind %d", errGone, f.kind)
		}
		if c.tell(nil, a) != nil {
			return todo, errGone
		}
	}
}

// scan is the last one that a client asked for, where it stopped: most are gone on
// with.
type scan struct {
	prefix, last string
	next         func() (string, []byte, bool)
	stop         func()
}

func (s *scan) end() {
	if s.stop != nil {
		s.stop()
	}
	s.next, s.stop = nil, nil
}

// page reads what follows the last key that the client has seen.
func (s *scan) page(r store.ShelfReader, q *shelfRequest) *shelfAnswer {
	if s.next == nil || !q.Began || s.prefix != q.Key || s.last != q.After {
		s.end()
		s.prefix = q.Key
		s.next, s.stop = iter.Pull2(after(r, q))
	}
	a := &shelfAnswer{}
	size := 0
	for len(a.Keys) < min(max(q.N, 1), scanKeys) && size < scanBytes {
		key, v, ok := s.next()
		if !ok {
			s.end()
			return a
		}
		a.Keys, a.Values = append(a.Keys, key), append(a.Values, v)
		s.last = key
		size += len(key) + len(v)
	}
	a.More = true
	return a
}

// after yields what stands under a prefix, behind a key.
func after(r store.ShelfReader, q *shelfRequest) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, v := range r.Scan(q.Key) {
			if q.Began && key <= q.After {
				continue
			}
			if !yield(key, v) {
				return
			}
		}
	}
}
