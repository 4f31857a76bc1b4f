package harvest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken"
)

// dropReplaced takes the claims that this session replaced out of the episodes of the sessions
// that had said them: a digest must not tell an old value as if it were so.
func (r *harvestRun) dropReplaced(ctx context.Context) error {
	for _, id := range r.out.Superseded {
		old, err := r.o.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) || err == nil && (old.Kind != ken.KindFact || old.Session == "") {
			continue
		}
		if err != nil {
			return fmt.Errorf("find a replaced claim: %w", err)
		}
		m := NewClaimMatcher(&old)
		for part := 1; ; part++ {
			key := "episode:" + old.Session
			if part > 1 {
				key += "/" + strconv.Itoa(part)
			}
			c, err := r.o.Store.ByKey(ctx, key)
			if errors.Is(err, ken.ErrNotFound) {
				break
			}
			if err != nil {
				return fmt.Errorf("find an episode: %w", err)
			}
			if c.Status == ken.StatusSuperseded || !m.MatchClaim(&c) {
				continue
			}
			if rest, ok := m.Redact(&c); ok {
				_, err = r.o.Store.WriteClaim(ctx, rest) // a new version, because it has the episode's key
			} else {
				err = r.o.Store.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusSuperseded, Reason: "what it told was replaced", Actor: r.actor()})
			}
			if err != nil {
				return fmt.Errorf("take a replaced claim out of an episode: %w", err)
			}
		}
	}
	return nil
}
