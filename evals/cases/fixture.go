package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type clock = func() time.Time

// fixture is the layer that a case runs on. Cases with the same knowledge at the
// same moment share one, since a turn writes nothing.
type fixture struct {
	key   string // what is known, and when
	layer *middleware.Layer
	now   clock
	notes []string
	seen  *middleware.State // of the last turn that went through the chain

	exported map[string]string // owner, 0, canary → where the export has it; "" is nowhere
	had      map[string]string // owner, 0, matcher → who has such a claim; see somewhere
}

// fixture returns the one of the case before, or makes another.
func (r *runner) fixture(ctx context.Context, c *Case) (*fixture, error) {
	onBase := (r.o.State != "" || r.o.Export != "") && (!c.Alone || !r.o.GivenAlone)
	key, err := json.Marshal([]any{onBase, c.Now, c.Given})
	if err != nil {
		return nil, err
	}
	if r.current != nil && r.current.key == string(key) {
		return r.current, nil
	}
	if r.current != nil {
		if err := r.current.layer.Close(); err != nil {
			return nil, err
		}
		r.current = nil
	}
	r.made++
	f := &fixture{key: string(key), now: r.o.Now, exported: map[string]string{}, had: map[string]string{}}
	if !c.Now.IsZero() {
		f.now = func() time.Time { return c.Now }
	}
	state := filepath.Join(r.tmp, "state"+strconv.Itoa(r.made))
	root := ""
	if onBase {
		if err := r.prepare(ctx); err != nil {
			return nil, err
		}
		if err := copyFolder(ctx, r.base, state); err != nil {
			return nil, err
		}
		root, f.notes = r.o.Root, slices.Clone(r.lacking)
	}
	f.layer, err = r.open(ctx, state, root, f.now, func(o *middleware.Options) { o.Use = []middleware.Middleware{f.watch} })
	if err != nil {
		return nil, err
	}
	if err := r.give(ctx, f, c); err != nil {
		return nil, errors.Join(err, f.layer.Close())
	}
	r.current = f
	return f, nil
}

// watch keeps what the chain made of a turn.
func (f *fixture) watch(next middleware.Handler) middleware.Handler {
	return func(ctx context.Context, st *middleware.State) error {
		err := next(ctx, st)
		f.seen = st
		return err
	}
}

// give writes the case's given claims. Ids follow from their place, so that a
// case gives the same result each time.
func (r *runner) give(ctx context.Context, f *fixture, c *Case) error {
	touched := map[string]bool{}
	for i, g := range c.Given {
		claim := store.Clone(&g.Claim)
		claim.Owner = r.owner(claim.Owner)
		touched[claim.Owner] = true
		if claim.ID == "" {
			claim.ID = uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d %s", claim.Owner, i, claim.Text)).String()
		}
		err := write(ctx, f.layer, claim.Owner, []store.Incoming{{Claim: claim}})
		switch {
		case errors.Is(err, ken.ErrRefused): // which may be what the case is about
			f.notes = append(f.notes, fmt.Sprintf("the given claim in line %d was not kept: %v", g.Line, err))
		case err != nil:
			return fmt.Errorf("given in line %d: %w", g.Line, err)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(touched)) {
		f.notes = append(f.notes, refresh(ctx, f.layer, owner)...)
	}
	return ctx.Err()
}
