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

// nodeWait bounds a question about another node.
const nodeWait = 2 * time.Second

// engineWait bounds how long the engine is waited for at the start.
const engineWait = 10 * time.Second

// openNode makes this process a node among those that share the engine of store.url, and of
// store.next. Without them there is nothing to do.
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
		if l.next, err = l.startNode(ctx, c); err != nil { // owners that have not moved are served
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

// onEvent is Options.OnEvent for this layer; nil for none.
func (l *Layer) onEvent() func(context.Context, string, []byte) ([]byte, error) {
	if l.o.OnEvent == nil {
		return nil
	}
	return func(ctx context.Context, owner string, body []byte) ([]byte, error) {
		return l.o.OnEvent(ctx, l, owner, body)
	}
}
