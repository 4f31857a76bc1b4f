// Package jetstream implements commitlog.Log with NATS JetStream. All owners share one stream,
// in which each has a subject. A record's position is its sequence number in the stream. The
// expected last sequence of the subject fences writers. Leases and nodes are in key-value
// buckets, snapshots in an object store. Options.Replicas servers store each of them.
package jetstream

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Options configures a log.
type Options struct {
	// URL is the servers' addresses, separated by commas.
	URL string
	// Replicas is how many servers store each record: 1, 3 or 5. 0 means 3, or 1 if fewer than
	// three servers are known.
	Replicas int
	// Prefix is the prefix of the names of the stream, the buckets and the subjects. Default "ken".
	Prefix string
	// Credentials is a file with the user's credentials; "" for none.
	Credentials string
	// CA, Cert and Key are PEM files for servers at tls:// addresses. If CA is "", the system's root
	// certificates are used. If Cert is "", the client sends no certificate.
	CA, Cert, Key string
}

// Log is a commitlog.Log.
type Log struct {
	o         Options
	opts      []nats.Option
	nc        *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
	leases    jetstream.KeyValue
	nodes     jetstream.KeyValue
	index     jetstream.KeyValue // the position of each owner's current snapshot
	snapshots jetstream.ObjectStore

	leave func()       // leaveServer
	left  atomic.Int64 // when leaveServer last reconnected, in Unix nanoseconds

	stop    context.CancelFunc // ends sweepOften
	running sync.WaitGroup     // goroutines in the background, which Close waits for
}

var _ commitlog.Log = (*Log)(nil)

// Open connects to the servers, and creates the stream and the buckets if they do not exist.
// Errors: commitlog.ErrUnreachable; those of the servers, if the user lacks a permission.
func Open(ctx context.Context, o Options) (*Log, error) {
	o.Prefix = cmp.Or(o.Prefix, "ken")
	opts := []nats.Option{
		nats.Name("ken"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1),                 // no buffer: a message that can't be sent fails, and retry repeats it
		nats.PingInterval(500 * time.Millisecond), // the client leaves a server that hangs after a second
		nats.MaxPingsOutstanding(2),
		nats.Timeout(2 * time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { // calls return their own errors
			slog.Debug("a connection with NATS", "cause", err)
		}),
	}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	secure := strings.Contains(o.URL, "tls://") // otherwise the servers may not support TLS
	if secure && o.CA != "" {
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if secure && o.Cert != "" {
		opts = append(opts, nats.ClientCert(o.Cert, o.Key))
	}
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	l := &Log{o: o, opts: opts, nc: nc}
	l.leave = l.leaveServer
	if l.js, err = jetstream.New(nc); err == nil {
		err = l.prepare(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, unreachable(err)
	}
	life, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.running.Go(func() { l.sweepOften(life) })
	return l, nil
}

// prepare creates the stream and the buckets that do not exist. It keeps the limits of existing
// ones, which the operator of the servers may have changed.
func (l *Log) prepare(ctx context.Context) error {
	replicas := l.o.Replicas
	if replicas == 0 {
		replicas = 3
		if len(l.nc.DiscoveredServers())+len(strings.Split(l.o.URL, ",")) < 3 {
			replicas = 1
		}
	}
	name := func(part string) string { return l.o.Prefix + "_" + part }
	var all sync.WaitGroup
	var errs [5]error
	all.Go(func() {
		l.stream, errs[0] = prepareOne(ctx, l, func() (jetstream.Stream, error) { return l.find(ctx, name("log")) }, func(ctx context.Context) error {
			_, err := l.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: name("log"), Description: "What stores of ken commit, by owner", Subjects: []string{l.o.Prefix + ".log.*"},
				Storage: jetstream.FileStorage, Replicas: replicas, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
				Duplicates: 2 * time.Minute, DenyDelete: false, AllowDirect: false,
			})
			return err
		})
	})
	bucket := func(kv *jetstream.KeyValue, err *error, part, what string) {
		all.Go(func() {
			*kv, *err = prepareOne(ctx, l, func() (jetstream.KeyValue, error) { return l.fromLeader(ctx, name(part)) }, func(ctx context.Context) error {
				_, err := l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name(part), Description: what, Replicas: replicas, History: 1})
				return err
			})
		})
	}
	bucket(&l.leases, &errs[1], "leases", "Which node of ken writes for an owner")
	bucket(&l.nodes, &errs[2], "nodes", "Nodes of ken that live")
	bucket(&l.index, &errs[3], "snapshots_index", "Which snapshot of a store of ken counts")
	all.Go(func() {
		find := func(ctx context.Context) (jetstream.ObjectStore, error) {
			return l.js.ObjectStore(ctx, name("snapshots"))
		}
		l.snapshots, errs[4] = prepareOne(ctx, l, func() (jetstream.ObjectStore, error) { return get(ctx, l, find) }, func(ctx context.Context) error {
			_, err := l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name("snapshots"), Description: "Snapshots that replace the beginning of a log of ken", Replicas: replicas})
			return err
		})
	})
	all.Wait()
	return cmp.Or(errs[:]...)
}

// prepareOne returns what find returns, after a call of create if it does not exist. It also retries
// after a contended error.
func prepareOne[T any](ctx context.Context, l *Log, find func() (T, error), create func(ctx context.Context) error) (v T, err error) {
	for n := 0; ; n++ {
		v, err = find()
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			if err = l.try(ctx, create); err == nil {
				v, err = find()
			}
		}
		if n == prepareTries || !slices.ContainsFunc(contended, func(e error) bool { return errors.Is(err, e) }) {
			return v, err
		}
		select {
		case <-time.After(lastPause):
		case <-ctx.Done():
			return v, err
		}
	}
}

// find returns a stream.
func (l *Log) find(ctx context.Context, name string) (jetstream.Stream, error) {
	return get(ctx, l, func(ctx context.Context) (jetstream.Stream, error) { return l.js.Stream(ctx, name) })
}

// get is try for a function with a result.
func get[T any](ctx context.Context, l *Log, fn func(ctx context.Context) (T, error)) (v T, err error) {
	err = l.try(ctx, func(ctx context.Context) (err error) {
		v, err = fn(ctx)
		return err
	})
	return v, err
}

// contended are the errors that occur while another node creates the same stream or bucket.
var contended = []error{jetstream.ErrStreamNotFound, jetstream.ErrBucketNotFound, jetstream.ErrBucketExists, jetstream.ErrStreamNameAlreadyInUse}

// prepareTries is how often prepareOne retries, after lastPause each time.
const prepareTries = 40

// fromLeader returns a bucket that is read only from its leader. Another server may lag, and report
// that a snapshot or a node does not exist. If AllowDirect of the bucket is on, it turns it off. It
// opens the bucket after that: one that was opened before would ask servers that do not answer.
func (l *Log) fromLeader(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	s, err := l.find(ctx, "KV_"+bucket)
	if err != nil {
		return nil, err
	}
	if c := s.CachedInfo().Config; c.AllowDirect {
		c.AllowDirect = false
		err := l.try(ctx, func(ctx context.Context) error { _, err := l.js.UpdateStream(ctx, c); return err })
		if err != nil {
			return nil, err
		}
	}
	return get(ctx, l, func(ctx context.Context) (jetstream.KeyValue, error) { return l.js.KeyValue(ctx, bucket) })
}

// Pauses between two attempts.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 250 * time.Millisecond
	// tryWait limits one attempt, because a server that is down does not answer.
	tryWait = time.Second
)

// passes reports whether an error is temporary: the servers have no leader, or do not answer.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503 || api.ErrorCode == 10008 || api.ErrorCode == 10077 // unavailable, and "no messages" while there is no leader
	}
	return slices.ContainsFunc([]error{nats.ErrNoResponders, nats.ErrTimeout, jetstream.ErrNoStreamResponse, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrNoServers, nats.ErrStaleConnection, context.DeadlineExceeded}, func(e error) bool { return errors.Is(err, e) })
}

// patience is how long calls may fail before the client connects to another server. It also limits
// the requests of a snapshot's transfer.
const patience = 3 * time.Second

// retry runs fn until it succeeds, returns a permanent error, or ctx ends. After patience without
// success, it connects to another server: the client library stays with a server that answers pings
// but can't reach the other servers.
func (l *Log) retry(ctx context.Context, fn func() error) error {
	begun := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := fn()
		if err == nil || !passes(err) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if time.Since(begun) >= patience {
			begun = time.Now()
			l.leave()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// leaveServer connects to another server, unless it did so less than patience ago.
func (l *Log) leaveServer() {
	was, now := l.left.Load(), time.Now().UnixNano()
	if now-was >= int64(patience) && l.left.CompareAndSwap(was, now) {
		_ = l.nc.ForceReconnect() // the error means that it is closed
	}
}

// unreachable wraps a temporary error with commitlog.ErrUnreachable, and returns others unchanged.
func unreachable(err error) error {
	if err != nil && passes(err) {
		return fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	return err
}

// try is retry with a limit of tryWait for each attempt. It wraps a temporary error with
// commitlog.ErrUnreachable. On a slow link an attempt has time for one request only: fn should make
// no second one.
func (l *Log) try(ctx context.Context, fn func(ctx context.Context) error) error {
	return l.tryWithin(ctx, tryWait, fn)
}

// tryWithin is try with another limit of an attempt, for calls of the client library that make several
// requests.
func (l *Log) tryWithin(ctx context.Context, limit time.Duration, fn func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return unreachable(l.retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return fn(ctx)
	}))
}

// token encodes an owner's name, or a node's ID, as one token of a subject or a key of a bucket.
func token(owner string) string { return base64.RawURLEncoding.EncodeToString([]byte(owner)) }

func (l *Log) subject(owner string) string { return l.o.Prefix + ".log." + token(owner) }

// Append implements commitlog.Log. It repeats an attempt whose answer was lost with the same
// message ID, so that the record is appended only once.
func (l *Log) Append(ctx context.Context, owner string, after uint64, data []byte) (at uint64, err error) {
	subject, id, repeated := l.subject(owner), nuid.Next(), false
	err = l.try(ctx, func(ctx context.Context) error {
		ack, err := l.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data},
			jetstream.WithExpectLastSequencePerSubject(after), jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		if err == nil {
			at = ack.Sequence
			return nil
		}
		if !fenced(err) {
			repeated = repeated || passes(err)
			return err
		}
		if repeated { // an earlier attempt may have appended this record
			last, err := l.stream.GetLastMsgForSubject(ctx, subject)
			if err != nil {
				return err
			}
			if last.Header.Get(jetstream.MsgIDHeader) == id {
				at = last.Sequence
				return nil
			}
		}
		return commitlog.ErrFenced
	})
	return at, err
}

// fenced reports whether a server refused a message because another one was written before it.
func fenced(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == wrongLastSequenceConstant) ||
		errors.Is(err, jetstream.ErrKeyExists)
}

// wrongLastSequenceConstant is the error code of a wrong last sequence of NATS 2.12 and later.
const wrongLastSequenceConstant = 10164

// Last implements commitlog.Log.
func (l *Log) Last(ctx context.Context, owner string) (at uint64, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		m, err := l.stream.GetLastMsgForSubject(ctx, l.subject(owner))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			at = 0
			return nil
		}
		if err == nil {
			at = m.Sequence
		}
		return err
	})
	return at, err
}

const (
	// readAhead is the maximum number of records that a consumer fetches in advance.
	readAhead = 256
	// singly is how many records Read requests one by one before it creates a consumer. The
	// servers have a limited number of consumers.
	singly = 8
	// slowly is how long these requests may take together. Where servers are far from each other, a
	// consumer is faster.
	slowly = 200 * time.Millisecond
	// readForgotten is after how long the servers delete a consumer whose reader was killed.
	readForgotten = 10 * time.Second
)

// next returns an owner's first record at position from or after it.
func (l *Log) next(ctx context.Context, owner string, from uint64) (r commitlog.Record, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		m, err := l.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(l.subject(owner)))
		if err == nil {
			r = commitlog.Record{Position: m.Sequence, Data: m.Data}
		}
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) { // truncated meanwhile
		err = fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)
	}
	return r, err
}

// Read implements commitlog.Log.
func (l *Log) Read(ctx context.Context, owner string, after uint64) iter.Seq2[commitlog.Record, error] {
	return func(yield func(commitlog.Record, error) bool) {
		// The first record is requested together with the last one, as there are few most often.
		begun := time.Now()
		var r commitlog.Record // the next one; an earlier one or none if it is still to be requested
		var asked sync.WaitGroup
		asked.Go(func() { r, _ = l.next(ctx, owner, after+1) })
		last, err := l.Last(ctx, owner)
		asked.Wait()
		if err != nil {
			yield(commitlog.Record{}, err)
			return
		}
		if last <= after {
			return
		}
		var c jetstream.Consumer
		for c == nil {
			for n := 0; n < singly && (n == 0 || time.Since(begun) < slowly); n++ {
				if r.Position <= after {
					if r, err = l.next(ctx, owner, after+1); err != nil {
						yield(r, err)
						return
					}
				}
				if !yield(r, nil) || r.Position >= last {
					return
				}
				after = r.Position
			}
			begun = time.Now()
			// While the servers elect the leader that creates consumers, read records one by one.
			once, cancel := context.WithTimeout(ctx, tryWait)
			c, err = l.stream.OrderedConsumer(once, jetstream.OrderedConsumerConfig{
				FilterSubjects: []string{l.subject(owner)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
				InactiveThreshold: readForgotten,
			})
			cancel()
			if err != nil && (!passes(err) || ctx.Err() != nil) {
				yield(commitlog.Record{}, unreachable(err))
				return
			}
		}
		defer func() {
			if info := c.CachedInfo(); info != nil {
				l.running.Go(func() { // the caller need not wait while servers elect a leader
					ctx, cancel := context.WithTimeout(context.Background(), tryWait)
					defer cancel()
					_ = l.stream.DeleteConsumer(ctx, info.Name) // if it fails, the server deletes it after readForgotten
				})
			}
		}()
		all, err := c.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(2*time.Second))
		if err != nil {
			yield(commitlog.Record{}, unreachable(err))
			return
		}
		defer all.Stop()
		for at := after; at < last; {
			m, err := all.Next(jetstream.NextContext(ctx))
			if err != nil {
				yield(commitlog.Record{}, cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err)))
				return
			}
			meta, err := m.Metadata()
			if err != nil {
				yield(commitlog.Record{}, err)
				return
			}
			at = meta.Sequence.Stream
			if !yield(commitlog.Record{Position: at, Data: m.Data()}, nil) {
				return
			}
		}
	}
}

// Truncate implements commitlog.Log. The servers remove the records from their files when they
// compact them.
func (l *Log) Truncate(ctx context.Context, owner string, upTo uint64) error {
	last, err := l.Last(ctx, owner)
	if err != nil || last == 0 {
		return err
	}
	before := min(upTo+1, last)
	return l.try(ctx, func(ctx context.Context) error {
		return l.stream.Purge(ctx, jetstream.WithPurgeSubject(l.subject(owner)), jetstream.WithPurgeSequence(before))
	})
}

// Health implements commitlog.Log.
func (l *Log) Health(ctx context.Context) (text string, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		info, err := l.stream.Info(ctx)
		if err != nil {
			return err
		}
		text = fmt.Sprintf("NATS %s, %d records in %d MiB", l.nc.ConnectedServerVersion(), info.State.Msgs, info.State.Bytes>>20)
		if c := info.Cluster; c != nil {
			behind, current := uint64(0), 0
			for _, r := range c.Replicas {
				if r.Current && !r.Offline {
					current++
				}
				behind = max(behind, r.Lag)
			}
			text += fmt.Sprintf(", leader %s, %d of %d followers up to date, the last one %d records behind", cmp.Or(c.Leader, "none"), current, len(c.Replicas), behind)
		}
		return nil
	})
	return text, err
}

// Close implements commitlog.Log.
func (l *Log) Close() error {
	l.stop()
	l.running.Wait()
	l.nc.Close()
	return nil
}
