//go:build !linux

package mapped

// Resident returns 0: the number is unknown on this system.
func Resident() int { return 0 }

// Release does nothing on this system.
func Release([]byte) {}
