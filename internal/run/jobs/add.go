package jobs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// What a job may be. It says what is to be done; what it is to be done with lies
// elsewhere.
const (
	MaxKind    = 64       // bytes
	MaxKey     = 4 << 10  // bytes
	MaxPayload = 64 << 10 // bytes
)

// Add adds a job within the caller's own transaction, so that it is there exactly
// when the rest of the transaction is. now is the caller's wall clock. A job of
// this kind and key that is there already stays as it is, be it queued, running,
// done or dead: added is false, and id is its id. A worker hears of it within a
// minute, at once when Queue.Wake is called after the transaction. Errors:
// ErrInvalid.
func Add(tx store.ShelfTx, now time.Time, n New) (id string, added bool, err error) {
	if err := n.validate(); err != nil {
		return "", false, err
	}
	id = ID(n.Kind, n.Key)
	if tx.Get(jobPrefix+id) != nil {
		return id, false, nil
	}
	now = stamp(now)
	j := &Job{ID: id, Kind: n.Kind, Key: n.Key, Payload: n.Payload, State: Queued, Created: now, Due: now, Since: now}
	if after := stamp(n.After); after.After(now) {
		j.Due, j.Since = after, time.Time{}
	}
	return id, true, save(tx, nil, j)
}

func (n *New) validate() error {
	bad := func(field, msg, try string) error {
		return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
	}
	switch {
	case n.Kind == "" || len(n.Kind) > MaxKind:
		return bad("kind", fmt.Sprintf("a job's kind has 1 to %d bytes, this one %d", MaxKind, len(n.Kind)), "Name the handler that runs it.")
	case n.Key == "" || len(n.Key) > MaxKey:
		return bad("key", fmt.Sprintf("a job's key has 1 to %d bytes, this one %d", MaxKey, len(n.Key)), "Name what is to be done, so that doing it twice can be told from doing two things.")
	case len(n.Payload) > MaxPayload:
		return bad("payload", fmt.Sprintf("a job's payload has at most %d bytes, this one %d", MaxPayload, len(n.Payload)), "Put the data on the shelf and its key into the payload.")
	case len(n.Payload) > 0 && !json.Valid(n.Payload):
		return bad("payload", "not valid JSON", "Give a JSON value.")
	case n.After.Year() > 9999:
		return bad("after", "a year beyond 9999", "Give a date that the job will live to see.")
	}
	return nil
}

// stamp is how times are kept: without a monotonic part, in UTC, to the
// microsecond, like the index.
func stamp(t time.Time) time.Time { return t.Round(0).UTC().Truncate(time.Microsecond) }
