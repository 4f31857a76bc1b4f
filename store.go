package ken

import (
	"context"
	"time"
)

// Query describes a search for claims that are relevant to a question.
type Query struct {
	Question string // empty matches everything, newest first
	Filter   Filter
	Limit    int // at most this many claims; <= 0 means 10
}

// Transition changes the status of a claim.
type Transition struct {
	ID       string
	To       Status
	Evidence []Evidence // added to the claim's own
	Reason   string
	Actor    Actor
}

// EventType is the type of a change of a claim.
type EventType string

// The event types.
const (
	EventWritten      EventType = "claim.written"
	EventRevised      EventType = "claim.revised"
	EventTransitioned EventType = "claim.transitioned"
	EventSuperseded   EventType = "claim.superseded"
	EventReinforced   EventType = "claim.reinforced"
	EventArchived     EventType = "claim.archived"
	EventAssigned     EventType = "claim.assigned"
	EventForgotten    EventType = "claim.forgotten"
	EventLost         EventType = "claim.lost" // an event that was damaged and could no longer be read
)

// ClaimEvent is one entry in a claim's history.
type ClaimEvent struct {
	Seq      uint64     `json:"seq"` // position in the owner's log, from 1; 0 when the store keeps none
	At       time.Time  `json:"at"`
	Type     EventType  `json:"type"`
	From     Status     `json:"from,omitempty"`
	To       Status     `json:"to,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"` // evidence that this event added
	Other    string     `json:"other,omitempty"`    // the superseding claim
	Actor    Actor      `json:"actor,omitzero"`
	Erased   bool       `json:"erased,omitempty"` // the payload was erased
}

// Store holds the claims of one owner. It is bound to its owner when it is opened, so
// no call can access another owner's claims: writing one fails with ErrRefused, and
// its id with ErrNotFound.
//
// Implementations are safe for concurrent use and return copies that the caller owns.
// ctx can cancel a write only until the write is passed to storage; after that it may
// still take effect. A write returns when it is durable, as far as the store is, and
// visible to Query.
type Store interface {
	// WriteClaim stores a claim and returns its id, which is assigned when empty. A
	// claim whose Key is known is a new version of that claim; if nothing differs,
	// nothing changes. Errors: ErrInvalid; ErrExists when the id is used by a different
	// claim; ErrRefused for another owner's claim.
	WriteClaim(ctx context.Context, c Claim) (string, error)
	// Query returns matching claims, best first, in a deterministic order.
	Query(ctx context.Context, q Query) ([]Claim, error)
	// Transition changes the status of a claim. Errors: ErrNotFound, ErrRefused (see
	// CheckTransition).
	Transition(ctx context.Context, t Transition) error
	// Supersede marks oldID as replaced by newID; both must exist. Repeating the
	// same call changes nothing.
	Supersede(ctx context.Context, oldID, newID string) error
	// History returns a claim's events, oldest first.
	History(ctx context.Context, id string) ([]ClaimEvent, error)
}
