// Package commitlog keeps what owners' stores commit in an engine that replicates it, so
// that any number of nodes can serve every owner and none of them matters.
//
// Each owner has a log of records, a snapshot that stands for the records before it, and a
// lease that says which node writes. The engine does the distributed part: it orders the
// records and keeps them where a majority of its servers has them. Two rules follow.
//
//   - A record is appended behind a position that the writer names. A node that was paused
//     while another one wrote fails with ErrFenced, whatever it believes of its lease.
//   - No clock is compared between machines. A node lives while its beats change; who waits
//     for it measures with a clock of its own.
package commitlog

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Log is an engine. It is safe for concurrent use. Every call but Close ends with its
// context, and fails with an error that wraps ErrUnreachable while the engine has no
// majority, or can't be reached. TestLog in package logtest says what is expected of one.
type Log interface {
	// Append writes a record of at most MaxRecord bytes behind the record at position after, 0
	// for the first one, and returns its position, which is greater. It returns when the
	// record is durable. Errors: ErrFenced when another record follows that position.
	// After any other error the record may be there or come later.
	Append(ctx context.Context, owner string, after uint64, data []byte) (position uint64, err error)
	// Last is the position of the last record; 0 when there was none yet.
	Last(ctx context.Context, owner string) (position uint64, err error)
	// Read yields the records behind a position, up to the one that was the last when it
	// began. The data is the caller's.
	Read(ctx context.Context, owner string, after uint64) iter.Seq2[Record, error]
	// Truncate erases the records up to a position and including it. The last record stays.
	Truncate(ctx context.Context, owner string, upTo uint64) error

	// PutSnapshot keeps what stands for the log up to a position, and erases snapshots of
	// earlier positions. One that is not read to its end, or is earlier than another, leaves
	// no trace.
	PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error
	// Snapshot returns the latest snapshot; a position of 0 and no reader when there is none.
	Snapshot(ctx context.Context, owner string) (position uint64, r io.ReadCloser, err error)

	// Lease returns who may write for an owner; the zero value when nobody has.
	Lease(ctx context.Context, owner string) (Lease, error)
	// SetLease replaces a lease, and returns it with its new revision. Errors: ErrFenced when
	// it is no longer the one of that revision.
	SetLease(ctx context.Context, owner string, l Lease) (Lease, error)
	// Owners names the owners who have a log, in any order.
	Owners(ctx context.Context) ([]string, error)

	// Beat says that a node lives: the Beats of its record grow with each call.
	Beat(ctx context.Context, n Node) error
	// Node returns what a node has last said; a Beats of 0 when it said nothing, or left.
	Node(ctx context.Context, id string) (Node, error)
	// Leave forgets a node.
	Leave(ctx context.Context, id string) error
	// Nodes lists the nodes that have not left.
	Nodes(ctx context.Context) ([]Node, error)

	// Health describes the engine for a person: its servers, and whether they agree.
	Health(ctx context.Context) (string, error)
	Close() error
}

// Record is an entry of a log.
type Record struct {
	Position uint64
	Data     []byte
}

// Lease is the right to write for an owner, as far as nodes agree. What enforces it is the
// position of an append.
type Lease struct {
	Node     string // who has it; "" for nobody
	Address  string // where that node serves the owner
	Token    string // what a client of that node has to show
	Revision uint64 // of the engine; 0 for a lease that was never set
}

// Node is a process that serves owners.
type Node struct {
	ID      string
	Address string
	Version string // of the program
	Beats   uint64 // grows with each beat
}

// MaxRecord bounds the data of a record, in bytes: what a slow link takes in a part of a second, so
// that an answer is not taken for lost while it is on its way.
const MaxRecord = 64 << 10

// Every is how often a node beats. A node stops serving when its last beat was Valid ago;
// others take it for dead when they have not seen it change for Dead, or for Gone if its
// machine says that nobody listens at its address. Valid is longer than most elections of
// JetStream's servers, which take 4 to 9 s: without a leader nobody's beat is heard.
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
