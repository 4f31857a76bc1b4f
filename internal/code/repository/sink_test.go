package repository

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
)

// memory is a sink that keeps everything and checks what it is given.
type memory struct {
	t      testing.TB
	known  map[string]Known
	chunks map[string][]ken.Claim
	puts   []string // paths, in the order in which they came
	calls  int
	fail   func(call int) error // asked before each change; may be nil
}

func newMemory(t testing.TB) *memory {
	return &memory{t: t, known: map[string]Known{}, chunks: map[string][]ken.Claim{}}
}

func (m *memory) DocumentHashes(context.Context) (map[string]Known, error) {
	return maps.Clone(m.known), nil
}

func (m *memory) before() error {
	m.calls++
	if m.fail != nil {
		return m.fail(m.calls)
	}
	return nil
}

func (m *memory) PutDocuments(_ context.Context, docs []Document) error {
	if err := m.before(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, d := range docs {
		if seen[d.Path] {
			m.t.Errorf("%s: twice in one call", d.Path)
		}
		seen[d.Path] = true
		for _, c := range d.Chunks {
			if err := c.Validate(); err != nil {
				m.t.Errorf("%s: %v", d.Path, err)
			}
		}
		m.known[d.Path], m.chunks[d.Path] = d.Known, d.Chunks
		m.puts = append(m.puts, d.Path)
	}
	return nil
}

func (m *memory) TouchDocuments(_ context.Context, known map[string]Known) error {
	if err := m.before(); err != nil {
		return err
	}
	for p, k := range known {
		if _, ok := m.known[p]; ok {
			m.known[p] = k
		}
	}
	return nil
}

func (m *memory) RemoveDocuments(_ context.Context, paths []string) error {
	if err := m.before(); err != nil {
		return err
	}
	for _, p := range paths {
		delete(m.known, p)
		delete(m.chunks, p)
	}
	return nil
}

// paths lists the documents that have chunks.
func (m *memory) paths() []string {
	var out []string
	for p, c := range m.chunks {
		if len(c) > 0 {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

func (m *memory) headings(path string) []string {
	var out []string
	for _, c := range m.chunks[path] {
		out = append(out, c.Heading)
	}
	return out
}
