package guard_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/embed/embedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRefused = errors.New("connection refused")

// endpoint is a fake remote embedder whose state a test sets; it records its calls. The
// zero value is up.
type endpoint struct {
	embedtest.Bag

	mu      sync.Mutex
	fault   error
	latency time.Duration
	wrong   func([][]float32) [][]float32
	calls   [][]string
}

func (e *endpoint) Model() string { return "test:endpoint" }
func (e *endpoint) Local() bool   { return false }

func (e *endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	fault, latency, wrong := e.fault, e.latency, e.wrong
	e.calls = append(e.calls, texts)
	e.mu.Unlock()
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if fault != nil {
		return nil, fault
	}
	vectors, err := e.Bag.Embed(ctx, texts)
	if err == nil && wrong != nil {
		vectors = wrong(vectors)
	}
	return vectors, err
}

func (e *endpoint) set(fault error, latency time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault, e.latency = fault, latency
}

func (e *endpoint) asked() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([][]string(nil), e.calls...)
}

// pass lets the fake clock of a synctest bubble run for d.
func pass(d time.Duration) { <-time.After(d) }
