package remote

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/overlay"
	"github.com/kenlayer/ken/internal/store/remote/codec"
	"github.com/kenlayer/ken/store"
)

// shelf gives access to the holder's shelf. The caller's functions run in this process
// while a transaction is open at the holder. The holder rolls it back if the connection
// breaks, or after ServerOptions.Silence without a request.
//
// The methods of a reader can't return an error. If the connection breaks, they panic, so
// that the caller's function does not continue with missing data. View and Update recover
// the panic and return the error.
type shelf struct{ c *Client }

// Shelf implements store.Engine.
func (c *Client) Shelf() store.Shelf { return shelf{c} }

// View implements store.Shelf.
func (h shelf) View(ctx context.Context, fn func(store.ShelfReader) error) (err error) {
	t, _, err := h.begin(ctx, kView)
	if err != nil {
		return err
	}
	defer t.end()
	return t.run(func() error { return fn(t) })
}

// Update implements store.Shelf. The changes of fn are buffered in this process and sent at
// the commit. After a LostError whose Sent is false, nothing was changed.
func (h shelf) Update(ctx context.Context, fn func(store.ShelfTx) error) error {
	t, known, err := h.begin(ctx, kUpdate)
	if err != nil || known {
		return err
	}
	defer t.end()
	mine := overlay.New(t)
	defer mine.End()
	if err := t.run(func() error { return fn(mine) }); err != nil {
		return err
	}
	if mine.Len() == 0 {
		return nil
	}
	return t.commit(mine)
}

// begin opens a transaction. known reports that an update with the commit id of ctx was
// done before; t is then nil.
func (h shelf) begin(ctx context.Context, kind byte) (t *transaction, known bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	cn, err := h.c.acquireConn(ctx)
	if err != nil {
		return nil, false, err
	}
	t = &transaction{ctx: ctx, c: h.c, cn: cn}
	a, err := t.ask(kind, &shelfRequest{Commit: store.CommitOf(ctx)})
	if err != nil || a.Known {
		h.c.returnConn(cn, err == nil)
		return nil, a.Known, unsent(err)
	}
	return t, false, nil
}

// unsent returns err with Sent false if it is a LostError, because nothing was changed.
func unsent(err error) error {
	if l, ok := errors.AsType[*LostError](err); ok {
		return &LostError{Err: l.Err}
	}
	return err
}

// transaction is the client's side of a transaction that is open on the server.
type transaction struct {
	ctx  context.Context
	c    *Client
	cn   *conn // nil after end
	over bool  // the server has closed it
	bad  bool  // the connection can't be used again
}

// broken is the value with which a reader panics when a request fails.
type broken struct {
	t   *transaction
	err error
}

// run calls fn. If a reader of t panics in fn, run returns the reader's error.
func (t *transaction) run(fn func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *broken:
			if p.t != t {
				panic(p)
			}
			err = unsent(p.err)
		default:
			panic(p)
		}
	}()
	return fn()
}

// end rolls back the transaction, unless it is over, and gives the connection back.
func (t *transaction) end() {
	cn := t.cn
	t.cn = nil
	if !t.over && !t.bad {
		t.bad = sendFrame(cn.nc, kShelfEnd, codec.Append(startFrame(cn.out), &shelfRequest{})) != nil
	}
	t.c.returnConn(cn, !t.bad)
}

// ask sends a request within the transaction and decodes the answer.
func (t *transaction) ask(kind byte, q *shelfRequest) (a shelfAnswer, err error) {
	t.cn.out = codec.Append(startFrame(t.cn.out), q)
	f, err := t.c.exchange(t.ctx, t.cn, kind, t.cn.out)
	return t.answered(kind, f, err)
}

// answered decodes the answer of kind in f. err is the error of the exchange.
func (t *transaction) answered(kind byte, f frame, err error) (a shelfAnswer, _ error) {
	if err != nil {
		if t.bad = true; !errors.Is(err, errSpent) {
			return a, err
		}
	}
	head, rest, err := t.c.head(f)
	if err != nil {
		t.bad = true
		return a, err
	}
	if err := head.Err.err(); err != nil {
		t.over, t.bad = true, true // the server may have closed it
		return a, err
	}
	if err := t.c.peer.answer(kind).Decode(rest, &a); err != nil {
		t.bad = true
		return a, &LostError{Sent: true, Err: err}
	}
	return a, nil
}

// must is ask for the methods of a reader: it panics instead of returning an error.
func (t *transaction) must(kind byte, q *shelfRequest) shelfAnswer {
	if t.cn == nil {
		panic("a shelf was used after the function it was given to had returned")
	}
	a, err := t.ask(kind, q)
	if err != nil {
		panic(&broken{t, err})
	}
	return a
}

// Get implements store.ShelfReader.
func (t *transaction) Get(key string) []byte {
	a := t.must(kShelfGet, &shelfRequest{Key: key})
	if len(a.Values) == 0 {
		return nil
	}
	return a.Values[0]
}

// firstKeys is how many keys the first page of a scan has. It is small because many scans
// stop early.
const firstKeys = 32

// Scan implements store.ShelfReader.
func (t *transaction) Scan(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		q := &shelfRequest{Key: prefix, N: firstKeys}
		for {
			a := t.must(kShelfScan, q)
			for i, key := range a.Keys {
				if i >= len(a.Values) || !yield(key, a.Values[i]) {
					return
				}
				q.After, q.Began = key, true
			}
			if !a.More || len(a.Keys) == 0 {
				return
			}
			q.N = scanKeys
		}
	}
}

// commit sends the changes in parts of about pageBytes, and waits until they are durable.
func (t *transaction) commit(mine *overlay.Overlay) error {
	var part changes
	size := 0
	stage := func() error {
		t.cn.out = codec.Append(startFrame(t.cn.out), &part)
		part, size = changes{}, 0
		nc := t.cn.nc // the transaction may be over by the time that the function runs
		stop := context.AfterFunc(t.ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
		err := sendFrame(nc, kShelfStage, t.cn.out)
		if !stop() {
			return t.ctx.Err()
		}
		return err
	}
	for key, v := range mine.Changes() {
		part.Keys, part.Values = append(part.Keys, key), append(part.Values, v)
		if size += len(key) + len(v); size > pageBytes {
			if err := stage(); err != nil {
				return t.lose(err)
			}
		}
	}
	if len(part.Keys) > 0 {
		if err := stage(); err != nil {
			return t.lose(err)
		}
	}
	_, err := t.ask(kShelfCommit, &shelfRequest{})
	t.over = t.over || err == nil
	return err
}

// lose returns the error for a failed attempt to send changes. Nothing was changed, because
// the commit was not sent.
func (t *transaction) lose(err error) error {
	t.bad = true
	if t.ctx.Err() != nil {
		return t.ctx.Err()
	}
	if errors.Is(err, errTooLarge) {
		return &ken.Error{Code: ken.CodeInvalid, Msg: "a value is too large for a shelf", Try: "Keep it in parts."}
	}
	f, err := t.cn.last(err)
	_, err = t.answered(kShelfCommit, f, err)
	return unsent(err)
}

const (
	scanKeys  = 512 // most keys of a page of a scan
	scanBytes = 256 << 10
)

// Reasons why a client's transaction ended without a commit.
var (
	errEnded  = errors.New("the client is done")
	errGone   = errors.New("the client has disconnected")
	errSilent = &ken.Error{Code: ken.CodeUnavailable, Msg: "a transaction on the shelf was left open without a word; it was rolled back",
		Try: "Do less within one transaction."}
)

// shelf runs a transaction for a client. The caller's function runs in the client, which
// sends its reads as requests.
func (c *session) shelf(f frame) error {
	var q shelfRequest
	if err := c.decode(f, &q); err != nil {
		return c.sendRefusal(err)
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
	if !ran && err == nil { // an update with this commit id was done before
		return c.tell(nil, &shelfAnswer{Known: true})
	}
	if ran && err == nil {
		return c.tell(nil, &shelfAnswer{})
	}
	return c.transacted(err)
}

// transacted sends the client the error of a transaction that was not committed. If it
// returns an error, the connection ends, too.
func (c *session) transacted(err error) error {
	switch {
	case err == nil, errors.Is(err, errEnded):
		return nil
	case errors.Is(err, errGone):
		return err
	case errors.Is(err, errSilent):
		// The client reads this answer after its next request.
		return errors.Join(err, c.tell(err, &shelfAnswer{}))
	}
	return c.tell(err, &shelfAnswer{})
}

func (c *session) tell(err error, a *shelfAnswer) error {
	return c.send(c.answer(c.store.Commit(), err, a))
}

// transact answers the client's requests within a transaction. When the client commits, it
// returns the changes to apply. If the client ends the transaction, it returns errEnded.
func (c *session) transact(r store.ShelfReader) (todo changes, err error) {
	if err := c.tell(nil, &shelfAnswer{}); err != nil {
		return todo, errGone
	}
	var s scan
	defer s.end()
	var refused error // why a staged change can't be applied; sent as the answer to the commit
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
			if err := c.decode(f, &part); isRefusal(err) {
				refused = err
			} else if err != nil || len(part.Keys) != len(part.Values) {
				return todo, errGone
			}
			todo.Keys, todo.Values = append(todo.Keys, part.Keys...), append(todo.Values, part.Values...)
			continue
		}
		var q shelfRequest
		if names[f.kind] == "" {
			return todo, c.unknown(f.kind)
		}
		if err := c.decode(f, &q); isRefusal(err) {
			return todo, err
		} else if err != nil {
			return todo, errGone
		}
		a := &shelfAnswer{}
		switch f.kind {
		case kShelfCommit:
			return todo, refused
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

// scan is the client's last scan, kept open because the next page usually continues it. The
// zero value is no scan.
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

// page returns the next page of the scan that q requests. It starts a new scan if q does not
// continue the last one.
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

// after yields the entries whose keys have the prefix q.Key, from behind q.After if q.Began.
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
