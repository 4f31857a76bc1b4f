package calibrate

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/store"
)

// Source is what is calibrated: an owner's projections, and how many refs there
// are or were. Every record's ref is below Refs.
type Source interface {
	store.Projections
	Refs() int
}

// readClaims bounds how many claims the questions are made from: reading and
// analysing one takes a tenth of a millisecond.
const readClaims = 1000

// contextEvery is how many rows pass between two looks at the context.
const contextEvery = 4096

// questions makes n questions of a sample of p's claims. The same claims and the
// same seed give the same ones, whatever the claims' refs.
func questions(ctx context.Context, p Source, n int, seed uint64, f *ken.Filter) ([]knownitem.Question, error) {
	refs, err := sample(ctx, p, readClaims, seed, f)
	if err != nil {
		return nil, err
	}
	set, err := knownitem.Generate(ctx, claims(ctx, p, refs), knownitem.Options{N: n, Seed: seed, Kinds: kinds, Filter: *f})
	return set.Questions, err
}

// sample returns the n records whose seeded hash is least, of those that the
// filter lets through.
func sample(ctx context.Context, p Source, n int, seed uint64, f *ken.Filter) ([]store.Ref, error) {
	type drawn struct {
		hash uint64
		ref  store.Ref
	}
	var all []drawn
	for i := range p.Refs() {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, ok := p.Row(store.Ref(i))
		if !ok || f.Reject(row.Facts) != "" {
			continue
		}
		all = append(all, drawn{mix(seed, row.ID), store.Ref(i)})
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ref, b.ref)) })
	out := make([]store.Ref, min(n, len(all)))
	for i := range out {
		out[i] = all[i].ref
	}
	return out, nil
}

func mix(seed uint64, id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	x := h.Sum64() ^ seed*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // as splitmix64 ends
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// claims reads records; those that are gone meanwhile are left out.
func claims(ctx context.Context, p store.Projections, refs []store.Ref) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		for _, ref := range refs {
			c, err := p.Claim(ctx, ref)
			if errors.Is(err, ken.ErrNotFound) {
				continue
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
