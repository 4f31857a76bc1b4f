package seed_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/seed"
)

func TestSeedsAreTheSameInEveryRunAndDifferWithinOne(t *testing.T) {
	t.Setenv("KEN_SEED", "")
	const want = uint64(11897667652725295700)
	a, b := seed.Of(t), seed.Of(t)
	if a != want || b != want+1 {
		t.Errorf("%d, %d; want %d and the next", a, b, want)
	}
	t.Setenv("KEN_SEED", "42")
	if got := seed.Of(t); got != 42 {
		t.Errorf("KEN_SEED=42 gives %d", got)
	}
	t.Setenv("KEN_SEED", "random")
	if a, b := seed.Of(t), seed.Of(t); a == b {
		t.Error("random seeds repeat")
	}
}
