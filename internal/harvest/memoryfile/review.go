package memoryfile

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
)

// Approve makes a candidate part of every turn. by is the person who approves it
// and is recorded as evidence.
func Approve(ctx context.Context, s ken.Store, id, by string, now time.Time) error {
	return s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusObserved, Reason: "approved", Actor: person(by),
		Evidence: []ken.Evidence{ken.FromHumanAssertion(by, now.UTC(), "approved")}})
}

// Reject disputes a claim permanently. It stays in the store, so that it does not
// become a candidate again when it is seen again.
func Reject(ctx context.Context, s ken.Store, id, by string, now time.Time) error {
	return s.Transition(ctx, ken.Transition{ID: id, To: ken.StatusDisputed, Reason: "rejected", Actor: person(by),
		Evidence: []ken.Evidence{ken.FromHumanAssertion(by, now.UTC(), "rejected")}})
}

// Edit replaces a claim by one with another text, with the person by as evidence,
// and returns the new claim's id. If approved, the claim is in every turn,
// otherwise it is a candidate. The old claim is kept in the history with its key,
// so that the pattern is recognised when it is seen again.
func Edit(ctx context.Context, s ken.Store, old *ken.Claim, text string, approved bool, by string, now time.Time) (string, error) {
	c := ken.Claim{Kind: old.Kind, Key: "memory:" + sum([]byte(old.ID + "\x00" + text))[:32], Text: text, Heading: old.Heading, Status: ken.StatusObserved,
		Confidence: 1, Importance: max(old.Importance, 0.5), Scope: old.Scope, Project: old.Project, Domain: old.Domain,
		Tags: old.Tags, Entities: old.Entities, Body: old.Body, Actor: person(by), Source: Name, SourceType: "memory_file",
		Evidence: append([]ken.Evidence{ken.FromHumanAssertion(by, now.UTC(), "edited")}, old.Evidence...)}
	if !approved {
		c.Status = ken.StatusHypothesis
	}
	id, err := s.WriteClaim(ctx, c)
	if err != nil {
		return "", err
	}
	return id, s.Supersede(ctx, old.ID, id)
}

func person(by string) ken.Actor { return ken.Actor{Type: "user", ID: by} }
