package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/breaker"
	"github.com/kenlayer/ken/embed"
)

// ErrLate is wrapped by the error of a call whose caller's deadline passed first. The
// call itself continues: see [Guard.Embed].
var ErrLate = errors.New("too late for this turn")

// Options configures a [Guard]. The zero value is the default.
type Options struct {
	// Timeout ends a call, even if no caller waits for it any more; <= 0 means 2 s. The
	// turn's own context usually ends earlier.
	Timeout time.Duration
	// InFlight limits the calls that run at once, late ones included; <= 0 means 4.
	InFlight int
	// Failures is the number of failures in a row that open the circuit; <= 0 means 5.
	Failures int
	// ProbeEvery is the time between probes while it is open; <= 0 means 30 s.
	ProbeEvery time.Duration
	// Cache, if set, is read first, even while the circuit is open, and stores every
	// result, late ones included.
	Cache *Cache
	// OnChange is called when the circuit changes; see breaker.Options. It must not
	// call Close, which waits for it.
	OnChange func(breaker.Change)
}

// Guard makes an embedder usable in a turn. A turn waits at most until its own
// deadline, and not at all for an embedder that is known to be down. There are no
// retries. While the circuit is open, a goroutine of the guard probes the embedder with
// one word; a turn never does.
//
// A Guard is an Embedder. Close it when done.
type Guard struct {
	wrapped
	checked embed.Embedder // checks results, and caches them when there is a cache
	opts    Options
	circuit *breaker.Breaker
	slots   chan struct{}

	life context.Context // ended by Close; independent of requests
	end  context.CancelFunc

	mu      sync.Mutex     // guards closed and the start of background work
	closed  bool           // no background work may start
	running sync.WaitGroup // calls and the probing goroutine
}

// New wraps e. Nothing is called until the first Embed or Probe.
func New(e embed.Embedder, o Options) *Guard {
	o.Timeout = cmp.Or(max(o.Timeout, 0), 2*time.Second)
	o.InFlight = cmp.Or(max(o.InFlight, 0), 4)
	o.ProbeEvery = cmp.Or(max(o.ProbeEvery, 0), breaker.DefaultOpenFor)
	g := &Guard{wrapped: wrapped{e}, checked: checked{wrapped{e}}, opts: o, slots: make(chan struct{}, o.InFlight)}
	if o.Cache != nil {
		g.checked = Cached(g.checked, o.Cache)
	}
	g.life, g.end = context.WithCancel(context.Background())
	g.circuit = breaker.New(breaker.Options{
		Name:       "embeddings",
		Failures:   o.Failures,
		OpenFor:    o.ProbeEvery,
		ProbesOnly: true,
		OnChange:   g.changed,
	})
	return g
}

// State returns the state of the circuit.
func (g *Guard) State() breaker.State { return g.circuit.State() }

// Cause describes why there are no vectors, for receipts and doctor: the failure that
// opened the circuit, or that embeddings are off. It is "" while the circuit is closed.
func (g *Guard) Cause() string {
	if g.off() {
		return embed.ErrOff.Error()
	}
	return g.circuit.Cause()
}

// Embed implements Embedder. It returns when ctx ends, at the latest after the guard's
// timeout. It returns at once when the circuit is open (an error that wraps
// breaker.ErrOpen and names the cause) or too many calls are running.
//
// If ctx ends first, the call continues until the guard's timeout. Its result goes to
// the cache for the next turn, and its own outcome counts for the circuit. The error
// then wraps ErrLate.
func (g *Guard) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil || len(texts) == 0 {
		return nil, err
	}
	if g.off() {
		return nil, embed.ErrOff
	}
	if g.opts.Cache != nil {
		if vectors, ok := lookup(g.Embedder, g.opts.Cache, texts); ok {
			return vectors, nil
		}
	}
	if err := g.circuit.Err(); err != nil {
		return nil, err
	}
	c, err := g.start(ctx, texts)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.done:
	case <-c.ctx.Done():
	case <-ctx.Done():
	}
	select {
	case <-c.done: // a result wins, even if another case is ready
		return c.vectors, c.err
	default:
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case ctx.Err() != nil:
		return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the embedding is not finished yet", Err: ErrLate}
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return nil, g.timedOut()
	}
	return nil, errClosed
}

var errClosed = &ken.Error{Code: ken.CodeUnavailable, Msg: "the embedder is closed"}

// call is one call of the embedder, in a goroutine of its own.
type call struct {
	ctx     context.Context // ends with the call
	done    chan struct{}   // closed when vectors and err are set
	vectors [][]float32
	err     error
}

// start runs a call in the background if a slot is free.
func (g *Guard) start(ctx context.Context, texts []string) (*call, error) {
	select {
	case g.slots <- struct{}{}:
	default:
		return nil, &ken.Error{
			Code: ken.CodeUnavailable,
			Msg:  fmt.Sprintf("%d embedding calls are in flight already", g.opts.InFlight),
			Try:  "The embedding endpoint is slower than the turns; ken doctor measures it.",
		}
	}
	// A caller may reuse its slice after it has stopped waiting.
	texts = slices.Clone(texts)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Timeout)
	stop := context.AfterFunc(g.life, cancel)
	c := &call{ctx: ctx, done: make(chan struct{})}
	started := g.background(func() {
		defer func() { stop(); cancel() }()
		c.err = g.circuit.Do(ctx, func(ctx context.Context) (err error) {
			c.vectors, err = g.embed(ctx, g.checked, texts)
			return err
		})
		<-g.slots // before the caller continues, which may call again at once
		close(c.done)
	})
	if !started {
		stop()
		cancel()
		<-g.slots
		return nil, errClosed
	}
	return c, nil
}

// embed calls the embedder and explains its errors. A panic becomes an error, because
// turns can do without vectors.
func (g *Guard) embed(ctx context.Context, e embed.Embedder, texts []string) (vectors [][]float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			vectors, err = nil, &ken.Error{Code: ken.CodeInternal, Msg: fmt.Sprintf("the embedder panicked: %v", p)}
		}
	}()
	vectors, err = e.Embed(ctx, texts)
	var known *ken.Error
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.As(err, &known) {
		return nil, g.timedOut()
	}
	return vectors, err
}

func (g *Guard) timedOut() error {
	return &ken.Error{
		Code: ken.CodeUnavailable,
		Msg:  fmt.Sprintf("no embedding within %v", g.opts.Timeout),
		Try:  "See whether the embedding endpoint is up and not overloaded; ken doctor measures it.",
	}
}

func (g *Guard) off() bool { return g.Embedder == embed.None() }

// checked rejects invalid results.
type checked struct{ wrapped }

func (c checked) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := c.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if err := embed.Check(vectors, len(texts), c.Dim()); err != nil {
		return nil, err
	}
	// A local model may know no token of a text. A remote one that returns no vector
	// has failed, which must be reported.
	for i, v := range vectors {
		if v == nil && !c.Local() && strings.TrimSpace(texts[i]) != "" {
			return nil, &ken.Error{
				Code: ken.CodeUnavailable,
				Msg:  fmt.Sprintf("the embedder answered an unusable vector: vector %d is empty", i),
				Try:  "Try the model by hand with a short text; ken doctor shows what it answers.",
			}
		}
	}
	return vectors, nil
}

// probeText is one common word: every model knows it, and embedding it costs almost
// nothing.
const probeText = "hello"

// Probe embeds one word, without the cache, and returns the error. It counts for the
// circuit like any call. Call it in the background when a program starts, so that the
// first turn finds open connections and known faults, and in diagnostics. While the
// circuit is open, it is refused like any call.
func (g *Guard) Probe(ctx context.Context) error {
	if g.off() {
		return embed.ErrOff
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.Timeout)
	defer cancel()
	return g.circuit.Probe(ctx, func(ctx context.Context) error {
		_, err := g.embed(ctx, checked{g.wrapped}, []string{probeText})
		return err
	})
}

// changed is called for every change of the circuit, without a lock held.
func (g *Guard) changed(c breaker.Change) {
	if c.From == breaker.Closed && c.To == breaker.Open {
		g.background(g.probe)
	}
	if g.opts.OnChange != nil {
		g.opts.OnChange(c)
	}
}

// probe calls the embedder repeatedly until it succeeds or the guard is closed.
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

// background runs f in a goroutine that Close waits for. It returns false, without
// running f, after Close.
func (g *Guard) background(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(f)
	return true
}

// Close stops the probes, cancels the running calls and waits for both. It may be
// called twice.
func (g *Guard) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.end()
	g.running.Wait()
	return nil
}
