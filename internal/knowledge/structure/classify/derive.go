package classify

import (
	"context"
	"errors"
	"fmt"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Derive does by rules what is to be done about these claims after they were
// written: it files those that nobody has filed, writes the dependencies that they
// state, and takes those back that they no longer state. Claims that are gone are no
// error, and doing it again changes nothing. The follower does it for every write;
// whoever ends right after one calls it.
func Derive(ctx context.Context, st Store, ids ...string) error {
	c := New(st, Options{})
	for _, id := range ids {
		if err := c.derive(ctx, id, true); err != nil {
			return err
		}
	}
	if n := c.take(); n.Filed+n.Dependencies+n.Retracted > 0 { // the rest is for the follower to count
		c.giveBack(&n)
		return c.flush(ctx, nil, nil)
	}
	return nil
}

// derive is Derive for one claim. changed says that it may have said something else
// before.
func (c *Classifier) derive(ctx context.Context, id string, changed bool) error {
	k, err := c.st.Get(ctx, id)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read a claim to be filed: %w", err)
	case k.Kind == ken.KindDependency:
		return c.orphan(ctx, &k)
	case !Atomic(&k):
		return nil
	case !stands(&k, c.o.Now()):
		return c.retracted(ctx, &k, nil)
	}
	if err := c.backfill(ctx, &k); err != nil {
		return err
	}
	if c.o.NoRules {
		return nil
	}
	var kept []string
	v := viewOf(c.st, k.Scope)
	read := reading.Read(&k, c.st)
	for _, d := range read.Dependencies {
		e := edge{source: d.Source, kind: d.Type, target: d.Target, strength: d.Strength, by: ken.AssignedByRules}
		e, why, err := e.resolved(ctx, v)
		if err != nil {
			return err
		}
		if why != "" {
			c.count(func(n *Counts) { n.refuse(why) })
			continue
		}
		wrote, err := c.write(ctx, &e, &k)
		if err != nil && !skippable(err) {
			return fmt.Errorf("write a dependency: %w", err)
		}
		if wrote && err == nil {
			c.count(func(n *Counts) { n.Dependencies++ })
		}
		kept = append(kept, e.key(&k))
	}
	if !changed {
		return nil
	}
	return c.retracted(ctx, &k, kept)
}

func (c *Classifier) retracted(ctx context.Context, k *ken.Claim, kept []string) error {
	n, err := c.retract(ctx, k, kept)
	if n > 0 {
		c.count(func(o *Counts) { o.Retracted += uint64(n) })
	}
	if err != nil {
		return fmt.Errorf("take dependencies back: %w", err)
	}
	return nil
}

// backfill files a claim that nobody has filed: one from before there was a
// structure, or of which pass 1 made nothing then.
func (c *Classifier) backfill(ctx context.Context, k *ken.Claim) error {
	if k.AssignedBy != "" || len(k.Entities) > 0 && k.Aspect != "" {
		return nil
	}
	filed := *k
	if !reading.Assign(&filed, c.st) {
		c.count(func(n *Counts) { n.Unread++ })
		return nil
	}
	if len(k.Entities) == 0 {
		if r := reading.Read(k, c.st); r.Confidence < MinConfidence {
			c.count(func(n *Counts) { n.Unsure++ })
			return nil
		}
	}
	changed, err := c.st.Assign(ctx, ken.Assignment{ID: k.ID, By: ken.AssignedByRules, Entities: filed.Entities, Aspect: filed.Aspect,
		Constraint: filed.Constraint, Actor: actor})
	switch {
	case err != nil && !skippable(err):
		return fmt.Errorf("file a claim: %w", err)
	case err == nil && changed:
		*k = filed
		c.count(func(n *Counts) { n.Filed++ })
	}
	return nil
}

// orphan forgets a dependency that was written just when the claims that it was
// derived from were forgotten: it has their words.
func (c *Classifier) orphan(ctx context.Context, d *ken.Claim) error {
	if d.SourceType != SourceRules && d.SourceType != SourceModel {
		return nil
	}
	cited := false
	for _, e := range d.Evidence {
		if e.Kind != ken.EvidenceRepositoryMemory {
			continue
		}
		cited = true
		if _, err := c.st.Get(ctx, e.ID); !errors.Is(err, ken.ErrNotFound) {
			return err
		}
	}
	if !cited {
		return nil
	}
	_, err := c.st.Forget(ctx, d.ID, "what it was derived from was forgotten", actor)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return fmt.Errorf("forget a dependency: %w", err)
	}
	return nil
}

// skippable reports an error about one claim, which somebody forgot or moved
// meanwhile, or which no store takes: the others are filed all the same.
func skippable(err error) bool {
	return errors.Is(err, ken.ErrNotFound) || errors.Is(err, ken.ErrRefused) || errors.Is(err, ken.ErrInvalid)
}
