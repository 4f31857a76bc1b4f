package middleware

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/shared"
)

// nodeWait is the time limit of a query about another node.
const nodeWait = 2 * time.Second

// engineWait is how long a start waits for the engine.
const engineWait = 10 * time.Second

// openNode makes this process a node that shares the engines of store.url and of store.next. If
// neither is set, it does nothing.
func (l *Layer) openNode(ctx context.Context) (err error) {
	c := l.cfg.Store
	if !l.cfg.Middleware.Knowledge {
		return nil
	}
	if c.URL != "" {
		if l.node, err = l.startNode(ctx, c); err != nil {
			return err
		}
	}
	if c.Next != "" {
		c.URL = c.Next
		if l.next, err = l.startNode(ctx, c); err != nil { // serves the owners that have not moved yet
			l.o.Log.Warn("owners that have moved to store.next are refused", "cause", err, "try", ken.Hint(err))
		}
	}
	return nil
}

func (l *Layer) startNode(ctx context.Context, c config.Store) (n *shared.Node, err error) {
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	log, err := engines.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	o := shared.NodeOptions{Log: log, ID: l.process, Listen: c.Listen, Advertise: c.Advertise, Version: programVersion(), Logger: l.o.Log}
	if o.Server, o.Client, err = engines.TLS(c); err == nil {
		n, err = shared.StartNode(ctx, o)
	}
	if err != nil {
		_ = log.Close()
		return nil, err
	}
	return n, nil
}

func (l *Layer) closeNode() error {
	var errs []error
	for _, n := range []*shared.Node{l.node, l.next} {
		if n != nil {
			errs = append(errs, n.Close())
		}
	}
	return errors.Join(errs...)
}

func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// onEvent adapts Options.OnEvent to this layer; nil if it is not set.
func (l *Layer) onEvent() func(context.Context, string, []byte) ([]byte, error) {
	if l.o.OnEvent == nil {
		return nil
	}
	return func(ctx context.Context, owner string, body []byte) ([]byte, error) {
		return l.o.OnEvent(ctx, l, owner, body)
	}
}
