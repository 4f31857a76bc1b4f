package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// snapshotName returns the object name of a snapshot: the owner's token, a dot and the position in
// twenty digits. The bucket Log.index records which snapshot is current, so that a node that was
// paused can't replace it with an older one.
func snapshotName(owner string, position uint64) string {
	return fmt.Sprintf("%s.%020d", token(owner), position)
}

// current returns the position of the current snapshot and the revision of its entry in l.index; 0
// and 0 if there is none. key is the token of the owner.
func (l *Log) current(ctx context.Context, key string) (position, revision uint64, err error) {
	e, err := l.entry(ctx, l.index, key)
	if e == nil || err != nil {
		return 0, 0, err
	}
	position, err = strconv.ParseUint(string(e.Value()), 10, 64)
	return position, e.Revision(), err
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
	old := min(before, position) // the snapshot to delete: the replaced one, or this one if another node has stored a later one
	if old == 0 || before == position {
		return nil
	}
	return l.drop(ctx, snapshotName(owner, old))
}

// transfer opens a connection for one snapshot, first to the server that l is connected to. If the
// snapshot used l's own connection, the node's beats and writes would wait behind it on a slow link.
// The caller must call end, which closes the connection.
func (l *Log) transfer(ctx context.Context) (js jetstream.JetStream, s jetstream.ObjectStore, end func(), err error) {
	near := l.nc.ConnectedUrl()
	if near == "" {
		return nil, nil, nil, nats.ErrDisconnected
	}
	// Pings would wait behind the snapshot, so there are none: readers and senders have timeouts.
	nc, err := connect(ctx, near+","+l.o.URL, append(slices.Clone(l.opts), nats.DontRandomize(), nats.PingInterval(readWait)))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if js, err = jetstream.New(nc); err == nil {
		s, err = js.ObjectStore(ctx, l.bucket())
	}
	if err != nil {
		nc.Close()
		return nil, nil, nil, err
	}
	return js, s, nc.Close, nil
}

// connect is nats.Connect with a context. nats.Connect has none, and waits for each server in turn.
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

// send stores an object. An existing object of that name stays until the new one is complete.
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
			time.AfterFunc(readSilence, cancel) // else Put waits for what was already sent until ctx ends
		}
		return err
	}
	_, err = s.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}}, &paced{r: r, wait: wait})
	return err
}

const (
	// paceBytes is how many bytes of a snapshot are sent before they must be stored. The client library
	// sends without waiting, and the servers refuse data when their buffers in memory are full.
	paceBytes = 1 << 20
	// settleWait limits how long the servers may take to store paceBytes.
	settleWait = 20 * time.Second
)

// paced is a reader that calls wait after each paceBytes.
type paced struct {
	r    io.Reader
	n    int // bytes read since the last wait
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

// settle returns when the servers have stored all snapshot data that the connection of js has sent.
// It publishes a message and waits for its acknowledgement: the stream stores messages in order. Each
// such message replaces the previous one.
func (l *Log) settle(ctx context.Context, js jetstream.JetStream) error {
	m := nats.NewMsg(l.chunkSubject(settleToken))
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
	return l.tryWithin(ctx, patience, func(ctx context.Context) error {
		if err := l.snapshots.Delete(ctx, name); !errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
		return nil
	})
}

const (
	// sweepWait limits a sweep. The servers take seconds to list thousands of snapshots, so sweep runs
	// in the background.
	sweepWait = 5 * time.Minute
	// sweepPause is the time between two sweeps of a node.
	sweepPause = time.Hour
	// abandoned is the age of an incomplete snapshot's last chunk from which on sweep removes it. A
	// sender waits at most settleWait between two chunks.
	abandoned = 10 * time.Minute
)

// sweepOften sweeps at once and then each sweepPause, until ctx ends. If a sweep fails, the next one
// finds what it left.
func (l *Log) sweepOften(ctx context.Context) {
	for {
		once, cancel := context.WithTimeout(ctx, sweepWait)
		if err := l.sweep(once, time.Now().Add(-abandoned)); err != nil && ctx.Err() == nil {
			slog.Debug("outdated snapshots could not be removed", "cause", err)
		}
		cancel()
		select {
		case <-time.After(sweepPause):
		case <-ctx.Done():
			return
		}
	}
}

// sweep removes what nodes leave that end too early: outdated snapshots, and chunks of incomplete
// snapshots whose last chunk is older than before. Either may contain text that was forgotten since.
func (l *Log) sweep(ctx context.Context, before time.Time) error {
	all, err := l.snapshots.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return err
	}
	complete, by := map[string]bool{}, map[string][]*jetstream.ObjectInfo{}
	for _, o := range all {
		key, _, _ := strings.Cut(o.Name, ".")
		by[key] = append(by[key], o)
		complete[l.chunkSubject(o.NUID)] = true
	}
	for key, some := range by {
		if len(some) < 2 {
			continue
		}
		position, _, err := l.current(ctx, key)
		if err != nil {
			return err
		}
		for _, o := range some {
			if _, digits, _ := strings.Cut(o.Name, "."); digits < fmt.Sprintf("%020d", position) {
				if err := l.drop(ctx, o.Name); err != nil {
					return err
				}
			}
		}
	}
	return l.sweepChunks(ctx, complete, before)
}

// sweepChunks removes chunks that belong to no complete snapshot. complete has the subjects of
// complete ones.
func (l *Log) sweepChunks(ctx context.Context, complete map[string]bool, before time.Time) error {
	s, err := l.js.Stream(ctx, "OBJ_"+l.bucket())
	if err != nil {
		return err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(l.chunkSubject("*")))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		if complete[subject] || subject == l.chunkSubject(settleToken) {
			continue
		}
		last, err := s.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // removed meanwhile
		}
		if err == nil && last.Time.Before(before) {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket returns the name of the bucket of snapshots.
func (l *Log) bucket() string { return l.o.Prefix + "_snapshots" }

// chunkSubject returns the subject of the chunks of an object.
func (l *Log) chunkSubject(nuid string) string { return "$O." + l.bucket() + ".C." + nuid }

// settleToken stands for an object in the subject of settle's messages.
const settleToken = "settle"

// Snapshot implements commitlog.Log. The reader requests the snapshot at the first Read.
func (l *Log) Snapshot(ctx context.Context, owner string) (uint64, io.ReadCloser, error) {
	position, _, err := l.current(ctx, token(owner))
	if err != nil || position == 0 {
		return 0, nil, err
	}
	open := func() (io.ReadCloser, func(), error) { return l.receive(ctx, snapshotName(owner, position)) }
	return position, &snapshotReader{open: open, log: l}, nil
}

// receive begins to read an object. The caller must call end after the last read.
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
		if errors.Is(err, jetstream.ErrObjectNotFound) { // another snapshot has replaced it
			err = fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
		}
		return nil, nil, unreachable(err)
	}
	return r, end, nil
}

// chunks returns a reader of an object's chunks. The client library's own reader lets the server send
// without waiting, and a server closes a connection to which a write takes ten seconds.
func (l *Log) chunks(ctx context.Context, js jetstream.JetStream, from jetstream.ObjectStore, name string) (io.ReadCloser, error) {
	once, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := from.GetInfo(once, name)
	if err != nil {
		return nil, err
	}
	s, err := js.Stream(once, "OBJ_"+l.bucket())
	if err != nil {
		return nil, err
	}
	return &chunkReader{ctx: ctx, stream: s, subject: l.chunkSubject(info.NUID), left: info.Chunks, sum: sha256.New(), want: info.Digest}, nil
}

// chunkReader reads the chunks of an object. It requests each chunk when it has read the one before.
type chunkReader struct {
	ctx     context.Context //nolint:containedctx // an io.Reader takes none
	stream  jetstream.Stream
	subject string
	at      uint64    // the sequence of the last chunk; 0 before the first
	left    uint32    // number of chunks to request
	rest    []byte    // of the last chunk, not yet returned by Read
	sum     hash.Hash // of the chunks so far
	want    string    // the object's digest
}

// Read implements io.Reader. Errors: os.ErrDeadlineExceeded if a chunk does not arrive in time, after
// which the caller may try again.
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
		default: // another snapshot has replaced it, or the server lags
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
	// readWait limits the time to read a snapshot.
	readWait = 10 * time.Minute
	// readSilence limits the time in which no bytes of a snapshot arrive.
	readSilence = 5 * time.Second
	// chunkSize is the size of a snapshot's chunks, in bytes.
	chunkSize = 512 << 10
)

// snapshotReader opens a snapshot at the first Read. It fails when no bytes arrive for readSilence.
type snapshotReader struct {
	open  func() (r io.ReadCloser, end func(), err error)
	log   *Log
	r     io.ReadCloser // nil before the first Read
	end   func()        // called by Close
	since time.Time     // when reads began to return no bytes; zero if the last one returned some
}

// Read implements io.Reader. It returns 0 bytes and no error if the next bytes do not arrive in time.
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
