package jetstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Lease implements commitlog.Log.
func (l *Log) Lease(ctx context.Context, owner string) (lease commitlog.Lease, err error) {
	e, err := l.entry(ctx, l.leases, token(owner))
	if e == nil || err != nil {
		return lease, err
	}
	if err := json.Unmarshal(e.Value(), &lease); err != nil {
		return commitlog.Lease{}, fmt.Errorf("read the lease of %q: %w", owner, err)
	}
	lease.Revision = e.Revision()
	return lease, nil
}

// entry returns a bucket's entry; nil if there is none.
func (l *Log) entry(ctx context.Context, bucket jetstream.KeyValue, key string) (e jetstream.KeyValueEntry, err error) {
	err = l.try(ctx, func(ctx context.Context) (err error) {
		if e, err = bucket.Get(ctx, key); errors.Is(err, jetstream.ErrKeyNotFound) {
			e, err = nil, nil
		}
		return err
	})
	return e, err
}

// SetLease implements commitlog.Log.
func (l *Log) SetLease(ctx context.Context, owner string, lease commitlog.Lease) (commitlog.Lease, error) {
	b, err := json.Marshal(lease)
	if err != nil {
		return commitlog.Lease{}, err
	}
	repeated := false
	err = l.try(ctx, func(ctx context.Context) error {
		was := lease.Revision
		at, err := l.leases.Update(ctx, token(owner), b, was)
		if err == nil {
			lease.Revision = at
			return nil
		}
		if !fenced(err) {
			repeated = repeated || passes(err)
			return err
		}
		if repeated { // an earlier attempt may have made this update
			if now, err := l.Lease(ctx, owner); err == nil && now.Node == lease.Node && now.Token == lease.Token && now.Address == lease.Address {
				lease = now
				return nil
			}
		}
		return commitlog.ErrFenced
	})
	if err != nil {
		return commitlog.Lease{}, err
	}
	return lease, nil
}

// Owners implements commitlog.Log.
func (l *Log) Owners(ctx context.Context) (owners []string, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		info, err := l.stream.Info(ctx, jetstream.WithSubjectFilter(l.o.Prefix+".log.*"))
		if err != nil {
			return err
		}
		owners = nil
		for subject := range info.State.Subjects {
			if name, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(subject, l.o.Prefix+".log.")); err == nil {
				owners = append(owners, string(name))
			}
		}
		return nil
	})
	return owners, err
}

// Beat implements commitlog.Log.
func (l *Log) Beat(ctx context.Context, n commitlog.Node) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return l.try(ctx, func(ctx context.Context) error {
		_, err := l.nodes.Put(ctx, token(n.ID), b)
		return err
	})
}

// Node implements commitlog.Log.
func (l *Log) Node(ctx context.Context, id string) (n commitlog.Node, err error) {
	e, err := l.entry(ctx, l.nodes, token(id))
	if e == nil || err != nil {
		return n, err
	}
	return readNode(e)
}

func readNode(e jetstream.KeyValueEntry) (n commitlog.Node, err error) {
	if err = json.Unmarshal(e.Value(), &n); err != nil {
		return n, fmt.Errorf("read node %s: %w", e.Key(), err)
	}
	n.Beats = e.Revision()
	return n, nil
}

// Leave implements commitlog.Log.
func (l *Log) Leave(ctx context.Context, id string) error {
	return l.try(ctx, func(ctx context.Context) error { return l.nodes.Purge(ctx, token(id)) })
}

// Nodes implements commitlog.Log.
func (l *Log) Nodes(ctx context.Context) (nodes []commitlog.Node, err error) {
	var keys []string
	err = l.tryWithin(ctx, patience, func(ctx context.Context) error {
		all, err := l.nodes.ListKeys(ctx)
		if err != nil {
			return err
		}
		keys = nil
		for key := range all.Keys() {
			keys = append(keys, key)
		}
		return ctx.Err() // the channel is closed as well when ctx ends
	})
	for _, key := range keys {
		var e jetstream.KeyValueEntry
		if err == nil {
			e, err = l.entry(ctx, l.nodes, key)
		}
		if err != nil {
			break
		}
		if e == nil { // it has left meanwhile
			continue
		}
		var n commitlog.Node
		if n, err = readNode(e); err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes, err
}
