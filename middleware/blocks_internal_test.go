package middleware

import (
	"hash/fnv"
	"testing"
)

// Blocks in stores have hashes of earlier programs.
func TestHashIsFNV(t *testing.T) {
	for _, text := range []string{"", "a", "The payments service retries three times.", "Grüße, 世界\x00"} {
		h := fnv.New64a()
		h.Write([]byte(text))
		if got := hashOf(text); got != h.Sum64() {
			t.Errorf("%q: %x, want %x", text, got, h.Sum64())
		}
	}
}
