// Package faults has no code of its own: its tests run real processes on a disk that
// fails, and compare what they find afterwards with what was acknowledged.
//
// The disk is a file system in memory behind FUSE. It injects I/O errors, a full disk,
// short and torn writes and failed syncs, and it can lose power: every process is killed
// and an arbitrary part of what was not synced is gone. Processes are also killed,
// paused and given a wrong clock.
//
//	make faults                   the long form
//	KEN_FAULTS=200 go test ./internal/faults -run Faults -v
//
// A run prints its seed. KEN_SEED with that number repeats the choice of faults; how the
// processes interleave is up to the machine.
package faults
