package taint

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// minEncoded is the shortest base64 that is worth decoding: twelve characters.
const minEncoded = 16

// decoded returns what stands in base64 or hex in a text, in front of which there is
// a space; "" for nothing. One layer is taken off.
func decoded(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if !base64Byte(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && base64Byte(s[i]) {
			i++
		}
		if word := strings.TrimRight(s[start:i], "="); len(word) >= minEncoded {
			if text, ok := decode(word); ok {
				out.WriteByte(' ')
				out.WriteString(text)
			}
		}
	}
	return out.String()
}

func base64Byte(c byte) bool {
	return letter(c) || digit(c) || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

// decode reads an encoded word, if what comes out is text.
func decode(word string) (string, bool) {
	if len(word)%2 == 0 {
		if b, err := hex.DecodeString(word); err == nil && readable(b) {
			return string(b), true
		}
	}
	if len(word)%4 == 1 {
		return "", false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(word, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(word)
	return string(b), err == nil && readable(b)
}

// readable reports bytes that are text. Words happen to be base64 as well, and what
// comes of those is hardly ever printable.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}
