package attention

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/store"
)

// Events of marks: requests of an agent, or of a user in a conversation, that only the operator may carry out.
const (
	ForgetRequested  Event = "forget_requested"  // request to erase a claim
	DisputeRequested Event = "dispute_requested" // request to dispute a claim that a person put into every turn
)

// Mark is a request of an agent or a user about a claim. It changes nothing until a
// person agrees.
type Mark struct {
	Event   Event     `json:"event"` // ForgetRequested or DisputeRequested
	Claim   string    `json:"claim"` // the complete id
	Reason  string    `json:"reason,omitempty"`
	Session string    `json:"session_id,omitempty"`
	Actor   ken.Actor `json:"actor,omitzero"`
	At      time.Time `json:"at"` // zero means the time of the call
}

const (
	prefixMark = "attention/mark/"
	maxMarks   = 500 // per event: an agent that marks everything must not fill the shelf
)

func keyMark(e Event, claim string) string { return prefixMark + string(e) + "/" + claim }

// PutMark stores a request and reports whether it is new. A claim has one mark per
// event. A repeated request changes nothing, so that it is not in the queue twice,
// and a dismissed one stays dismissed. Only the newest 500 per event are kept. Texts
// are cleaned and cut. PutMark does not check that the claim exists. Errors:
// ErrInvalid for another event or an empty claim.
func PutMark(ctx context.Context, shelf store.Shelf, m Mark) (fresh bool, err error) {
	if m.Event != ForgetRequested && m.Event != DisputeRequested {
		return false, &ken.Error{Code: ken.CodeInvalid, Field: "event", Msg: "no mark is called " + clean.Text(string(m.Event)),
			Try: "Use forget_requested or dispute_requested."}
	}
	if m.Claim == "" {
		return false, &ken.Error{Code: ken.CodeInvalid, Field: "claim", Msg: "empty", Try: "Name the claim by its id."}
	}
	if m.At.IsZero() {
		m.At = time.Now()
	}
	m.At = m.At.Round(0).UTC()
	cleanAll(&m.Reason, &m.Session, &m.Actor.Type, &m.Actor.ID)
	key := keyMark(m.Event, m.Claim)
	err = shelf.Update(ctx, func(tx store.ShelfTx) error {
		if fresh = tx.Get(key) == nil; !fresh {
			return nil
		}
		if err := put(tx, key, m); err != nil {
			return err
		}
		return trimMarks(tx, m.Event)
	})
	return fresh, err
}

// trimMarks deletes the oldest marks of an event beyond maxMarks.
func trimMarks(tx store.ShelfTx, e Event) error {
	var marks []Mark
	for _, v := range tx.Scan(prefixMark + string(e) + "/") {
		var m Mark
		if json.Unmarshal(v, &m) == nil { // List reports those that can't be parsed
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return a.At.Compare(b.At) })
	for _, m := range marks[:max(0, len(marks)-maxMarks)] {
		if err := tx.Delete(keyMark(e, m.Claim)); err != nil {
			return err
		}
	}
	return nil
}

func put(tx store.ShelfTx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(key, b)
}

func corrupt(key string, err error) error {
	return &ken.Error{Code: ken.CodeCorrupt, Msg: "read " + key, Err: err,
		Try: "Restore the store from a backup, or report this with the command that you ran; it was not changed."}
}

// readMarks returns every mark. With an ErrCorrupt, the readable marks are returned.
func readMarks(ctx context.Context, shelf store.Shelf) (marks []Mark, err error) {
	var bad error
	err = shelf.View(ctx, func(r store.ShelfReader) error {
		marks, bad = nil, nil
		for k, v := range r.Scan(prefixMark) {
			var m Mark
			if err := json.Unmarshal(v, &m); err != nil {
				bad = corrupt(k, err)
				continue
			}
			marks = append(marks, m)
		}
		return nil
	})
	return marks, errors.Join(err, bad)
}

// requests returns items for requests that a person can still carry out. A claim
// that was deleted or disputed meanwhile needs none.
func (l *lister) requests(ctx context.Context, shelf store.Shelf) ([]Item, error) {
	marks, bad := readMarks(ctx, shelf)
	if bad != nil && !errors.Is(bad, ken.ErrCorrupt) {
		return nil, bad
	}
	var items []Item
	for i := range marks {
		m := &marks[i]
		c, err := l.get(ctx, m.Claim)
		if err != nil {
			return nil, err
		}
		if c == nil || m.Event == DisputeRequested && (c.Status == ken.StatusDisputed || c.Status == ken.StatusSuperseded) {
			continue
		}
		items = append(items, m.item(c))
	}
	return items, bad
}

// item returns the mark as an item of the queue.
func (m *Mark) item(c *ken.Claim) Item {
	text, commands := " asks to forget: ", []string{"ken forget " + c.ID, "ken history " + c.ID}
	if m.Event == DisputeRequested {
		text, commands = " disputes: ", []string{disputing(c.ID), "ken history " + c.ID}
	}
	text = who(m.Actor) + text + quoted(c)
	if m.Reason != "" {
		text += " Because: " + excerpt(m.Reason)
	}
	it := item(m.Event, m.At, text, []string{c.ID}, nil, m.At.Format(time.RFC3339Nano))
	it.Asked, it.Commands = m, append(commands, "ken attention dismiss "+it.ID)
	return it
}

// Dismiss hides an item, by its ID, until something about it changes, which makes it
// another item. The last thousand dismissals are kept. Dismissing an item again
// changes nothing. Dismiss does not check that the item exists. Errors: ErrInvalid
// for an invalid ID.
func Dismiss(ctx context.Context, shelf store.Shelf, id string) error {
	if b, err := hex.DecodeString(id); err != nil || len(b) != idBytes || strings.ToLower(id) != id {
		return &ken.Error{Code: ken.CodeInvalid, Field: "id", Msg: "not an item of the attention queue: " + clean.Text(id),
			Try: "Give the id of an item as ken attention shows it, 12 hexadecimal digits."}
	}
	return shelf.Update(ctx, func(tx store.ShelfTx) error {
		for _, v := range tx.Scan(prefixDismissed) {
			if string(v) == id {
				return nil
			}
		}
		key, err := next(tx, prefixDismissed)
		if err != nil {
			return err
		}
		if err := tx.Put(key, []byte(id)); err != nil {
			return err
		}
		return trim(tx, prefixDismissed, maxDismissed)
	})
}

// shelfNotes are the rejections and dismissals on the shelf.
type shelfNotes struct {
	keys      []string
	rejected  []Rejection
	dismissed map[string]bool
}

func readNotes(ctx context.Context, shelf store.Shelf) (shelfNotes, error) {
	var n shelfNotes
	var bad error
	err := shelf.View(ctx, func(r store.ShelfReader) error {
		n, bad = shelfNotes{dismissed: map[string]bool{}}, nil
		for _, v := range r.Scan(prefixDismissed) {
			n.dismissed[string(v)] = true
		}
		for k, v := range r.Scan(prefixRejected) {
			var rej Rejection
			if err := json.Unmarshal(v, &rej); err != nil {
				bad = corrupt(k, err)
				continue
			}
			n.keys, n.rejected = append(n.keys, k), append(n.rejected, rej)
		}
		return nil
	})
	return n, cmp.Or(err, bad)
}

func (n *shelfNotes) items() []Item {
	out := make([]Item, len(n.rejected))
	for i := range n.rejected {
		out[i] = n.rejected[i].item(n.keys[i])
	}
	return out
}
