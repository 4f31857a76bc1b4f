package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// charsmap is sentencepiece's table of replacements: a trie as a Darts double array, whose values
// are offsets into replacements that end with a zero byte. The longest entry at the start of the
// text is replaced, as sentencepiece does in training. Hugging Face's tokenizers replace whole
// grapheme clusters by the shortest entry; the results differ only for some stacked marks.
type charsmap struct {
	units        []uint32
	replacements []byte
}

func parseCharsmap(file []byte) (*charsmap, error) {
	if len(file) < 4 {
		return nil, errors.New("a charsmap shorter than its header")
	}
	n := int(binary.LittleEndian.Uint32(file))
	if n%4 != 0 || n == 0 || n > len(file)-4 {
		return nil, errors.New("a charsmap whose trie does not fit")
	}
	c := &charsmap{units: make([]uint32, n/4), replacements: file[4+n:]}
	for i := range c.units {
		c.units[i] = binary.LittleEndian.Uint32(file[4+4*i:])
	}
	return c, nil
}

// longest returns the length of the longest entry that is a prefix of src, and its replacement; 0
// and nil if there is none.
func (c *charsmap) longest(src []byte) (length int, replacement []byte) {
	offset := func(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }
	at := offset(c.units[0])
	for i, b := range src {
		if b == 0 {
			break
		}
		at ^= uint32(b)
		if int64(at) >= int64(len(c.units)) || c.units[at]&(1<<31|0xff) != uint32(b) {
			break
		}
		unit := c.units[at]
		at ^= offset(unit)
		if unit>>8&1 == 0 {
			continue
		}
		if int64(at) >= int64(len(c.units)) {
			break
		}
		start := int64(c.units[at] & (1<<31 - 1))
		if start > int64(len(c.replacements)) {
			break
		}
		r := c.replacements[start:]
		if end := bytes.IndexByte(r, 0); end >= 0 {
			r = r[:end]
		}
		if utf8.Valid(r) {
			length, replacement = i+1, r
		}
	}
	if length < len(src) && !utf8.RuneStart(src[length]) {
		return 0, nil // a damaged table must not split a character
	}
	return length, replacement
}

func (c *charsmap) append(dst, src []byte) []byte {
	for len(src) > 0 {
		if n, with := c.longest(src); n > 0 {
			dst, src = append(dst, with...), src[n:]
			continue
		}
		_, n := utf8.DecodeRune(src)
		dst, src = append(dst, src[:n]...), src[n:]
	}
	return dst
}
