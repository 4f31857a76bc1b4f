// Package logtest has helpers for tests of logs: a log in memory, a test suite that every log must
// pass, and servers of NATS and PostgreSQL.
package logtest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/kenlayer/ken/internal/store/commitlog"
)

// Memory is a commitlog.Log in memory. Several nodes of one process share the data through Join.
// Cut simulates that the log is unreachable.
type Memory struct {
	s    *memory
	mu   sync.Mutex
	down error
}

// memory is the data that a log shares with those of Join.
type memory struct {
	mu        sync.Mutex // guards the rest
	position  uint64
	revision  uint64
	logs      map[string][]commitlog.Record
	snapshots map[string]commitlog.Record
	leases    map[string]commitlog.Lease
	nodes     map[string]commitlog.Node
}

var _ commitlog.Log = (*Memory)(nil)

// NewMemory returns an empty log.
func NewMemory() *Memory {
	return &Memory{s: &memory{logs: map[string][]commitlog.Record{}, snapshots: map[string]commitlog.Record{}, leases: map[string]commitlog.Lease{}, nodes: map[string]commitlog.Node{}}}
}

// Join returns a log with the same data. Cut of one does not affect the other.
func (m *Memory) Join() *Memory { return &Memory{s: m.s} }

// Cut makes all later calls of m except Close fail with err. With nil, calls work again.
func (m *Memory) Cut(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// begin locks the data and returns the function that unlocks it. The caller must call that function,
// also after an error.
func (m *Memory) begin(ctx context.Context) (func(), error) {
	m.mu.Lock()
	down := m.down
	m.mu.Unlock()
	if err := cmp.Or(ctx.Err(), down); err != nil {
		return func() {}, err
	}
	m.s.mu.Lock()
	return m.s.mu.Unlock, nil
}

// Append implements commitlog.Log.
func (m *Memory) Append(ctx context.Context, owner string, after uint64, data []byte) (uint64, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return 0, err
	}
	if m.s.last(owner) != after {
		return 0, commitlog.ErrFenced
	}
	m.s.position++
	m.s.logs[owner] = append(m.s.logs[owner], commitlog.Record{Position: m.s.position, Data: bytes.Clone(data)})
	return m.s.position, nil
}

func (s *memory) last(owner string) uint64 {
	if l := s.logs[owner]; len(l) > 0 {
		return l[len(l)-1].Position
	}
	return 0
}

// Last implements commitlog.Log.
func (m *Memory) Last(ctx context.Context, owner string) (uint64, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return 0, err
	}
	return m.s.last(owner), nil
}

// Read implements commitlog.Log.
func (m *Memory) Read(ctx context.Context, owner string, after uint64) iter.Seq2[commitlog.Record, error] {
	return func(yield func(commitlog.Record, error) bool) {
		end, err := m.begin(ctx)
		var all []commitlog.Record
		if err == nil {
			all = slices.Clone(m.s.logs[owner])
		}
		end()
		if err != nil {
			yield(commitlog.Record{}, err)
			return
		}
		for _, r := range all {
			if r.Position > after && !yield(commitlog.Record{Position: r.Position, Data: bytes.Clone(r.Data)}, nil) {
				return
			}
		}
	}
}

// Truncate implements commitlog.Log.
func (m *Memory) Truncate(ctx context.Context, owner string, upTo uint64) error {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	last := m.s.last(owner)
	m.s.logs[owner] = slices.DeleteFunc(m.s.logs[owner], func(r commitlog.Record) bool { return r.Position <= upTo && r.Position != last })
	return nil
}

// PutSnapshot implements commitlog.Log.
func (m *Memory) PutSnapshot(ctx context.Context, owner string, position uint64, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	if m.s.snapshots[owner].Position <= position {
		m.s.snapshots[owner] = commitlog.Record{Position: position, Data: data}
	}
	return nil
}

// Snapshot implements commitlog.Log.
func (m *Memory) Snapshot(ctx context.Context, owner string) (uint64, io.ReadCloser, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil || m.s.snapshots[owner].Position == 0 {
		return 0, nil, err
	}
	return m.s.snapshots[owner].Position, io.NopCloser(bytes.NewReader(m.s.snapshots[owner].Data)), nil
}

// Lease implements commitlog.Log.
func (m *Memory) Lease(ctx context.Context, owner string) (commitlog.Lease, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return commitlog.Lease{}, err
	}
	return m.s.leases[owner], nil
}

// SetLease implements commitlog.Log.
func (m *Memory) SetLease(ctx context.Context, owner string, l commitlog.Lease) (commitlog.Lease, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return commitlog.Lease{}, err
	}
	if m.s.leases[owner].Revision != l.Revision {
		return commitlog.Lease{}, commitlog.ErrFenced
	}
	m.s.revision++
	l.Revision = m.s.revision
	m.s.leases[owner] = l
	return l, nil
}

// Owners implements commitlog.Log.
func (m *Memory) Owners(ctx context.Context) ([]string, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(m.s.logs)), nil
}

// Beat implements commitlog.Log.
func (m *Memory) Beat(ctx context.Context, n commitlog.Node) error {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	m.s.revision++
	n.Beats = m.s.revision
	m.s.nodes[n.ID] = n
	return nil
}

// Node implements commitlog.Log.
func (m *Memory) Node(ctx context.Context, id string) (commitlog.Node, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return commitlog.Node{}, err
	}
	return m.s.nodes[id], nil
}

// Leave implements commitlog.Log.
func (m *Memory) Leave(ctx context.Context, id string) error {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return err
	}
	delete(m.s.nodes, id)
	return nil
}

// Nodes implements commitlog.Log.
func (m *Memory) Nodes(ctx context.Context) ([]commitlog.Node, error) {
	end, err := m.begin(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(m.s.nodes)), nil
}

// Health implements commitlog.Log.
func (m *Memory) Health(ctx context.Context) (string, error) {
	end, err := m.begin(ctx)
	defer end()
	return "in memory", err
}

// Close implements commitlog.Log.
func (m *Memory) Close() error { return nil }
