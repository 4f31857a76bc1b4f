package harvest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
)

// mostAccounts is in how many episodes a value that changed is looked for.
const mostAccounts = 10

// amendAccounts notes in the episodes of this session and earlier ones which values have changed
// by what this session taught. They tell what the claims of their sessions may not.
func (r *harvestRun) amendAccounts(ctx context.Context) error {
	for _, id := range r.out.Learned {
		c, err := r.o.Store.Get(ctx, id)
		if errors.Is(err, ken.ErrNotFound) || err == nil && !consolidate.TellsChange(c.Text) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find a learned claim: %w", err)
		}
		found, err := r.o.Store.Query(ctx, ken.Query{Question: c.Text, Limit: mostAccounts,
			Filter: ken.Filter{Scopes: []ken.Scope{c.Scope}, Kinds: []ken.Kind{ken.KindEpisode}, ClaimsOnly: true}})
		if err != nil {
			return fmt.Errorf("find episodes that tell an old value: %w", err)
		}
		for i := range found {
			e := &found[i]
			if e.Key == "" || e.CreatedAt.After(c.CreatedAt) && e.Session != c.Session {
				continue
			}
			text, changed := consolidate.AmendAccount(e.Text, e.CreatedAt, c.Text, c.CreatedAt)
			heading, title := consolidate.AmendAccount(e.Heading, e.CreatedAt, c.Text, c.CreatedAt)
			if !changed && !title {
				continue
			}
			e.Text, e.Heading = text, heading
			if _, err := r.o.Store.WriteClaim(ctx, *e); err != nil && !r.refused("episode", err) {
				return fmt.Errorf("note a change in an episode: %w", err)
			}
		}
	}
	return nil
}

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
