package middleware_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/middleware"
)

// encoder is an embedder in the background, of another model than the built-in table's.
type encoder struct {
	embedtest.Bag
	down atomic.Bool
}

func (*encoder) Model() string    { return "test:encoder" }
func (*encoder) Background() bool { return true }

func (e *encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if e.down.Load() {
		return nil, &ken.Error{Code: ken.CodeUnavailable, Msg: "the encoder is down", Err: errors.New("test")}
	}
	return e.Bag.Embed(ctx, texts)
}

// With a slow embedder, the built-in table is used until the records have their vectors, also
// while the slow embedder is down. No turn is called hybrid before a record has a vector.
func TestBuiltinServesUntilTheEmbedderIsReady(t *testing.T) {
	e := &encoder{}
	e.down.Store(true)
	root := t.TempDir()
	l := open(t, settings(), func(o *middleware.Options) { o.Root, o.Embedder = root, e })
	learn(t, l, fact(t, retryFact))
	ask := func(l *middleware.Layer) ken.Receipt {
		return l.Assemble(context.Background(), asked(question)).Receipt
	}
	if r := ask(l); r.Mode == ken.ModeHybrid {
		t.Errorf("mode %q before anything has a vector", r.Mode)
	}
	s, release, err := l.Store(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := s.EmbedMissing(context.Background()); err == nil {
		t.Fatal("the encoder is down, and nothing says so")
	}
	r := ask(l)
	if degraded := strings.Join(r.Degraded, "\n"); r.Mode != ken.ModeHybrid || !strings.Contains(degraded, "0 of 1 records") || !strings.Contains(degraded, "ken:") ||
		!strings.Contains(degraded, "the encoder is down") || !strings.Contains(r.Block, "three times") {
		t.Errorf("mode %q, cause %q, degraded %q", r.Mode, r.Cause, r.Degraded)
	}
	e.down.Store(false)
	if _, err := s.EmbedMissing(context.Background()); err != nil || s.Standby() != "" {
		t.Fatalf("%v, standby %q", err, s.Standby())
	}
	if r := ask(l); r.Mode != ken.ModeHybrid || len(r.Degraded) > 0 || !strings.Contains(r.Block, "three times") {
		t.Errorf("at the end: mode %q, degraded %q", r.Mode, r.Degraded)
	}
}
