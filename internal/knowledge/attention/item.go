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

// Event is why something is in the queue.
type Event string

// Events, and what each asks for.
const (
	Disputed    Event = "disputed"    // a verified claim was disputed: review the conflicting evidence
	Contradicts Event = "contradicts" // two claims can't both be true: review the conflicting evidence
	Superseded  Event = "superseded"  // by a claim of lower confidence: review the supersession
	Unsure      Event = "unsure"      // of low confidence for some time: verify or discard
	Rejected    Event = "rejected"    // a write without evidence was refused
	Rule        Event = "rule"        // a session said a rule: approve or reject it
)

// actions are what the events ask of a person.
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

// The severities; nothing about a claim is critical.
const (
	Neutral Severity = "neutral"
	Info    Severity = "info"
	Warning Severity = "warning"
)

// Severity is how much the event matters.
func (e Event) Severity() Severity {
	switch e {
	case Disputed, Contradicts, Superseded, ForgetRequested, DisputeRequested:
		return Warning
	}
	return Info
}

// Item is one entry of the queue.
type Item struct {
	// ID names the item as it is now: something about it changes, and it is another
	// item. 12 hexadecimal digits.
	ID       string   `json:"id"`
	Event    Event    `json:"event"`
	Severity Severity `json:"severity"`
	// Claims are the ids of the claims that it is about, the one at fault first;
	// empty for a refused write.
	Claims []string  `json:"claims,omitempty"`
	Text   string    `json:"text"`   // what happened, with the words of the claims
	Action string    `json:"action"` // what a person is asked to do
	At     time.Time `json:"at"`     // when it happened

	Commands []string `json:"commands,omitempty"` // that do it, the likeliest first

	Dismissed bool `json:"-"` // somebody did not want to see it again; see Options.All

	// Refused is the write of Rejected, and Asked the request of ForgetRequested and
	// DisputeRequested, whole; nil for other events. Not to be changed.
	Refused *Rejection `json:"-"`
	Asked   *Mark      `json:"-"`
}

// idBytes is how much of the hash names an item: with a thousand of them, two
// share a name once in half a billion.
const idBytes = 6

// item fills in what follows from the event. about is what the item is about in
// its present state: a change of it makes another item.
func item(e Event, at time.Time, text string, claims, commands []string, about ...string) Item {
	h := sha256.New()
	for _, s := range slices.Concat([]string{string(e)}, claims, about) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return Item{ID: hex.EncodeToString(h.Sum(nil)[:idBytes]), Event: e, Severity: e.Severity(), Claims: claims,
		Text: text, Action: actions[e], At: at, Commands: commands}
}

// order is warnings first, then the newest, then by id.
func order(a, b Item) int {
	rank := func(i Item) int {
		if i.Severity == Warning {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
}

// state is what of a claim makes an item another one when it changes.
func state(c *ken.Claim) string {
	return string(c.Status) + " " + c.UpdatedAt.UTC().Format(time.RFC3339Nano)
}

const maxExcerpt = 160 // characters of a claim that an item shows

// excerpt is a claim's text on one line.
func excerpt(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxExcerpt {
		return string(r[:maxExcerpt-1]) + "…"
	}
	return string(r)
}
