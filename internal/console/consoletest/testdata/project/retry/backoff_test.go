package retry

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for n, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute} {
		if got := Backoff(n); got != want {
			t.Errorf("after attempt %d: %s, want %s", n, got, want)
		}
	}
}
