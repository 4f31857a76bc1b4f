package consoletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const day = 24 * time.Hour

// step is something that happened so long before Options.Now.
type step struct {
	ago  time.Duration
	name string
	do   func(ctx context.Context) error
}

// vectorSince is when the leg of meaning was switched on: turns before that ran with
// words alone.
const vectorSince = 3*day + 12*time.Hour

// tell has everything happen in its order: what came first was there first, in the log
// too. Two layers after each other tell it, the first without the leg of meaning.
func (f *furnisher) tell(ctx context.Context) (err error) {
	steps := slices.Concat(f.synthetic(), f.knowledge(), f.patterns(), f.things(), f.hostile(), f.conversations(), f.changes(), f.bobs(), f.work())
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(b.ago, a.ago) })
	defer func() { err = errors.Join(err, f.close()) }()
	vector := false
	f.clock.set(f.o.Now.Add(-steps[0].ago))
	if err := f.open(ctx, vector); err != nil {
		return err
	}
	for _, s := range steps {
		f.clock.set(f.o.Now.Add(-s.ago))
		if !vector && s.ago <= vectorSince {
			vector = true
			if err := errors.Join(f.close(), f.open(ctx, vector)); err != nil {
				return err
			}
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	f.clock.set(f.o.Now)
	return f.finish(ctx)
}

// finish brings what works in the background up to date.
func (f *furnisher) finish(ctx context.Context) error {
	if err := f.layer.Recorded(ctx); err != nil {
		return err
	}
	for _, owner := range []string{"", Bob} {
		if _, err := f.layer.File(ctx, owner); err != nil {
			return fmt.Errorf("file: %w", err)
		}
	}
	return errors.Join(f.catchUp(ctx), f.orderPatterns(ctx))
}
