package guardrail

import "strings"

// Finding is a credential in a text: the bytes text[Start:End].
type Finding struct {
	Kind       string // such as github-token; what the marker of Redact names
	Start, End int
}

// Redact replaces every finding of Secrets by a marker that names its kind, such
// as [redacted:github-token], and returns the findings with their places in the
// text that was given. A text without findings is returned as it is.
func Redact(text string) (string, []Finding) {
	found := Secrets(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for _, f := range found {
		b.WriteString(text[done:f.Start])
		b.WriteString("[redacted:")
		b.WriteString(f.Kind)
		b.WriteByte(']')
		done = f.End
	}
	b.WriteString(text[done:])
	return b.String(), found
}

// Secrets finds credentials in text: private keys, tokens and keys with the
// shapes that their issuers publish, JSON web tokens, passwords in connection
// strings, and values of enough entropy that are assigned to a name like
// password or api_key. Findings are in order and don't overlap. A connection
// string or an assignment is found by its value only, so that what it was for
// stays readable.
//
// It is built for few false alarms, since whatever it finds is lost to the
// reader: digests, commit hashes and UUIDs are not secrets, nor are placeholders
// ("<your key>", "sk-...", "${TOKEN}", "xxxx"), plain words or names of
// variables. So a short password, or one that is a word, is not found either, nor
// a secret without a known shape or name: it is a net, not a wall.
//
// Text is read as it is. To find what invisible characters hide, Sanitize first.
func Secrets(text string) []Finding {
	var found []Finding
	last := 0 // the end of the last finding
	for i := 0; i+4 <= len(text); i++ {
		key := anchorKey(text, i)
		h := anchorHash(key)
		if anchorBits[h>>5]&(1<<(h&31)) == 0 {
			continue
		}
		for _, find := range detectors[key] {
			f, ok := find(text, i)
			if f.Start = max(f.Start, last); ok && f.Start < f.End {
				found = append(found, f)
				last = f.End
				i = max(i, last-1)
				break
			}
		}
	}
	return found
}

// A detector looks at a place where four bytes of a text, in any case, are its
// anchor. The anchors are few and rare, so that the scan costs a multiplication
// and a bit test a byte.
type detector func(text string, i int) (Finding, bool)

func anchorKey(s string, i int) uint32 {
	return (uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24) | 0x20202020
}

func anchorHash(key uint32) uint32 { return key * 0x9e3779b1 >> 18 }

// detectors by their anchors' keys.
var detectors = func() map[uint32][]detector {
	m := map[uint32][]detector{}
	for _, sh := range shapes {
		anchorAt(m, sh.prefix, sh.find)
	}
	anchorAt(m, "eyj", findJWT)
	anchorAt(m, "://", findURLPassword)
	anchorAt(m, "--be", findPrivateKey)
	anchorAt(m, "--en", findPrivateKeyEnd)
	for _, a := range []string{"pass", "pwd", "secr", "toke", "_key", "-key", "ikey", "skey", "tkey"} {
		anchorAt(m, a, findAssigned)
	}
	return m
}()

const anchorSlots = 1 << 14

// anchorBits has a bit set for the hash of every key of detectors.
var anchorBits = func() (bits [anchorSlots / 32]uint32) {
	for key := range detectors {
		h := anchorHash(key)
		bits[h>>5] |= 1 << (h & 31)
	}
	return bits
}()

// anchorAt registers a detector under the first four bytes of prefix; a shorter
// prefix is followed by any byte that could go on.
func anchorAt(m map[uint32][]detector, prefix string, find detector) {
	ends := []string{""}
	if len(prefix) == 3 {
		ends = nil
		for c := byte('!'); c < 0x7f; c++ {
			if c|0x20 == c { // the rest fold to one of these
				ends = append(ends, string(c))
			}
		}
		ends = append(ends, " ")
	}
	for _, end := range ends {
		key := anchorKey(prefix+end, 0)
		m[key] = append(m[key], find)
	}
}
