package ken

import (
	"context"
	"time"
)

// Query asks a store for claims that bear on a question.
type Query struct {
	Question string // empty matches everything, newest first
	Filter   Filter
	Limit    int // at most this many claims; <= 0 means 10
}

// Transition moves a claim through its life cycle.
type Transition struct {
	ID       string
	To       Status
	Evidence []Evidence // added to the claim's own
	Reason   string
	Actor    Actor
}

// EventType names what happened to a claim.
type EventType string

// The events of a claim's life.
const (
	EventWritten      EventType = "claim.written"
	EventRevised      EventType = "claim.revised"
	EventTransitioned EventType = "claim.transitioned"
	EventSuperseded   EventType = "claim.superseded"
	EventReinforced   EventType = "claim.reinforced"
	EventArchived     EventType = "claim.archived"
	EventAssigned     EventType = "claim.assigned"
	EventForgotten    EventType = "claim.forgotten"
	EventLost         EventType = "claim.lost" // an event that was damaged, and was not to be read any more
)

// ClaimEvent is one entry in a claim's history.
type ClaimEvent struct {
	Seq      uint64     `json:"seq"` // position in the owner's log, from 1; 0 when the store keeps none
	At       time.Time  `json:"at"`
	Type     EventType  `json:"type"`
	From     Status     `json:"from,omitempty"`
	To       Status     `json:"to,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"` // what this event added
	Other    string     `json:"other,omitempty"`    // the superseding claim
	Actor    Actor      `json:"actor,omitzero"`
	Erased   bool       `json:"erased,omitempty"` // the details were forgotten
}

// Store keeps the claims of one owner. A value is bound to its owner when it is
// opened, so no call can name another's: a claim that carries a different owner
// is refused with ErrRefused, and another owner's id is ErrNotFound.
//
// Implementations are safe for concurrent use, return copies that the caller
// owns, and honour ctx until a write is handed to storage; a write whose ctx
// ends after that may still take effect. A write is acknowledged when it is as
// durable as the store gets and is visible to Query.
type Store interface {
	// WriteClaim persists a claim and returns its id, assigned when empty. A
	// claim whose Key is known is a new version of that claim, and no change at
	// all when nothing differs. Errors: ErrInvalid; ErrExists when the id is
	// taken by other content; ErrRefused for another owner's claim.
	WriteClaim(ctx context.Context, c Claim) (string, error)
	// Query returns matching claims, best first, in a deterministic order.
	Query(ctx context.Context, q Query) ([]Claim, error)
	// Transition moves a claim. Errors: ErrNotFound, ErrRefused (see CheckTransition).
	Transition(ctx context.Context, t Transition) error
	// Supersede marks oldID as replaced by newID; both must exist. Repeating the
	// same call changes nothing.
	Supersede(ctx context.Context, oldID, newID string) error
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ClaimEvent, error)
}
