package lifecycle

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
)

// Archived returns archived claims that bear on a question, best first, at most
// limit of them, 10 if it is less than 1; an empty question means the newest. f
// narrows them; its Statuses and Kinds, when nil, are all, and its Now is not used, since
// whatever expired is what is looked for.
func Archived(ctx context.Context, s interface {
	Query(ctx context.Context, q ken.Query) ([]ken.Claim, error)
}, question string, f ken.Filter, limit int) ([]ken.Claim, error) {
	const usual, most = 10, 100_000
	if limit < 1 {
		limit = usual
	}
	if f.Statuses == nil {
		f.Statuses = ken.Statuses()
	}
	f.ClaimsOnly, f.Structural, f.Now = true, true, time.Unix(0, 0) // before anything expired
	// What is not archived takes room in the answer, so ask for more until there is
	// enough or no more.
	for ask := 4 * limit; ; ask *= 4 {
		found, err := s.Query(ctx, ken.Query{Question: question, Filter: f, Limit: ask})
		if err != nil {
			return nil, err
		}
		var out []ken.Claim
		for i := range found {
			if !found[i].ArchivedAt.IsZero() && len(out) < limit {
				out = append(out, found[i])
			}
		}
		if len(out) == limit || len(found) < ask || ask > most {
			return out, nil
		}
	}
}
