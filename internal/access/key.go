package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

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
