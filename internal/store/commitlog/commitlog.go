// Package commitlog stores the commits of owners' stores in an engine that replicates them.
// Any node can then serve any owner, and no committed data is lost with a node.
//
// Each owner has a log of records, a snapshot that replaces the records before it, and a
// lease that says which node writes. The engine orders the records and replicates them to
// a majority of its servers. The design has two rules.
//
//   - A writer appends a record after a position that it names. If another node has written
//     after that position, the append fails with ErrFenced, whatever the lease says.
//   - Clocks of different machines are never compared. A node is alive while its Beats grow.
//     Other nodes measure the time since the last change with their own clocks.
package commitlog

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Log is the interface of an engine. It is safe for concurrent use. Every call except Close
// returns when its context ends. While the engine has no majority or can't be reached, calls
// fail with an error that wraps ErrUnreachable. Run in package logtest tests a Log.
type Log interface {
	// Append appends a record of at most MaxRecord bytes after the record at position after,
	// which is 0 for the first record. It returns the new record's position, which is greater,
	// when the record is durable. Errors: ErrFenced if the last record is at another position.
	// After any other error, the record may be in the log or may still be added to it.
	Append(ctx context.Context, owner string, after uint64, data []byte) (position uint64, err error)
	// Last returns the position of the last record; 0 if there is none.
	Last(ctx context.Context, owner string) (position uint64, err error)
	// Read yields the records after a position, up to the one that was the last when Read
	// began. The caller owns the data. The sequence ends after an error.
	Read(ctx context.Context, owner string, after uint64) iter.Seq2[Record, error]
	// Truncate erases the records up to and including a position. It keeps the last record.
	Truncate(ctx context.Context, owner string, upTo uint64) error

	// PutSnapshot stores a snapshot of the log up to a position, and erases the snapshot that
	// it replaces. It stores nothing if r fails. If the stored snapshot has a later position,
	// it discards the new one and returns no error.
	PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error
	// Snapshot returns the latest snapshot; a position of 0 and a nil reader if there is none.
	// The caller must close the reader.
	Snapshot(ctx context.Context, owner string) (position uint64, r io.ReadCloser, err error)

	// Lease returns the lease of an owner; the zero Lease if it was never set.
	Lease(ctx context.Context, owner string) (Lease, error)
	// SetLease replaces a lease, and returns it with its new revision. Errors: ErrFenced if
	// l.Revision is not the revision of the stored lease.
	SetLease(ctx context.Context, owner string, l Lease) (Lease, error)
	// Owners returns the owners that have a log, in any order.
	Owners(ctx context.Context) ([]string, error)

	// Beat records that a node is alive: each call increases its stored Beats. n.Beats is ignored.
	Beat(ctx context.Context, n Node) error
	// Node returns a node as of its last Beat; the zero Node if it never called Beat, or left.
	Node(ctx context.Context, id string) (Node, error)
	// Leave removes a node. It is no error if the node is not there.
	Leave(ctx context.Context, id string) error
	// Nodes returns the nodes that have not left, in any order. Some may be dead.
	Nodes(ctx context.Context) ([]Node, error)

	// Health returns a text for people about the engine's servers and their replication.
	Health(ctx context.Context) (string, error)
	// Close closes the connections to the engine.
	Close() error
}

// Record is an entry of a log.
type Record struct {
	Position uint64
	Data     []byte
}

// Lease says which node may write for an owner. It is advisory: the position that Append
// checks makes an append fail if another node has written.
type Lease struct {
	Node     string // ID of the node that has the lease; "" for none
	Address  string // where that node serves the owner
	Token    string // authenticates clients to that node
	Revision uint64 // set by the engine; 0 for a lease that was never set
}

// Node is a process that serves owners.
type Node struct {
	ID      string
	Address string
	Version string // of the program
	Beats   uint64 // grows with each Beat, by any amount
}

// MaxRecord is the maximum size of a record's data, in bytes. A slow link sends that much in a fraction
// of a second, so that a call does not time out while its data is still being sent.
const MaxRecord = 64 << 10

// Every is the interval between a node's beats. A node stops serving when its last beat is
// Valid ago. Other nodes consider it dead when its Beats have not changed for Dead, or for
// Gone if connections to its address are refused. Valid is longer than most leader elections
// of JetStream's servers, which take 4 to 9 s: beats can't be stored without a leader.
const (
	Every = 300 * time.Millisecond
	Gone  = time.Second
	Valid = 6 * time.Second
	Dead  = 7 * time.Second
)

// Errors of a Log.
var (
	ErrFenced      = errors.New("another node has written meanwhile")
	ErrUnreachable = errors.New("the engine of the store is not reached")
)
