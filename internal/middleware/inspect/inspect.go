// Package inspect has what an operator sees of a layer: the receipt of a turn with its items, why a
// claim was given or not, what a deletion would erase and whether anything is left of it.
package inspect

import (
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/internal/store/forgotten"
)

// Claim is a claim with its tier and trust, which are computed from its evidence.
type Claim struct {
	ken.Claim
	Tier  ken.Tier  `json:"tier"`
	Trust ken.Trust `json:"trust"`
}

// State is the state of a block's item today.
type State string

// States of items.
const (
	Same      State = "same"      // as it was injected
	Changed   State = "changed"   // the claim or the file says something else by now, or may
	Forgotten State = "forgotten" // the claim was forgotten, or its file is gone
	Made      State = "made"      // made for the turn alone, such as a checkpoint; not stored
)

// Item is an item of a turn's block. Key, source, heading and text are those of the claim
// as it is now: a receipt keeps none of them.
type Item struct {
	ken.Item
	State State `json:"state"`
}

// Turn is the stored receipt of a turn, with its items looked up.
type Turn struct {
	receipt.Record
	Items []Item `json:"items"`
}

// Verdict is the outcome of a claim in a turn.
type Verdict string

// Verdicts.
const (
	Injected Verdict = "injected" // it is in the block
	Cut      Verdict = "cut"      // it was considered and left out
	Unseen   Verdict = "unseen"   // no source found it
	Unknown  Verdict = "unknown"  // it was written after the turn, or forgotten before it
	Silent   Verdict = "silent"   // that turn searched nothing
)

// Explanation says why a claim is in a turn's block or not, from the turn's receipt and the
// claim's history.
type Explanation struct {
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Mode    ken.Mode  `json:"mode"`
	Cause   string    `json:"cause"` // why the mode is not the configured one
	Claim   string    `json:"claim"`

	Verdict Verdict       `json:"verdict"`
	Reason  ken.CutReason `json:"reason,omitempty"` // of a claim that was cut
	Detail  string        `json:"detail,omitempty"` // for example, the item that it repeats
	Why     string        `json:"why"`              // in a sentence
	Try     string        `json:"try,omitempty"`    // what would change it

	// Status is the claim's status at the turn; "" if it did not exist, and for a piece of the
	// repository.
	Status   ken.Status `json:"status,omitempty"`
	Degraded []string   `json:"degraded,omitempty"` // what failed in that turn
	Item     *Item      `json:"item,omitempty"`     // of an injected claim
}

// Replay is the block of an earlier turn, written again.
type Replay struct {
	Turn  Turn   `json:"turn"`
	Block string `json:"block"` // without the items in Missing
	// Exact is true if the receipt's hash proves that Block is, byte for byte, what the model
	// was given.
	Exact   bool     `json:"exact"`
	Missing []string `json:"missing,omitempty"` // ids of the items whose text is gone
	Why     string   `json:"why,omitempty"`     // why it is not exact
}

// Why a claim is forgotten with another one.
const (
	Itself   = "the claim itself"
	Derived  = "derived from it"
	SaysSame = "says the same"
	Redacted = "an episode that tells it; its rest is written anew"
)

// BlastClaim is a claim that would be forgotten.
type BlastClaim struct {
	Claim
	Why string `json:"why"` // Itself, Derived, SaysSame or Redacted
}

// Blast is everything that forgetting a claim would erase.
type Blast struct {
	Claims   []BlastClaim      `json:"claims"`             // the claim itself first, the others in the order in which they would be deleted
	Messages int               `json:"messages"`           // messages of journals
	Sessions []string          `json:"sessions,omitempty"` // the sessions of these messages, sorted
	Given    []forgotten.Given `json:"given,omitempty"`    // the turns whose models had the claim itself, oldest first, as far as receipts tell
	Receipts int               `json:"receipts"`           // receipts that would be deleted, or lose what they say of the claims
	Memory   bool              `json:"memory"`             // MEMORY.md would be written again
}

// Check is the result for one place that was searched for forgotten text.
type Check struct {
	Name   string `json:"name"`
	Where  string `json:"where"` // what was searched, in words
	Clean  bool   `json:"clean"` // nothing was found
	Detail string `json:"detail,omitempty"`
}

// Counts are totals of background work since the layer was opened.
type Counts struct {
	Written uint64 // records of turns and answers that were written to journals and receipts
	Lost    uint64 // records that were dropped because they came too fast
	Waiting int    // records that are still to be written

	Harvested uint64 // jobs that succeeded
	Retried   uint64 // runs of jobs that failed and will run again
	Dead      uint64 // jobs that were given up
}
