package attention

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Rejection is a write of knowledge that was refused because it had no evidence.
type Rejection struct {
	At      time.Time `json:"at"` // zero means the time of the call
	Session string    `json:"session_id,omitempty"`
	Branch  string    `json:"branch_id,omitempty"`
	Actor   ken.Actor `json:"actor,omitzero"`
	Text    string    `json:"text,omitempty"` // text of the claim; may be empty
	Why     string    `json:"why,omitempty"`  // the error that the writer received

	// Times is how often the same write was refused in a row, starting at 1.
	// Reject sets it.
	Times int `json:"times"`
}

// Bounds of what is stored on the shelf.
const (
	maxRejections = 200
	maxDismissed  = 1000
	maxNote       = 500 // maximum length of a rejection's texts, in characters
)

const (
	prefixRejected  = "attention/rejected/"
	prefixDismissed = "attention/dismissed/"
	keyCount        = "attention/count" // number of entries that were ever stored
)

// Reject stores a refused write. Only the newest 200 are kept; one that is equal
// to the last increases its count. Texts are cleaned and cut. Errors are those of
// the shelf. A caller that returns an error of its own may ignore them.
func Reject(ctx context.Context, shelf store.Shelf, r Rejection) error {
	if r.At.IsZero() {
		r.At = time.Now()
	}
	r.At, r.Times = r.At.Round(0).UTC(), 1
	cleanAll(&r.Text, &r.Why, &r.Session, &r.Branch, &r.Actor.Type, &r.Actor.ID)
	return shelf.Update(ctx, func(tx store.ShelfTx) error {
		r := r // the function may run again, so start from the original
		key, last := newest(tx)
		if last != nil && last.same(r) {
			r.Times = last.Times + 1
		} else {
			var err error
			if key, err = next(tx, prefixRejected); err != nil {
				return err
			}
		}
		if err := put(tx, key, r); err != nil {
			return err
		}
		return trim(tx, prefixRejected, maxRejections)
	})
}

// same reports whether o is the same write, refused again.
func (r Rejection) same(o Rejection) bool {
	o.At, o.Times = r.At, r.Times
	return r == o
}

// newest returns the last rejection and its key.
func newest(tx store.ShelfTx) (key string, r *Rejection) {
	var last []byte
	for k, v := range tx.Scan(prefixRejected) {
		key, last = k, v
	}
	if last == nil {
		return "", nil
	}
	r = &Rejection{}
	if json.Unmarshal(last, r) != nil {
		return "", nil // List reports it; a new rejection must not fail because of it
	}
	return key, r
}

// next returns a key that sorts after all earlier ones.
func next(tx store.ShelfTx, prefix string) (string, error) {
	n := uint64(0)
	if v := tx.Get(keyCount); v != nil {
		if _, err := fmt.Sscanf(string(v), "%d", &n); err != nil {
			return "", &ken.Error{Code: ken.CodeCorrupt, Msg: "read " + keyCount, Err: err}
		}
	}
	n++
	return fmt.Sprintf("%s%016x", prefix, n), tx.Put(keyCount, fmt.Append(nil, n))
}

// trim deletes the first keys beyond the last most.
func trim(tx store.ShelfTx, prefix string, most int) error {
	var keys []string
	for k := range tx.Scan(prefix) {
		keys = append(keys, k)
	}
	return deleteAll(tx, keys[:max(0, len(keys)-most)])
}

// cleanAll cleans texts and cuts them to the length of a note.
func cleanAll(texts ...*string) {
	for _, s := range texts {
		*s = clip(strings.TrimSpace(clean.Text(*s)), maxNote)
	}
}

// clip cuts a text to at most n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// who names an actor in a text.
func who(a ken.Actor) string { return cmp.Or(strings.TrimSpace(a.Type+" "+a.ID), "agent") }

// item returns the rejection as an item of the queue.
func (r *Rejection) item(key string) Item {
	text := who(r.Actor) + " wanted to write without evidence"
	if r.Text != "" {
		text += ": “" + excerpt(r.Text) + "”"
	}
	if r.Session != "" {
		text += " Session " + r.Session + "."
	}
	if r.Times > 1 {
		text += fmt.Sprintf(" %d times.", r.Times)
	}
	it := item(Rejected, r.At, text, nil, nil, key, fmt.Sprint(r.Times))
	it.Refused = r
	return it
}
