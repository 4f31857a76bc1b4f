package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/embed/guard"
)

// script answers with its errors in turn, and with vectors after that.
type script struct {
	embedtest.Bag
	errs  []error
	calls []string
}

func (s *script) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.calls = append(s.calls, fmt.Sprint(texts))
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		if err != nil {
			return nil, err
		}
	}
	return s.Bag.Embed(ctx, texts)
}

func TestRetry(t *testing.T) {
	down := &ken.Error{Code: ken.CodeUnavailable, Msg: "down"}
	wrong := &ken.Error{Code: ken.CodeInvalid, Msg: "no such model"}
	throttled := func(d time.Duration) error {
		return &ken.Error{Code: ken.CodeUnavailable, Err: &embed.Throttled{After: d}}
	}
	tests := map[string]struct {
		errs  []error
		want  error
		waits time.Duration
		calls int
	}{
		"up":                        {nil, nil, 0, 1},
		"down twice":                {[]error{down, down}, nil, 3 * time.Second, 3},
		"down for good":             {[]error{down, down, down, down, down}, down, 15 * time.Second, 5},
		"wrongly configured":        {[]error{wrong}, wrong, 0, 1},
		"embeddings are off":        {[]error{embed.ErrOff}, embed.ErrOff, 0, 1},
		"asked to wait":             {[]error{throttled(20 * time.Second)}, nil, 20 * time.Second, 2},
		"asked to wait for an hour": {[]error{throttled(time.Hour)}, nil, time.Minute, 2},
		"asked to wait for nothing": {[]error{throttled(0)}, nil, time.Second, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{errs: tt.errs}
				start := time.Now()
				_, err := guard.Retry(s, 0).Embed(t.Context(), []string{"a"})
				if err != tt.want || len(s.calls) != tt.calls {
					t.Errorf("%d calls, error %v; want %d, %v", len(s.calls), err, tt.calls, tt.want)
				}
				if got := time.Since(start); got != tt.waits {
					t.Errorf("waited %v, want %v", got, tt.waits)
				}
			})
		})
	}
}

func TestRetryRepeatsOnlyTheBatchThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{errs: []error{nil, ken.ErrUnavailable}}
		_, err := guard.Retry(s, 2).Embed(t.Context(), []string{"a", "b", "c", "d", "e"})
		if got := fmt.Sprint(s.calls); err != nil || got != "[[a b] [c d] [c d] [e]]" {
			t.Errorf("calls %s, error %v", got, err)
		}
	})
}

func TestRetryStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		s := &script{errs: []error{ken.ErrUnavailable}}
		_, err := guard.Retry(s, 0).Embed(ctx, []string{"a"})
		if !errors.Is(err, ken.ErrUnavailable) || len(s.calls) != 1 {
			t.Errorf("%d calls, error %v; want one call and what it answered", len(s.calls), err)
		}
	})
}
