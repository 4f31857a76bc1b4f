package harvest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/matcher"
)

// maxAmended is the maximum number of episodes that are searched for a changed value.
const maxAmended = 10

// noteChangedValues adds notes to episodes of this and earlier sessions about values that this session
// changed. Episodes may contain values that the claims of their sessions don't.
func (r *harvestRun) noteChangedValues(ctx context.Context) error {
	if len(r.tr.Entries) == 0 {
		return nil
	}
	at := r.tr.Entries[len(r.tr.Entries)-1].At
	for i := range r.changed {
		c := &r.changed[i]
		err := matcher.EachEpisode(ctx, r.o.Store, c.Session, func(e *ken.Claim) error {
			return r.amendEpisode(ctx, e, func(text string) (string, bool) { return c.AmendClause(text, at) })
		})
		if err != nil {
			return err
		}
	}
	for _, id := range r.out.Learned {
		c, err := r.o.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) || err == nil && !consolidate.TellsChange(c.Text) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find a learned claim: %w", err)
		}
		found, err := r.o.Store.Query(ctx, ken.Query{Question: c.Text, Limit: maxAmended,
			Filter: ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{ken.KindEpisode}, ClaimsOnly: true}})
		if err != nil {
			return fmt.Errorf("find episodes with an old value: %w", err)
		}
		for i := range found {
			e := &found[i]
			if e.CreatedAt.After(c.CreatedAt) && e.Session != c.Session {
				continue
			}
			err := r.amendEpisode(ctx, e, func(text string) (string, bool) {
				return consolidate.AmendAccount(text, e.CreatedAt, c.Text, c.CreatedAt)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// amendEpisode writes an episode again if amend changes its text or its heading.
func (r *harvestRun) amendEpisode(ctx context.Context, e *ken.Claim, amend func(string) (string, bool)) error {
	if e.Key == "" {
		return nil
	}
	text, told := amend(e.Text)
	heading, titled := amend(e.Heading)
	if !told && !titled {
		return nil
	}
	e.Text, e.Heading = text, heading
	if _, err := r.o.Store.WriteClaim(ctx, *e); err != nil && !r.refused("episode", err) {
		return fmt.Errorf("note a change in an episode: %w", err)
	}
	return nil
}

// withdrawFallen removes the facts that this session replaced from the episodes of the sessions that
// stated them, and this session's own facts that a person or an agent has disputed or replaced since
// an earlier harvest, because its episode was written again.
func (r *harvestRun) withdrawFallen(ctx context.Context) error {
	fallen := slices.Clone(r.out.Superseded)
	for _, id := range r.out.Learned {
		c, err := r.o.Store.Get(ctx, id)
		fell := false
		if err == nil {
			fell, err = r.fellSince(ctx, &c)
		}
		if err != nil && !errors.Is(err, ken.ErrNotFound) {
			return fmt.Errorf("see whether a claim still holds: %w", err)
		}
		if fell {
			fallen = append(fallen, id)
		}
	}
	return matcher.WithdrawAll(ctx, r.o.Store, fallen, r.actor())
}

// fellSince reports whether somebody else than a harvest disputed or replaced a claim.
func (r *harvestRun) fellSince(ctx context.Context, c *ken.Claim) (bool, error) {
	if c.Status != ken.StatusSuperseded && c.Status != ken.StatusDisputed {
		return false, nil
	}
	events, err := r.o.Store.History(ctx, c.ID)
	return slices.ContainsFunc(events, func(e ken.ClaimEvent) bool { return e.To == c.Status && e.Actor.Type != r.actor().Type }), err
}
