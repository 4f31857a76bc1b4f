package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// search asks every leg of a store by itself, without filter and floor, and
// returns what each found, by its name.
func (e *examiner) search(ctx context.Context, s store.Engine, question string, signals *ken.Signals) (map[string][]ken.Claim, error) {
	f := everything()
	q := &retriever.Query{Signals: ken.Signals{Keywords: []string{question}, Question: question}, Filter: &f, Limit: most}
	if signals != nil {
		q.Signals = *signals
	}
	legs := []retriever.Leg{retriever.Keyword(s), retriever.Pinned(s)}
	if _, noVector := e.f.layer.Retrieval(); noVector == "" {
		legs = append(legs, retriever.Vector(s, e.f.layer.Embedder()))
	}
	out := map[string][]ken.Claim{}
	for _, leg := range legs {
		res, err := leg.Search(ctx, q)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err != nil { // the embedder; the others were asked
			e.note(fmt.Sprintf("the %s leg was not checked: %v", leg.Name(), err))
			continue
		}
		for _, h := range res.Hits {
			if out[leg.Name()], err = appendClaim(ctx, out[leg.Name()], s, h.Ref); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func appendClaim(ctx context.Context, to []ken.Claim, s store.Engine, ref store.Ref) ([]ken.Claim, error) {
	c, err := s.Claim(ctx, ref)
	if errors.Is(err, ken.ErrNotFound) {
		return to, nil
	}
	return append(to, c), err
}

func (e *examiner) note(s string) {
	if !slices.Contains(e.res.Notes, s) {
		e.res.Notes = append(e.res.Notes, s)
	}
}
