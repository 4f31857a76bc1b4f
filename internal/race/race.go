// Package race tells tests whether the race detector watches them. It makes code
// about ten times as slow: a test whose size looks for rare cases, and not for races,
// takes less of it then, and all of it in a run without.
package race

// Pick is usual, or raced where the race detector is on.
func Pick[T any](usual, raced T) T {
	if Enabled {
		return raced
	}
	return usual
}
