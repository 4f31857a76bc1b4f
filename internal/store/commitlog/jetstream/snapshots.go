package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// A snapshot's name is the owner's token and the position, in twenty digits. Which one counts
// stands in a bucket, so that a node that was paused can't put an older one in its place.
func snapshotName(owner string, position uint64) string {
	return fmt.Sprintf("%s.%020d", token(owner), position)
}

// current is the position of the snapshot that counts, and the revision of its entry.
func (l *Log) current(ctx context.Context, key string) (position, revision uint64, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		e, err := l.index.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			position, revision = 0, 0
			return nil
		}
		if err != nil {
			return err
		}
		revision = e.Revision()
		position, err = strconv.ParseUint(string(e.Value()), 10, 64)
		return err
	})
	return position, revision, err
}

// PutSnapshot implements commitlog.Log.
func (l *Log) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	before, revision, err := l.current(ctx, token(owner))
	if err != nil || before > position {
		return errors.Join(err, drain(r))
	}
	if err := l.send(ctx, snapshotName(owner, position), r); err != nil {
		return unreachable(err)
	}
	for before < position {
		err := l.try(ctx, func(ctx context.Context) error {
			_, err := l.index.Update(ctx, token(owner), []byte(strconv.FormatUint(position, 10)), revision)
			return err
		})
		if err == nil {
			break
		}
		if !fenced(err) {
			return err
		}
		if before, revision, err = l.current(ctx, token(owner)); err != nil {
			return err
		}
	}
	old := before // which this one replaces, or this one where another node was faster
	switch {
	case before > position:
		old = position
	case before == position:
		return nil
	}
	if old == 0 {
		return nil
	}
	return l.drop(ctx, snapshotName(owner, old))
}

// transfer connects with the server that l is connected with, for one snapshot. On a slow link, the
// beats of the node and its writes would wait behind it on their own connection.
func (l *Log) transfer(ctx context.Context) (js jetstream.JetStream, s jetstream.ObjectStore, end func(), err error) {
	near := l.nc.ConnectedUrl()
	if near == "" {
		return nil, nil, nil, nats.ErrDisconnected
	}
	// Its pings wait behind the snapshot: who reads or sends notices that nothing moves.
	nc, err := connect(ctx, near+","+l.o.URL, append(slices.Clone(l.opts), nats.DontRandomize(), nats.PingInterval(readWait)))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if js, err = jetstream.New(nc); err == nil {
		s, err = js.ObjectStore(ctx, l.o.Prefix+"_snapshots")
	}
	if err != nil {
		nc.Close()
		return nil, nil, nil, err
	}
	return js, s, nc.Close, nil
}

// connect is nats.Connect, which waits for each server in turn, until ctx ends.
func connect(ctx context.Context, url string, opts []nats.Option) (*nats.Conn, error) {
	type connected struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan connected, 1)
	go func() {
		nc, err := nats.Connect(url, opts...)
		done <- connected{nc, err}
	}()
	select {
	case c := <-done:
		return c.nc, c.err
	case <-ctx.Done():
		go func() {
			if c := <-done; c.err == nil {
				c.nc.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// send puts an object. One of that name stays until the new one is whole.
func (l *Log) send(ctx context.Context, name string, r io.Reader) error {
	js, s, end, err := l.transfer(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := func() error {
		err := l.settle(ctx, js)
		if err != nil {
			time.AfterFunc(readSilence, cancel) // else what was sent is waited for as long as for all of it
		}
		return err
	}
	_, err = s.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}}, &paced{r: r, wait: wait})
	return err
}

const (
	// paceBytes is how much of a snapshot is on its way at most. The client library sends all that it
	// reads without waiting, and the servers refuse what they can't keep in memory until it is stored.
	paceBytes = 1 << 20
	// settleWait bounds how long that much may take.
	settleWait = 20 * time.Second
)

// paced is a reader that waits after each paceBytes.
type paced struct {
	r    io.Reader
	n    int
	wait func() error
}

func (p *paced) Read(b []byte) (int, error) {
	if p.n >= paceBytes {
		if err := p.wait(); err != nil {
			return 0, err
		}
		p.n = 0
	}
	n, err := p.r.Read(b)
	p.n += n
	return n, err
}

// settle returns when what a connection has sent of snapshots is stored: the stream takes its
// messages in order, and this one is the last. It replaces the one before.
func (l *Log) settle(ctx context.Context, js jetstream.JetStream) error {
	m := nats.NewMsg("$O." + l.o.Prefix + "_snapshots.C.settle")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	_, err := js.PublishMsg(ctx, m)
	return err
}

func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func (l *Log) drop(ctx context.Context, name string) error {
	return l.try(ctx, func(ctx context.Context) error {
		if err := l.snapshots.Delete(ctx, name); !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
		return nil
	})
}

// sweepWait bounds a sweep: the servers take seconds to list thousands of snapshots, so nobody
// waits for it.
const sweepWait = 5 * time.Minute

// sweep removes snapshots that no longer count, of nodes that ended before they could.
func (l *Log) sweep(ctx context.Context) error {
	all, err := l.snapshots.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		err = nil
	}
	by := map[string][]*jetstream.ObjectInfo{}
	for _, o := range all {
		key, _, _ := strings.Cut(o.Name, ".")
		by[key] = append(by[key], o)
	}
	for key, some := range by {
		if len(some) < 2 || err != nil {
			continue
		}
		var position uint64
		if position, _, err = l.current(ctx, key); err != nil {
			break
		}
		for _, o := range some {
			if _, digits, _ := strings.Cut(o.Name, "."); digits < fmt.Sprintf("%020d", position) {
				err = errors.Join(err, l.drop(ctx, o.Name))
			}
		}
	}
	return err
}

// Snapshot implements commitlog.Log. Its reader asks for the snapshot when it is read.
func (l *Log) Snapshot(ctx context.Context, owner string) (uint64, io.ReadCloser, error) {
	position, _, err := l.current(ctx, token(owner))
	if err != nil || position == 0 {
		return 0, nil, err
	}
	open := func() (io.ReadCloser, func(), error) { return l.receive(ctx, snapshotName(owner, position)) }
	return position, &snapshotReader{open: open, log: l}, nil
}

// receive begins to read an object. end is called when it is read.
func (l *Log) receive(ctx context.Context, name string) (r io.ReadCloser, end func(), err error) {
	js, from, disconnect, err := l.transfer(ctx)
	if err != nil {
		return nil, nil, unreachable(err)
	}
	life, stop := context.WithTimeout(ctx, readWait)
	end = func() { stop(); disconnect() }
	r, err = l.chunks(life, js, from, name)
	if err != nil {
		end()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			l.leave()
			err = fmt.Errorf("%w: no server answers who is asked for a snapshot: %w", commitlog.ErrUnreachable, err)
		}
		if errors.Is(err, jetstream.ErrObjectNotFound) { // another one has taken its place meanwhile
			err = fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
		}
		return nil, nil, unreachable(err)
	}
	return r, end, nil
}

// chunks begins to read the chunks of an object. The client library's own reader has the server
// send all that the connection takes, and a server closes one that takes ten seconds for it.
func (l *Log) chunks(ctx context.Context, js jetstream.JetStream, from jetstream.ObjectStore, name string) (io.ReadCloser, error) {
	once, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := from.GetInfo(once, name)
	if err != nil {
		return nil, err
	}
	bucket := l.o.Prefix + "_snapshots"
	s, err := js.Stream(once, "OBJ_"+bucket)
	if err != nil {
		return nil, err
	}
	return &chunkReader{ctx: ctx, stream: s, subject: "$O." + bucket + ".C." + info.NUID, left: info.Chunks, sum: sha256.New(), want: info.Digest}, nil
}

// chunkReader reads the chunks of an object, and asks for each when it has the one before.
type chunkReader struct {
	ctx     context.Context //nolint:containedctx // an io.Reader takes none
	stream  jetstream.Stream
	subject string
	at      uint64 // the sequence of the last one
	left    uint32
	rest    []byte
	sum     hash.Hash
	want    string
}

// Read implements io.Reader. Errors: os.ErrDeadlineExceeded when nothing comes for a while.
func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.left == 0 {
			if jetstream.GetObjectDigestValue(r.sum) != r.want {
				return 0, fmt.Errorf("%w: a snapshot has changed while it was read", commitlog.ErrUnreachable)
			}
			return 0, io.EOF
		}
		ctx, cancel := context.WithTimeout(r.ctx, patience)
		m, err := r.stream.GetMsg(ctx, r.at+1, jetstream.WithGetMsgSubject(r.subject))
		cancel()
		switch {
		case err == nil:
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err()
		case passes(err):
			select {
			case <-time.After(lastPause):
			case <-r.ctx.Done():
			}
			return 0, os.ErrDeadlineExceeded
		default: // another one has taken its place meanwhile, or the server that was asked is behind
			return 0, fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
		}
		r.at, r.rest = m.Sequence, m.Data
		r.left--
		r.sum.Write(r.rest)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (*chunkReader) Close() error { return nil }

const (
	// readWait bounds the reading of a snapshot.
	readWait = 10 * time.Minute
	// readSilence bounds the wait for its next bytes.
	readSilence = 5 * time.Second
	// chunkSize is how much of a snapshot is asked for at once, in bytes.
	chunkSize = 512 << 10
)

// snapshotReader ends the reading when it is closed, or when nothing comes any more.
type snapshotReader struct {
	open  func() (r io.ReadCloser, end func(), err error)
	log   *Log
	r     io.ReadCloser // nil until something is read
	end   func()
	since time.Time // of the first read that gave nothing; zero after one that did
}

// Read implements io.Reader. It returns without bytes when the deadline of a read has passed.
func (r *snapshotReader) Read(p []byte) (n int, err error) {
	if r.r == nil {
		if r.r, r.end, err = r.open(); err != nil {
			return 0, err
		}
	}
	n, err = r.r.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	switch {
	case n > 0 || err != nil:
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = time.Now()
	case time.Since(r.since) > readSilence:
		r.log.leave()
		return 0, fmt.Errorf("%w: the servers send no more of a snapshot", commitlog.ErrUnreachable)
	}
	return n, err
}

// Close implements io.Closer.
func (r *snapshotReader) Close() error {
	if r.r == nil {
		return nil
	}
	defer r.end()
	return r.r.Close()
}
