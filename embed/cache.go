package embed

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// Hash identifies a text by its content: the first 16 bytes of its SHA-256.
func Hash(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// Cache keeps vectors by model and content hash. It is never needed for a right
// answer, so it has no errors: an implementation that can't read has a miss, one
// that can't write keeps nothing, and each reports that itself. Implementations
// are safe for concurrent use.
type Cache interface {
	// Get returns one vector a hash, in order, nil for those it lacks.
	Get(model string, hashes [][16]byte) [][]float32
	// Put keeps vectors[i] for hashes[i]; none of them is nil.
	Put(model string, hashes [][16]byte, vectors [][]float32)
}

// DefaultMemorySize is the number of vectors that NewMemory(0) holds: 25 MB at
// 1,536 dimensions.
const DefaultMemorySize = 4096

// Memory is a Cache that forgets what was unused for longest.
type Memory struct {
	size int

	mu     sync.Mutex // guards the rest
	byKey  map[memoryKey]*list.Element
	recent *list.List // of memoryEntry, latest use first
}

type memoryKey struct {
	model string
	hash  [16]byte
}

type memoryEntry struct {
	key    memoryKey
	vector []float32
}

// NewMemory returns a cache of at most size vectors; <= 0 means DefaultMemorySize.
func NewMemory(size int) *Memory {
	if size <= 0 {
		size = DefaultMemorySize
	}
	return &Memory{size: size, byKey: map[memoryKey]*list.Element{}, recent: list.New()}
}

// Get implements Cache.
func (m *Memory) Get(model string, hashes [][16]byte) [][]float32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	vectors := make([][]float32, len(hashes))
	for i, h := range hashes {
		if el, ok := m.byKey[memoryKey{model, h}]; ok {
			m.recent.MoveToFront(el)
			vectors[i] = el.Value.(memoryEntry).vector
		}
	}
	return vectors
}

// Put implements Cache.
func (m *Memory) Put(model string, hashes [][16]byte, vectors [][]float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, h := range hashes {
		entry := memoryEntry{memoryKey{model, h}, vectors[i]}
		if el, ok := m.byKey[entry.key]; ok {
			el.Value = entry
			m.recent.MoveToFront(el)
			continue
		}
		m.byKey[entry.key] = m.recent.PushFront(entry)
		if m.recent.Len() > m.size {
			oldest := m.recent.Remove(m.recent.Back()).(memoryEntry)
			delete(m.byKey, oldest.key)
		}
	}
}
