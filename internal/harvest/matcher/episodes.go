package matcher

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken"
)

// Episodes is the part of a store that EachEpisode, Withdraw and WithdrawAll use.
type Episodes interface {
	Get(ctx context.Context, id string) (ken.Claim, error)
	ByKey(ctx context.Context, key string) (ken.Claim, error)
	WriteClaim(ctx context.Context, c ken.Claim) (string, error)
	Transition(ctx context.Context, t ken.Transition) error
}

// EachEpisode calls do with the episode of each part of a session.
func EachEpisode(ctx context.Context, s Episodes, session string, do func(*ken.Claim) error) error {
	for part := 1; session != ""; part++ {
		key := "episode:" + session
		if part > 1 {
			key += "/" + strconv.Itoa(part)
		}
		c, err := s.ByKey(ctx, key)
		if errors.Is(err, ken.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find an episode: %w", err)
		}
		if err := do(&c); err != nil {
			return err
		}
	}
	return nil
}

// Withdraw removes a fact that no longer holds from the episodes of the session that stated it, so
// that no digest presents it as current. An episode of which too little is left is superseded. A
// claim of another kind, or of no session, changes nothing.
func Withdraw(ctx context.Context, s Episodes, old *ken.Claim, actor ken.Actor) error {
	if old.Kind != ken.KindFact || old.Session == "" {
		return nil
	}
	m := New(old)
	err := EachEpisode(ctx, s, old.Session, func(c *ken.Claim) (err error) {
		if c.Status == ken.StatusSuperseded || !m.MatchClaim(c) {
			return nil
		}
		if rest, ok := m.Redact(c); ok {
			_, err = s.WriteClaim(ctx, rest) // a new version of the episode, because the key is the same
		} else {
			err = s.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusSuperseded, Reason: "what it says no longer holds", Actor: actor})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove a claim from the episode of its session: %w", err)
	}
	return nil
}

// WithdrawAll is Withdraw for facts by their ids. It skips those that no longer exist.
func WithdrawAll(ctx context.Context, s Episodes, ids []string, actor ken.Actor) error {
	for _, id := range ids {
		c, err := s.Get(ctx, id)
		if err == nil {
			err = Withdraw(ctx, s, &c, actor)
		}
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return err
		}
	}
	return nil
}
