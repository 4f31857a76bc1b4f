package harvest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

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
		err := r.eachEpisode(ctx, c.Session, func(e *ken.Claim) error {
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

// eachEpisode calls do with the episode of each part of a session.
func (r *harvestRun) eachEpisode(ctx context.Context, id string, do func(*ken.Claim) error) error {
	for part := 1; id != ""; part++ {
		key := "episode:" + id
		if part > 1 {
			key += "/" + strconv.Itoa(part)
		}
		c, err := r.o.Store.ByKey(ctx, key)
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

// dropReplaced removes the claims that this session replaced from the episodes of the sessions that
// stated them, so that a digest does not present an old value as current.
func (r *harvestRun) dropReplaced(ctx context.Context) error {
	for _, id := range r.out.Superseded {
		old, err := r.o.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) || err == nil && (old.Kind != ken.KindFact || old.Session == "") {
			continue
		}
		if err != nil {
			return fmt.Errorf("find a replaced claim: %w", err)
		}
		m := matcher.New(&old)
		err = r.eachEpisode(ctx, old.Session, func(c *ken.Claim) (err error) {
			if c.Status == ken.StatusSuperseded || !m.MatchClaim(c) {
				return nil
			}
			if rest, ok := m.Redact(c); ok {
				_, err = r.o.Store.WriteClaim(ctx, rest) // a new version of the episode, because the key is the same
			} else {
				err = r.o.Store.Transition(ctx, ken.Transition{ID: c.ID, To: ken.StatusSuperseded, Reason: "what it told was replaced", Actor: r.actor()})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("remove a replaced claim from an episode: %w", err)
		}
	}
	return nil
}
