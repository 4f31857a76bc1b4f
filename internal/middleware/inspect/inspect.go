// Package inspect has the types that describe a layer to its operator: the receipt of a turn with
// its items, why a claim was in a block or not, and what a deletion erases or has left.
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

// State is the current state of an item of an earlier block.
type State string

// States of items.
const (
	Same      State = "same"      // unchanged since it was injected
	Changed   State = "changed"   // the claim or the file has changed, or may have
	Forgotten State = "forgotten" // the claim was forgotten, or its file deleted
	Made      State = "made"      // made for one turn, such as a checkpoint; not stored
)

// Item is an item of a turn's block. Its key, source, heading and text are those of the current
// claim, because receipts don't store them.
type Item struct {
	ken.Item
	State State `json:"state"`
}

// Turn is the stored receipt of a turn, with its items looked up in the store.
type Turn struct {
	receipt.Record
	Items []Item `json:"items"`
}

// Verdict says what happened to a claim in a turn.
type Verdict string

// Verdicts.
const (
	Injected Verdict = "injected" // the claim is in the block
	Cut      Verdict = "cut"      // the claim was found and left out
	Unseen   Verdict = "unseen"   // no source found the claim
	Unknown  Verdict = "unknown"  // the claim was written after the turn, or forgotten before it
	Silent   Verdict = "silent"   // the turn searched nothing
)

// Explanation says why a claim is or is not in a turn's block. It is based on the turn's receipt
// and the claim's history.
type Explanation struct {
	Turn    string    `json:"turn"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Mode    ken.Mode  `json:"mode"`
	Cause   string    `json:"cause"` // why the mode is not the configured one; "" if it is
	Claim   string    `json:"claim"`

	Verdict Verdict       `json:"verdict"`
	Reason  ken.CutReason `json:"reason,omitempty"` // set if the claim was cut
	Detail  string        `json:"detail,omitempty"` // for example the id of the item that it repeats
	Why     string        `json:"why"`              // the explanation as a sentence
	Try     string        `json:"try,omitempty"`    // what would change that

	// Status is the claim's status at the time of the turn. It is "" if the claim did not exist,
	// and for a piece of a file.
	Status   ken.Status `json:"status,omitempty"`
	Degraded []string   `json:"degraded,omitempty"` // what failed in that turn
	Item     *Item      `json:"item,omitempty"`     // set if the claim was injected
}

// Replay is the reconstructed block of an earlier turn.
type Replay struct {
	Turn  Turn   `json:"turn"`
	Block string `json:"block"` // without the items in Missing
	// Exact reports whether the receipt's hash proves that the model got exactly Block.
	Exact   bool     `json:"exact"`
	Missing []string `json:"missing,omitempty"` // ids of the items whose text no longer exists
	Why     string   `json:"why,omitempty"`     // why Exact is false
}

// Reasons why a claim is deleted with another one.
const (
	Itself   = "the claim itself"
	Derived  = "derived from it"
	SaysSame = "says the same"
	Redacted = "an episode that contains it; the rest of the episode is kept"
	OnlySaid = "only this session taught it"
)

// BlastClaim is a claim that Forget would delete.
type BlastClaim struct {
	Claim
	Why string `json:"why"` // Itself, Derived, SaysSame, Redacted or OnlySaid
}

// Blast lists everything that forgetting a claim, or what a session taught, would erase.
type Blast struct {
	Claims   []BlastClaim      `json:"claims"`             // the claim itself first, then the others in the order of deletion
	Messages int               `json:"messages"`           // number of journal messages
	Sessions []string          `json:"sessions,omitempty"` // the sessions of these messages, sorted
	Given    []forgotten.Given `json:"given,omitempty"`    // turns whose models got the claim itself, oldest first, as far as receipts show
	Receipts int               `json:"receipts"`           // number of receipts that would be deleted or lose their data about the claims
	Memory   bool              `json:"memory"`             // MEMORY.md would be rewritten
	Kept     []Claim           `json:"kept,omitempty"`     // claims of the forgotten session that something else supports, too
	Replaced []Claim           `json:"replaced,omitempty"` // claims that a deleted one had replaced; they do not stand again
}

// Check is the result for one place that was searched for forgotten text.
type Check struct {
	Name   string `json:"name"`
	Where  string `json:"where"` // the searched place, in words
	Clean  bool   `json:"clean"` // nothing was found
	Detail string `json:"detail,omitempty"`
}

// Counts holds totals of background work since the layer was opened.
type Counts struct {
	Written uint64 // records of turns and answers that were written to journals and receipts
	Lost    uint64 // records that were dropped because the queue was full, or could not be written
	Waiting int    // records that wait to be written

	Harvested uint64 // jobs that succeeded
	Retried   uint64 // failed runs of jobs that will run again
	Dead      uint64 // jobs that will not be retried
}
