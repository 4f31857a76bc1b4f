package middleware

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/shared"
)

// nodeWait bounds a question about another node.
const nodeWait = 2 * time.Second

// engineWait bounds how long the engine is waited for at the start.
const engineWait = 10 * time.Second

// openNode makes this process a node among those that share the engine of store.url. Without
// one there is nothing to do.
func (l *Layer) openNode(ctx context.Context) error {
	c := l.cfg.Store
	if c.URL == "" || !l.cfg.Middleware.Knowledge {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineWait)
	defer cancel()
	log, err := engines.Open(ctx, c)
	if err != nil {
		return err
	}
	o := shared.NodeOptions{Log: log, ID: l.process, Listen: c.Listen, Advertise: c.Advertise, Version: programVersion(), Logger: l.o.Log}
	if o.Server, o.Client, err = engines.TLS(c); err == nil {
		l.node, err = shared.StartNode(ctx, o)
	}
	if err != nil {
		_ = log.Close()
		return err
	}
	return nil
}

// Engine says how the engine of store.url is, which nodes share it, which of them is this process,
// and who serves which owner. here is "" where there is no engine.
func (l Operator) Engine(ctx context.Context) (facts shared.Facts, here string, err error) {
	if l.node == nil {
		return facts, "", nil
	}
	facts, err = l.node.Facts(ctx)
	return facts, l.node.ID(), err
}

func (l *Layer) closeNode() error {
	if l.node == nil {
		return nil
	}
	return l.node.Close()
}

func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
