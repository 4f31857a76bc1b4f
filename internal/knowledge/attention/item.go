package attention

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Event is the reason for an item in the queue.
type Event string

// Events, and what each of them asks a person to do.
const (
	Disputed    Event = "disputed"    // a verified claim was disputed: review the conflicting evidence
	Contradicts Event = "contradicts" // two claims can't both be true: review the conflicting evidence
	Superseded  Event = "superseded"  // superseded by a claim of lower confidence: review the supersession
	Unsure      Event = "unsure"      // low confidence for some time: verify or discard
	Rejected    Event = "rejected"    // a write without evidence was refused
	Rule        Event = "rule"        // a session stated a rule: approve or reject it
)

// actions maps each event to what a person is asked to do.
var actions = map[Event]string{
	Disputed:    "Review conflicting evidence",
	Contradicts: "Review conflicting evidence",
	Superseded:  "Review supersession",
	Unsure:      "Verify or discard",
	Rejected:    "Agent attempted knowledge write without evidence",
	Rule:        "Approve or reject the rule",

	ForgetRequested:  "Forget, or dismiss the request",
	DisputeRequested: "Dispute, or dismiss the request",
}

// Severity ranks an item in the queue.
type Severity string

// The severities. There is no critical one.
const (
	Neutral Severity = "neutral"
	Info    Severity = "info"
	Warning Severity = "warning"
)

// Severity returns the severity of the event.
func (e Event) Severity() Severity {
	switch e {
	case Disputed, Contradicts, Superseded, ForgetRequested, DisputeRequested:
		return Warning
	}
	return Info
}

// Item is one entry of the queue.
type Item struct {
	// ID identifies the item in its current state; after a change it is another
	// item. It has 12 hexadecimal digits.
	ID       string   `json:"id"`
	Event    Event    `json:"event"`
	Severity Severity `json:"severity"`
	// Claims are the ids of the claims in question, the disputed or uncertain one
	// first. It is empty for a refused write.
	Claims []string  `json:"claims,omitempty"`
	Text   string    `json:"text"`   // what happened, with the text of the claims
	Action string    `json:"action"` // what a person is asked to do
	At     time.Time `json:"at"`     // when it happened

	Commands []string `json:"commands,omitempty"` // commands that carry the action out, the most likely first

	Dismissed bool `json:"-"` // somebody dismissed it; see Options.All

	// Refused is the refused write of a Rejected item, and Asked is the request of a
	// ForgetRequested or DisputeRequested item. They are nil for other events. The
	// caller must not change them.
	Refused *Rejection `json:"-"`
	Asked   *Mark      `json:"-"`
}

// idBytes is how many bytes of the hash are the item's id. With a thousand items,
// the probability that two have the same id is one in half a billion.
const idBytes = 6

// item returns an item with the fields that follow from the event. about is the
// state of what the item is about; a change of it makes another item.
func item(e Event, at time.Time, text string, claims, commands []string, about ...string) Item {
	h := sha256.New()
	for _, s := range slices.Concat([]string{string(e)}, claims, about) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return Item{ID: hex.EncodeToString(h.Sum(nil)[:idBytes]), Event: e, Severity: e.Severity(), Claims: claims,
		Text: text, Action: actions[e], At: at, Commands: commands}
}

// order sorts warnings first, then the newest first, then by id.
func order(a, b Item) int {
	rank := func(i Item) int {
		if i.Severity == Warning {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
}

// state returns the properties of a claim whose change makes its item another one.
func state(c *ken.Claim) string {
	return string(c.Status) + " " + c.UpdatedAt.UTC().Format(time.RFC3339Nano)
}

const maxExcerpt = 160 // maximum length of a claim's text in an item, in characters

// excerpt returns a claim's text on one line.
func excerpt(text string) string { return clip(strings.Join(strings.Fields(text), " "), maxExcerpt) }
