package harvest

import (
	"context"
	"fmt"
	"sync"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/caught"
)

// step is what is to be written of one claim.
type step struct {
	id string                                       // the claim's, where it is known already; "" for one that is left out
	do func(context.Context) (id string, err error) // nil: nothing
}

func (r *run) written(c *ken.Claim) step {
	return step{do: func(ctx context.Context) (string, error) { return r.o.Store.WriteClaim(ctx, *c) }}
}

func (r *run) reinforced(id string, evidence []ken.Evidence) step {
	return step{id: id, do: func(ctx context.Context) (string, error) {
		return id, r.o.Store.Reinforce(ctx, id, evidence, r.actor())
	}}
}

// writers is how many claims are written at once: the store commits together what
// comes together, and a commit's sync to the disk is what takes the time.
const writers = 16

// write writes claims of which none is about another: each has a key of its own.
// It returns the ids of what is known now, in their order, each once.
func (r *run) write(ctx context.Context, what string, claims []ken.Claim, plan func(context.Context, *ken.Claim) (step, error)) (ids []string, err error) {
	steps := make([]step, len(claims))
	for i := range claims {
		if steps[i], err = plan(ctx, &claims[i]); err != nil {
			return nil, fmt.Errorf("look up a %s: %w", what, err)
		}
	}
	errs := make([]error, len(steps))
	room := make(chan struct{}, writers)
	var all sync.WaitGroup
	for i := range steps {
		if steps[i].do == nil {
			continue
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			errs[i] = caught.Run(func() (err error) {
				steps[i].id, err = steps[i].do(ctx)
				return err
			})
		})
	}
	all.Wait()
	for i := range steps {
		switch {
		case errs[i] != nil && !r.refused(what, errs[i]):
			return ids, fmt.Errorf("write a %s: %w", what, errs[i])
		case errs[i] == nil && steps[i].id != "":
			add(&ids, steps[i].id)
		}
	}
	return ids, nil
}
