package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/pattern"
)

// patterns writes candidates, and reinforces those that are known: once a
// session, whether a person has approved them or not. One that was rejected stays
// rejected.
func (r *run) patterns(ctx context.Context) error {
	ids, err := r.write(ctx, "pattern", pattern.Extract(r.tr, r.o.Tools), r.pattern)
	r.out.Patterns = ids
	return err
}

// pattern says what is to be written of one.
func (r *run) pattern(ctx context.Context, c *ken.Claim) (step, error) {
	have, err := r.o.Store.ByKey(ctx, c.Key)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return r.written(c), nil
	case err != nil:
		return step{}, err
	case have.Status == ken.StatusDisputed, have.Status == ken.StatusSuperseded:
		r.out.Dropped[dropRejected]++
		return step{}, nil
	}
	again, err := r.counted(ctx, &have)
	if err != nil || again {
		return step{id: have.ID}, err
	}
	return r.reinforced(have.ID, enough(have.Evidence, c.Evidence)), nil
}

// maxWitnesses is how many tool results stand for a pattern. Reinforcements are
// counted beside them, so more would only make the claim longer.
const maxWitnesses = 6

// enough leaves tool results out of new evidence once there are many: each session
// has its own, while an exit code or a test result takes the place of the last one.
func enough(have, more []ken.Evidence) []ken.Evidence {
	witness := func(e ken.Evidence) bool { return e.Kind == ken.EvidenceToolResult }
	n := 0
	for _, e := range have {
		if witness(e) {
			n++
		}
	}
	var out []ken.Evidence
	for _, e := range more {
		if witness(e) {
			if n++; n > maxWitnesses {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// actor marks what this session reinforces: see counted.
func (r *run) actor() ken.Actor { return ken.Actor{Type: "system", ID: "harvest of " + r.tr.Info.ID} }

// counted reports whether this session wrote or reinforced the claim already, in
// a harvest before this one. The history knows, so evidence need not grow with
// every session that sees a pattern.
func (r *run) counted(ctx context.Context, c *ken.Claim) (bool, error) {
	if c.Session == r.tr.Info.ID {
		return true, nil
	}
	events, err := r.o.Store.History(ctx, c.ID)
	if err != nil {
		return false, fmt.Errorf("read history: %w", err)
	}
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool {
		return e.Type == ken.EventReinforced && e.Actor == r.actor()
	}), nil
}
