package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Pauses and limit of the attempts of Later to connect.
const (
	laterPause = time.Second
	laterWait  = 10 * time.Second
)

// Later is Open for a process that goes on while the engine can't be opened. It connects in the
// background. Until it has succeeded, calls fail at once, with an error that wraps
// commitlog.ErrUnreachable and the last error of Open.
func Later(c config.Store) commitlog.Log {
	ctx, stop := context.WithCancel(context.Background())
	l := &laterLog{stop: stop, err: errors.New("no answer yet")}
	l.running.Go(func() { l.connect(ctx, c) })
	return l
}

type laterLog struct {
	stop    context.CancelFunc
	running sync.WaitGroup // of connect

	mu  sync.Mutex    // guards the rest
	log commitlog.Log // nil until it is open
	err error         // why it is not open
}

// connect opens the log. It tries again after an error, until ctx ends.
func (l *laterLog) connect(ctx context.Context, c config.Store) {
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, laterWait)
		log, err := Open(try, c)
		cancel()
		l.mu.Lock()
		l.log, l.err = log, err
		l.mu.Unlock()
		if err == nil {
			return
		}
		select {
		case <-time.After(laterPause):
		case <-ctx.Done():
		}
	}
}

// opened returns the log, or why it is not open.
func (l *laterLog) opened() (commitlog.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.log != nil:
		return l.log, nil
	case errors.Is(l.err, commitlog.ErrUnreachable):
		return nil, l.err
	}
	return nil, fmt.Errorf("%w: %w", commitlog.ErrUnreachable, l.err)
}

// ask calls f with the log, if it is open.
func ask[T any](l *laterLog, f func(commitlog.Log) (T, error)) (v T, err error) {
	log, err := l.opened()
	if err != nil {
		return v, err
	}
	return f(log)
}

// tell is ask for a function without a result.
func (l *laterLog) tell(f func(commitlog.Log) error) error {
	_, err := ask(l, func(log commitlog.Log) (struct{}, error) { return struct{}{}, f(log) })
	return err
}

// Append implements commitlog.Log.
func (l *laterLog) Append(ctx context.Context, owner string, after uint64, data []byte) (uint64, error) {
	return ask(l, func(log commitlog.Log) (uint64, error) { return log.Append(ctx, owner, after, data) })
}

// Last implements commitlog.Log.
func (l *laterLog) Last(ctx context.Context, owner string) (uint64, error) {
	return ask(l, func(log commitlog.Log) (uint64, error) { return log.Last(ctx, owner) })
}

// Read implements commitlog.Log.
func (l *laterLog) Read(ctx context.Context, owner string, after uint64) iter.Seq2[commitlog.Record, error] {
	log, err := l.opened()
	if err != nil {
		return func(yield func(commitlog.Record, error) bool) { yield(commitlog.Record{}, err) }
	}
	return log.Read(ctx, owner, after)
}

// Truncate implements commitlog.Log.
func (l *laterLog) Truncate(ctx context.Context, owner string, upTo uint64) error {
	return l.tell(func(log commitlog.Log) error { return log.Truncate(ctx, owner, upTo) })
}

// PutSnapshot implements commitlog.Log.
func (l *laterLog) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	return l.tell(func(log commitlog.Log) error { return log.PutSnapshot(ctx, owner, position, r) })
}

// Snapshot implements commitlog.Log.
func (l *laterLog) Snapshot(ctx context.Context, owner string) (uint64, io.ReadCloser, error) {
	log, err := l.opened()
	if err != nil {
		return 0, nil, err
	}
	return log.Snapshot(ctx, owner)
}

// Lease implements commitlog.Log.
func (l *laterLog) Lease(ctx context.Context, owner string) (commitlog.Lease, error) {
	return ask(l, func(log commitlog.Log) (commitlog.Lease, error) { return log.Lease(ctx, owner) })
}

// SetLease implements commitlog.Log.
func (l *laterLog) SetLease(ctx context.Context, owner string, lease commitlog.Lease) (commitlog.Lease, error) {
	return ask(l, func(log commitlog.Log) (commitlog.Lease, error) { return log.SetLease(ctx, owner, lease) })
}

// Owners implements commitlog.Log.
func (l *laterLog) Owners(ctx context.Context) ([]string, error) {
	return ask(l, func(log commitlog.Log) ([]string, error) { return log.Owners(ctx) })
}

// Beat implements commitlog.Log.
func (l *laterLog) Beat(ctx context.Context, n commitlog.Node) error {
	return l.tell(func(log commitlog.Log) error { return log.Beat(ctx, n) })
}

// Node implements commitlog.Log.
func (l *laterLog) Node(ctx context.Context, id string) (commitlog.Node, error) {
	return ask(l, func(log commitlog.Log) (commitlog.Node, error) { return log.Node(ctx, id) })
}

// Leave implements commitlog.Log.
func (l *laterLog) Leave(ctx context.Context, id string) error {
	return l.tell(func(log commitlog.Log) error { return log.Leave(ctx, id) })
}

// Nodes implements commitlog.Log.
func (l *laterLog) Nodes(ctx context.Context) ([]commitlog.Node, error) {
	return ask(l, func(log commitlog.Log) ([]commitlog.Node, error) { return log.Nodes(ctx) })
}

// Health implements commitlog.Log.
func (l *laterLog) Health(ctx context.Context) (string, error) {
	return ask(l, func(log commitlog.Log) (string, error) { return log.Health(ctx) })
}

// Close implements commitlog.Log.
func (l *laterLog) Close() error {
	l.stop()
	l.running.Wait()
	log, err := l.opened()
	if err != nil {
		return nil
	}
	return log.Close()
}
