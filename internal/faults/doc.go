// Package faults contains only tests. They run real processes on a disk that fails, and
// then compare the stored data with the changes that were acknowledged.
//
// The disk is a file system in memory behind FUSE. It injects I/O errors, a full disk,
// short and torn writes and failed syncs. It can also lose power: every process is killed,
// and an arbitrary part of the data that was not synced is lost. Processes are also killed,
// paused and given a wrong clock.
//
//	make faults                   a long run
//	KEN_FAULTS=200 go test ./internal/faults -run Faults -v
//
// A run prints its seed. With that number in KEN_SEED, a run chooses the same faults. The
// processes may still interleave in another order.
package faults
