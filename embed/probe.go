package embed

import (
	"context"
	"time"

	"github.com/kenlayer/ken/breaker"
)

// probeText is one common word: every model knows it, and it costs nothing.
const probeText = "hello"

// Probe embeds one word, whatever the cache holds, and returns what went wrong.
// It counts for the circuit like any call. Call it in the background when a
// program starts, so that the first turn finds connections open and faults known,
// and from diagnostics. While the circuit is open it is refused like any call.
func (g *Guard) Probe(ctx context.Context) error {
	if g.off() {
		return ErrOff
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.Timeout)
	defer cancel()
	return g.circuit.Probe(ctx, func(ctx context.Context) error {
		_, err := g.embed(ctx, checked{g.embedder}, []string{probeText})
		return err
	})
}

// changed runs for every change of the circuit, without a lock.
func (g *Guard) changed(c breaker.Change) {
	if c.From == breaker.Closed && c.To == breaker.Open {
		g.background(g.probe)
	}
	if g.opts.OnChange != nil {
		g.opts.OnChange(c)
	}
}

// probe tries the embedder until it answers or the guard is closed.
func (g *Guard) probe() {
	for {
		select {
		case <-g.life.Done():
			return
		case <-time.After(g.opts.ProbeEvery):
		}
		if g.Probe(g.life) == nil {
			return
		}
	}
}

// background runs f in a goroutine that Close waits for, and reports whether it
// did: after Close nothing starts.
func (g *Guard) background(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(f)
	return true
}

// Close stops the probes, cancels the calls in flight and waits for both. It is
// safe to call twice.
func (g *Guard) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.running.Wait()
	return nil
}
