package session

import (
	"cmp"
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Injected keeps what was put before the model in a session, so that its harvest
// does not learn it again: each id and text once, as of its first time. A session
// that is not known yet begins. Errors: as of Append.
func (j *Journal) Injected(ctx context.Context, id string, items []ken.Item) error {
	return j.Record(ctx, []Note{{About: About{ID: id}, Injected: items}}, nil)[0].Err
}

// injections reads what was injected, first things first.
func injections(r store.ShelfReader, id string) ([]Injection, error) {
	var out []Injection
	for key, b := range r.Scan(allInjected(id)) {
		var in Injection
		if err := decodeValue(key, b, &in); err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	slices.SortStableFunc(out, func(a, b Injection) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}
