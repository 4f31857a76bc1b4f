package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Ring is the keys that open the gateway. It isn't changed once made, and is safe
// for concurrent use.
type Ring struct{ entries []Entry }

// Entry is one key, known by its hash.
type Entry struct {
	Hash Hash
	Principal
}

// NewRing returns a ring of these keys. Of two entries with the same hash the
// first counts. It keeps a copy of the slice.
func NewRing(entries ...Entry) *Ring { return &Ring{append([]Entry(nil), entries...)} }

// Len is the number of keys.
func (r *Ring) Len() int { return len(r.entries) }

// Owners lists whose knowledge the keys open, each once. The caller owns the slice.
func (r *Ring) Owners() []string {
	var out []string
	for i := range r.entries {
		if owner := r.entries[i].Owner; !slices.Contains(out, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// Find returns whose key it is, also where it has ended: see Principal.Expired.
func (r *Ring) Find(key string) (Principal, bool) { return r.FindHash(HashKey(key)) }

// FindHash returns whose key has this hash. Its time says nothing about which key was
// close: all hashes are compared, each in constant time.
func (r *Ring) FindHash(h Hash) (Principal, bool) {
	found := -1
	for i := range r.entries {
		if subtle.ConstantTimeCompare(h[:], r.entries[i].Hash[:]) == 1 && found < 0 {
			found = i
		}
	}
	if found < 0 {
		return Principal{}, false
	}
	return r.entries[found].Principal, true
}

// KeyPrefix starts every key, so that a key of Ken can be told from one of the
// provider that stands in the same header, and so that scanners for leaked
// secrets find it.
const KeyPrefix = "ken_"

// keyBytes is the entropy of a key: 256 bits, far beyond guessing, which is why
// a plain hash of it is enough and no salted, slow one is needed.
const keyBytes = 32

const hashPrefix = "sha256:"

// NewKey returns a new key of 68 characters: KeyPrefix and 64 hexadecimal digits.
func NewKey() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // it never fails
	return KeyPrefix + hex.EncodeToString(b)
}

// Hash is a key's SHA-256 sum.
type Hash [sha256.Size]byte

// HashKey returns the hash of a key.
func HashKey(key string) Hash { return sha256.Sum256([]byte(key)) }

// String writes the hash as configured: "sha256:" and 64 hexadecimal digits.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// ParseHash reads what String writes; anything else is ErrInvalid, whose message
// doesn't repeat what was given, because it may be the key itself.
func ParseHash(s string) (h Hash, err error) {
	digits, ok := strings.CutPrefix(s, hashPrefix)
	if ok && len(digits) == hex.EncodedLen(len(h)) {
		if _, err := hex.Decode(h[:], []byte(digits)); err == nil {
			return h, nil
		}
	}
	return Hash{}, &ken.Error{Code: ken.CodeInvalid, Field: "hash",
		Msg: "the value is not " + hashPrefix + " and " + strconv.Itoa(hex.EncodedLen(len(h))) + " hexadecimal digits",
		Try: "Make a key with ken key create, or with ken serve key and copy the hash that it prints."}
}
