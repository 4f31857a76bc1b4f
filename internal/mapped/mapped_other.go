//go:build !linux

package mapped

// Resident is how many bytes of mapped files the process has in memory; 0: not known.
func Resident() int { return 0 }

// Release gives up the pages of a mapping; here it does nothing.
func Release([]byte) {}
