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
// neither is set, it does nothing. It sets engineErr.
func (l *Layer) openNode(ctx context.Context) {
	c := l.cfg.Store
	if c.URL != "" {
		if l.node, l.engineErr = l.startNode(ctx, c); l.engineErr != nil {
			return
		}
	}
	if c.Next != "" {
		var err error
		c.URL = c.Next
		if l.next, err = l.startNode(ctx, c); err != nil { // serves the owners that have not moved yet
			l.o.Log.Warn("owners that have moved to store.next are refused", "cause", err, "try", ken.Hint(err))
		}
	}
}

// startNode starts a node of one engine. A process that goes on without knowledge also goes on while
// the engine is down, and becomes a node when the engine is back.
func (l *Layer) startNode(ctx context.Context, c config.Store) (n *shared.Node, err error) {
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	log, err := engines.Open(ctx, c)
	if err != nil && (l.o.Strict || l.o.Foreground) {
		return nil, err
	}
	if err != nil {
		l.o.Log.Error("the engine of the store is not reached; it is tried again every second", "cause", err, "try", ken.Hint(err))
		log, l.engineDown = engines.Later(c), true
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
