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

// Ring holds the keys that the gateway accepts. It is immutable and safe for
// concurrent use.
type Ring struct{ entries []Entry }

// Entry is one key, identified by its hash.
type Entry struct {
	Hash Hash
	Principal
}

// NewRing returns a ring of these keys. Of two entries with the same hash, the first
// counts. It copies the slice.
func NewRing(entries ...Entry) *Ring { return &Ring{append([]Entry(nil), entries...)} }

// Len returns the number of keys.
func (r *Ring) Len() int { return len(r.entries) }

// Owners lists the owners of the keys, each once. The caller owns the slice.
func (r *Ring) Owners() []string {
	var out []string
	for i := range r.entries {
		if owner := r.entries[i].Owner; !slices.Contains(out, owner) {
			out = append(out, owner)
		}
	}
	return out
}

// Find returns the Principal of a key, even if the key has expired: see
// Principal.Expired.
func (r *Ring) Find(key string) (Principal, bool) { return r.FindHash(HashKey(key)) }

// FindHash returns the Principal of the key with this hash. It compares all hashes,
// each in constant time, so its duration reveals nothing about the keys.
func (r *Ring) FindHash(h Hash) (p Principal, ok bool) {
	for i := range r.entries {
		if subtle.ConstantTimeCompare(h[:], r.entries[i].Hash[:]) == 1 && !ok {
			p, ok = r.entries[i].Principal, true
		}
	}
	return p, ok
}

// KeyPrefix begins every key. It tells a key of Ken from a provider's key in the same
// header, and lets scanners for leaked secrets find it.
const KeyPrefix = "ken_"

// keyBytes is the entropy of a key. 256 bits can't be guessed, so a plain hash is
// enough, and no slow, salted hash is needed.
const keyBytes = 32

const hashPrefix = "sha256:"

// NewKey returns a new key of 68 characters: KeyPrefix and 64 hexadecimal digits.
func NewKey() string {
	b := make([]byte, keyBytes)
	_, _ = rand.Read(b) // never fails
	return KeyPrefix + hex.EncodeToString(b)
}

// Hash is a key's SHA-256 sum.
type Hash [sha256.Size]byte

// HashKey returns the hash of a key.
func HashKey(key string) Hash { return sha256.Sum256([]byte(key)) }

// String returns the hash as it is configured: "sha256:" and 64 hexadecimal digits.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// ParseHash parses the form that String returns. Errors: ErrInvalid, whose message
// does not quote s, because s may be the key itself.
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
