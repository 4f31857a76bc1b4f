package retriever

import (
	"context"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// DefaultSessions is how many episodes the sessions leg finds, unless
// Options.Limits says otherwise: what was done lately, not a history.
const DefaultSessions = 3

// Sessions is the leg of recent sessions: the newest episodes, newest first,
// whatever is asked. Those of the session that asks are left out: it knows, but for
// what was before its conversation began.
func Sessions(p store.Projections) Leg { return sessionsLeg{p} }

type sessionsLeg struct{ p store.Projections }

func (sessionsLeg) Name() string { return LegSessions }

func (sessionsLeg) prompt() {}

func (l sessionsLeg) Search(ctx context.Context, q *Query) (store.Result, error) {
	f, ok := narrowed(q.Filter, ken.KindEpisode)
	if !ok {
		return store.Result{}, nil
	}
	for look := q.Limit + 1; ; look *= 4 { // a long session may have left several episodes
		res, err := l.p.Newest(ctx, &f, look)
		if err != nil {
			return res, err
		}
		whole := len(res.Hits) < look
		if res.Hits, err = l.others(ctx, res.Hits, q); err != nil {
			return res, err
		}
		if whole || len(res.Hits) == q.Limit {
			return res, nil
		}
	}
}

// others returns the first hits that belong to other sessions, as many as the
// query wants.
func (l sessionsLeg) others(ctx context.Context, hits []store.Hit, q *Query) ([]store.Hit, error) {
	if q.Session != "" {
		ahead := make([]store.Ref, min(len(hits), q.Limit+1)) // what is usually enough
		for i := range ahead {
			ahead[i] = hits[i].Ref
		}
		store.Fetch(ctx, l.p, ahead)
	}
	out := hits[:0]
	for _, h := range hits {
		if len(out) == q.Limit {
			break
		}
		if q.Session != "" {
			switch c, err := l.p.Claim(ctx, h.Ref); {
			case errors.Is(err, ken.ErrNotFound): // forgotten meanwhile
				continue
			case err != nil:
				return nil, err
			case c.Session == q.Session && !c.CreatedAt.Before(q.Began):
				continue
			}
		}
		out = append(out, h)
	}
	return out, nil
}
