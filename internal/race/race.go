// Package race tells tests whether the race detector is on. The detector makes code
// about ten times as slow. A test whose size serves to find rare cases, but not races,
// uses a smaller size then, and its full size otherwise.
package race

import "testing"

// Pick returns usual, or raced if the race detector is on.
func Pick[T any](usual, raced T) T {
	if Enabled {
		return raced
	}
	return usual
}

// SkipLong skips a long test if the race detector is on and the test could find no
// more races than a short one, such as a test that reads much data in one goroutine.
// make whole runs it.
func SkipLong(t testing.TB) {
	if Enabled {
		t.Helper()
		t.Skip("long, and no place for races: make whole runs it")
	}
}
