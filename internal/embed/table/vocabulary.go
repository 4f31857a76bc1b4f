package table

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxTokens   = 1 << 20
	maxTokenLen = 255 // bytes; the file keeps a length in one byte
)

// Vocabulary splits texts into tokens. It is immutable, so it is safe for concurrent
// use.
type Vocabulary struct {
	blob    []byte   // all tokens, concatenated
	starts  []uint32 // start of each token in blob, and the end
	slots   []uint32 // open-addressing hash table: a token's number + 1, or 0
	longest int      // bytes of the longest single word or piece
	pairs   map[uint64]int32
}

// NewVocabulary returns a vocabulary; a token's number is its index. Tokens must be
// distinct, not empty, and at most 255 bytes of UTF-8. A token with a space represents
// two neighbouring words that are tokens themselves.
func NewVocabulary(tokens []string) (*Vocabulary, error) {
	lengths := make([]byte, len(tokens))
	for i, t := range tokens {
		if len(t) > maxTokenLen {
			return nil, fmt.Errorf("token %d has %d bytes, the limit is %d", i, len(t), maxTokenLen)
		}
		lengths[i] = byte(len(t))
	}
	return newVocabulary(lengths, []byte(strings.Join(tokens, "")))
}

// newVocabulary keeps blob, which must not be changed.
func newVocabulary(lengths, blob []byte) (*Vocabulary, error) {
	n := len(lengths)
	if n == 0 || n > maxTokens {
		return nil, fmt.Errorf("%d tokens, want 1 to %d", n, maxTokens)
	}
	size := 1
	for size < 2*n {
		size *= 2
	}
	v := &Vocabulary{blob: blob, starts: make([]uint32, n+1), slots: make([]uint32, size)}
	at := 0
	for i, l := range lengths {
		v.starts[i] = uint32(at)
		at += int(l)
		if l == 0 || at > len(blob) {
			return nil, fmt.Errorf("token %d has %d bytes of %d left", i, l, len(blob)-at+int(l))
		}
	}
	v.starts[n] = uint32(at)
	if at != len(blob) {
		return nil, fmt.Errorf("the tokens have %d bytes, their lengths say %d", len(blob), at)
	}
	if !utf8.Valid(blob) {
		return nil, fmt.Errorf("the tokens are not UTF-8")
	}
	return v, v.index()
}

// index fills the hash table and the pairs.
func (v *Vocabulary) index() error {
	var spaced []int
	for i := range v.Len() {
		t := v.token(i)
		if !utf8.RuneStart(t[0]) {
			return fmt.Errorf("token %d is not UTF-8", i)
		}
		slot, found := v.find(hash(t), t)
		if found >= 0 {
			return fmt.Errorf("token %d repeats token %d, %q", i, found, t)
		}
		v.slots[slot] = uint32(i) + 1
		if bytes.IndexByte(t, ' ') >= 0 {
			spaced = append(spaced, i)
		} else {
			v.longest = max(v.longest, len(t))
		}
	}
	for _, i := range spaced {
		first, second, _ := bytes.Cut(v.token(i), []byte{' '})
		_, a := v.find(hash(first), first)
		_, b := v.find(hash(second), second)
		if a < 0 || b < 0 {
			return fmt.Errorf("token %d, %q, is not a pair of tokens", i, v.token(i))
		}
		if v.pairs == nil {
			v.pairs = make(map[uint64]int32, len(spaced))
		}
		v.pairs[pairKey(a, b)] = int32(i)
	}
	return nil
}

func pairKey(a, b int32) uint64 { return uint64(a)<<32 | uint64(uint32(b)) }

// Len returns the number of tokens.
func (v *Vocabulary) Len() int { return len(v.starts) - 1 }

// Token returns token i.
func (v *Vocabulary) Token(i int) string { return string(v.token(i)) }

func (v *Vocabulary) token(i int) []byte { return v.blob[v.starts[i]:v.starts[i+1]] }

// ID returns a token's number, and false for what is not a token.
func (v *Vocabulary) ID(token string) (int, bool) {
	_, id := v.find(hash([]byte(token)), []byte(token))
	return int(id), id >= 0
}

// FNV-1a, 32 bits: it can be extended byte by byte, which the search for pieces needs.
const (
	hashStart = 2166136261
	hashPrime = 16777619
)

func hash(b []byte) uint32 {
	h := uint32(hashStart)
	for _, c := range b {
		h = (h ^ uint32(c)) * hashPrime
	}
	return h
}

// find returns the slot of a token and its number, or the free slot and -1.
func (v *Vocabulary) find(h uint32, token []byte) (slot int, id int32) {
	mask := uint32(len(v.slots) - 1)
	for s := (h ^ h>>15) & mask; ; s = (s + 1) & mask {
		i := v.slots[s]
		if i == 0 {
			return int(s), -1
		}
		if bytes.Equal(v.token(int(i-1)), token) {
			return int(s), int32(i - 1)
		}
	}
}

// Append appends the numbers of the text's tokens: each word's own token or those of
// its pieces, and after two neighbouring words the token of the pair, if there is one.
func (v *Vocabulary) Append(dst []int32, text string) []int32 {
	before := int32(-1)
	Words(text, func(w []byte) {
		_, id := v.find(hash(w), w)
		if id < 0 {
			dst = v.appendPieces(dst, w)
			before = -1
			return
		}
		dst = append(dst, id)
		if pair := v.pair(before, id); pair >= 0 {
			dst = append(dst, pair)
		}
		before = id
	})
	return dst
}

// pair returns the token of two neighbouring words, or -1.
func (v *Vocabulary) pair(a, b int32) int32 {
	if a < 0 || len(v.pairs) == 0 {
		return -1
	}
	if id, ok := v.pairs[pairKey(a, b)]; ok {
		return id
	}
	return -1
}

// appendPieces splits an unknown word, each time taking the longest piece that fits.
// Characters with which no piece begins are left out.
func (v *Vocabulary) appendPieces(dst []int32, word []byte) []int32 {
	var hashes [maxWord + 16]uint32
	for len(word) > 0 {
		n := min(len(word), v.longest, len(hashes))
		h := uint32(hashStart)
		for i := range n {
			h = (h ^ uint32(word[i])) * hashPrime
			hashes[i] = h
		}
		id := int32(-1)
		for ; n > 0; n-- {
			if _, id = v.find(hashes[n-1], word[:n]); id >= 0 {
				break
			}
		}
		if id < 0 {
			_, n = utf8.DecodeRune(word)
		} else {
			dst = append(dst, id)
		}
		word = word[n:]
	}
	return dst
}
