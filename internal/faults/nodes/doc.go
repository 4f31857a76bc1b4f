// Package nodes contains only tests, of several nodes that share an engine. Three nodes, as
// processes, write to owners through real servers, while nodes and servers are killed, paused
// and cut off. Afterwards every acknowledged write must be stored exactly once.
//
//	KEN_FAULTS=500 go test ./internal/faults/nodes -run Faults -v -timeout 90m
//
// A run prints its seed. With that number in KEN_SEED, a run chooses the same faults. With KEN_FAULT,
// only faults whose names contain its value are chosen. KEN_NODE_LOG=1 shows the nodes' logs.
package nodes
