package middleware

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

// Blocks are kept while they have room, whether they are large or many.
func TestTheBytesOfBlocksAreBounded(t *testing.T) {
	const limit = 1 << 20
	b := blockCache{limit: rememberedTurns, limitBytes: limit}
	put := func(session string, chars int) {
		b.put(place{session: session}, &turnDecision{text: strings.Repeat("x", chars), receipt: ken.Receipt{Items: make([]ken.Item, 12), Cut: make([]ken.Cut, 60)}}, nil)
	}
	for i := range 2000 {
		put(fmt.Sprint(i), 6000)
	}
	have := b.blocks.Len()
	if b.bytes > limit || have < limit/40_000 || have > limit/6000 {
		t.Errorf("%d blocks, %d bytes", have, b.bytes)
	}
	if b.get(place{session: "1999"}) == nil || b.get(place{session: "0"}) != nil {
		t.Error("the latest is dropped, or the first is kept")
	}
	put("large", 2*limit) // its next request still finds it
	if b.get(place{session: "large"}) == nil || b.blocks.Len() != 1 {
		t.Errorf("%d blocks beside a large one", b.blocks.Len())
	}
	b.drop(func(*turnDecision) bool { return true })
	if b.bytes != 0 || b.blocks.Len() != 0 {
		t.Errorf("%d bytes, %d blocks are left", b.bytes, b.blocks.Len())
	}
}

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
