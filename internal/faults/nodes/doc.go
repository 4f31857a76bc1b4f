// Package nodes tests what several machines keep: three nodes, as processes, write to owners
// by an engine of real servers, while nodes and servers are killed, paused and cut off.
// Afterwards nothing that was acknowledged is lost, and nothing is there twice.
//
//	KEN_FAULTS=500 go test ./internal/faults/nodes -run Faults -v -timeout 90m
//
// A run prints its seed. KEN_SEED with that number repeats the choice of faults. KEN_FAULT is a part
// of the names of those that are chosen from, and KEN_NODE_LOG=1 shows what the nodes log.
package nodes
