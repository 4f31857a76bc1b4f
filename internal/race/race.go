// Package race tells tests whether the race detector watches them. It makes code
// about ten times as slow: a test whose size looks for rare cases, and not for races,
// takes less of it then, and all of it in a run without.
package race

import "testing"

// Pick is usual, or raced where the race detector is on.
func Pick[T any](usual, raced T) T {
	if Enabled {
		return raced
	}
	return usual
}

// LeaveToWhole skips, where the race detector is on, a long test that could find no
// race which a short one would not, such as one that reads much data in one goroutine.
// make whole runs it.
func LeaveToWhole(t testing.TB) {
	if Enabled {
		t.Helper()
		t.Skip("long, and no place for races: make whole runs it")
	}
}
