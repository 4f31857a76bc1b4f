package forgotten

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

const (
	keyVersion    = "forgotten/version"
	keyKey        = "forgotten/key"
	prefixID      = "forgotten/id/"
	prefixClaim   = "forgotten/claim/"
	prefixPending = "forgotten/pending/"
)

// present is the value of a key whose existence is the information.
var present = []byte{1}

// Record is what is stored about a claim that a user asked to forget.
type Record struct {
	Claim     string    `json:"claim"`             // its id
	Also      []string  `json:"also,omitempty"`    // ids of the claims that were forgotten with it
	Session   string    `json:"session,omitempty"` // the session that taught the claims, if all that it taught was forgotten
	At        time.Time `json:"at"`
	DeletedAt time.Time `json:"gone,omitzero"`     // from when on no turn could contain it
	Given     []Given   `json:"given,omitempty"`   // turns that contained it, oldest first
	Sessions  []string  `json:"told,omitempty"`    // ids of the sessions in which it was stated, sorted
	Files     []string  `json:"files,omitempty"`   // the user's own files that still contain it
	Prints    []Print   `json:"prints,omitempty"`  // one for each text
	Words     []uint64  `json:"words,omitempty"`   // hashes of words that occurred only in it
	Short     int       `json:"short,omitempty"`   // number of texts of one or two words, which have no fingerprint
	Pending   *Pending  `json:"pending,omitempty"` // nil once it is erased everywhere
}

// Given is a turn whose model received the claim.
type Given struct {
	Session string    `json:"session,omitempty"`
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
}

// Pending is the remaining work. It holds the texts of the claims until they are
// deleted, which happens before the file is rewritten.
type Pending struct {
	Claims  []ken.Claim `json:"claims,omitempty"` // the claim itself, or those of Record.Session, then the claims that say the same
	Roots   int         `json:"roots,omitempty"`  // how many of Claims come before those that say the same; 0 means 1
	Reason  string      `json:"reason,omitempty"`
	Actor   ken.Actor   `json:"actor,omitzero"`
	Process string      `json:"process,omitempty"` // process that is working on it
	Failed  string      `json:"failed,omitempty"`  // why the last attempt failed
}

// IDs returns the ids of all claims that were forgotten.
func (r *Record) IDs() []string { return append([]string{r.Claim}, r.Also...) }

// Put stores a record, and replaces an earlier one of the same claim.
func Put(tx store.ShelfTx, r *Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	for _, id := range r.IDs() {
		if err := Mark(tx, id); err != nil {
			return err
		}
	}
	if r.Pending == nil {
		err = tx.Delete(prefixPending + r.Claim)
	} else {
		err = tx.Put(prefixPending+r.Claim, present)
	}
	if err != nil {
		return err
	}
	return change(tx, prefixClaim+r.Claim, b)
}

// Mark records that a claim is forgotten.
func Mark(tx store.ShelfTx, id string) error {
	if tx.Get(prefixID+id) != nil {
		return nil
	}
	return change(tx, prefixID+id, present)
}

// change puts a value and changes the version.
func change(tx store.ShelfTx, key string, value []byte) error {
	if err := tx.Put(key, value); err != nil {
		return err
	}
	h := sha256.New()
	for _, b := range [][]byte{tx.Get(keyVersion), []byte(key), value} {
		h.Write(b)
		h.Write([]byte{0})
	}
	return tx.Put(keyVersion, h.Sum(nil))
}

// Key returns the key of the hashes. It creates the key if there is none.
func Key(tx store.ShelfTx) ([]byte, error) {
	if k := tx.Get(keyKey); k != nil {
		return bytes.Clone(k), nil
	}
	k := make([]byte, sha256.Size)
	if _, err := rand.Read(k); err != nil {
		return nil, err
	}
	return k, tx.Put(keyKey, k)
}

// Find returns the record of a forgotten claim, by its id, the id of a claim forgotten
// with it, or a unique part of one; nil if there is none.
func Find(r store.ShelfReader, id string) (*Record, error) {
	all, err := All(r)
	if err != nil || id == "" {
		return nil, err
	}
	var found *Record
	for i := range all {
		rec := &all[i]
		if slices.Contains(rec.IDs(), id) {
			return rec, nil
		}
		if slices.ContainsFunc(rec.IDs(), func(have string) bool { return len(id) >= minPart && strings.Contains(have, strings.ToLower(id)) }) {
			if found != nil {
				return nil, &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: id + " is a part of several ids of forgotten claims", Try: "Give the whole id."}
			}
			found = rec
		}
	}
	return found, nil
}

// minPart is the minimum length of a part of an id.
const minPart = 4

// All returns all records, sorted by claim id.
func All(r store.ShelfReader) (out []Record, err error) {
	for key, b := range r.Scan(prefixClaim) {
		var rec Record
		if err := json.Unmarshal(b, &rec); err != nil {
			return nil, &ken.Error{Code: ken.CodeCorrupt, Msg: "can't read " + key, Err: err, Try: "Restore the store from a backup, or run ken check."}
		}
		out = append(out, rec)
	}
	return out, nil
}

// Unfinished returns the ids of claims that are not erased everywhere yet.
func Unfinished(r store.ShelfReader) (ids []string) {
	for key := range r.Scan(prefixPending) {
		ids = append(ids, strings.TrimPrefix(key, prefixPending))
	}
	return ids
}
