package session

import (
	"hash/maphash"
	"sync"
)

// texts remembers what injected texts are once they were cleaned. A claim comes up
// in turn after turn, and cleaning is what takes the time.
type texts struct {
	seed maphash.Seed

	mu    sync.Mutex // guards known
	known map[uint64]string
}

// maxTexts bounds how many are remembered: a few megabytes. Then it begins anew.
const maxTexts = 4096

func (t *texts) clean(text string) string {
	key := maphash.String(t.seed, text)
	t.mu.Lock()
	c, ok := t.known[key]
	t.mu.Unlock()
	if ok {
		return c
	}
	c = cleanText(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[uint64]string{}
	}
	t.known[key] = c
	return c
}

// forget drops them all.
func (t *texts) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = nil
}
