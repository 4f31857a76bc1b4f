package main

import (
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	const mb = 1 << 20
	for _, tt := range []struct {
		live, scanned uint64
		want          int
	}{
		{0, 0, 100}, // before the first collection
		{20 * mb, 15 * mb, 100},
		{64 * mb, 1 * mb, 100},
		{128 * mb, 1 * mb, 50},
		{300 * mb, 100 * mb, 34},
		{1000 * mb, 1000 * mb, 100},
	} {
		if got := garbagePercent(tt.live, tt.scanned); got != tt.want {
			t.Errorf("%d MB live, %d MB looked at: %d, want %d", tt.live/mb, tt.scanned/mb, got, tt.want)
		}
	}
}
