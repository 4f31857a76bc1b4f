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

// Source is the collection to calibrate: an owner's projections, and the number of refs ever
// assigned. All refs are less than Refs.
type Source interface {
	store.Projections
	Refs() int
}

// readClaims is the maximum number of claims from which questions are made. Reading and analysing a
// claim takes a tenth of a millisecond.
const readClaims = 1000

// contextEvery is the number of rows after which the context is checked.
const contextEvery = 4096

// questions makes n questions from a sample of p's claims. The same claims and the same seed give
// the same questions, whatever the refs of the claims.
func questions(ctx context.Context, p Source, n int, seed uint64, f *ken.Filter) ([]knownitem.Question, error) {
	refs, err := sample(ctx, p, readClaims, seed, f)
	if err != nil {
		return nil, err
	}
	set, err := knownitem.Generate(ctx, claims(ctx, p, refs), knownitem.Options{N: n, Seed: seed, Kinds: kinds, Filter: *f})
	return set.Questions, err
}

// sample returns the n records with the smallest seeded hashes among those that the filter accepts.
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
	_, _ = h.Write([]byte(id)) // writing to a hash never fails
	x := h.Sum64() ^ seed*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // the final steps of splitmix64
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// claims reads records and skips those that were deleted since.
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
