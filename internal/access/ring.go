package access

import (
	"crypto/subtle"
	"slices"
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
