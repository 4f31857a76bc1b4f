package api

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *API) listClaims(c *call) (*reply, error) {
	from, given, err := c.after()
	if err != nil {
		return nil, err
	}
	f, err := c.filter()
	if err != nil {
		return nil, err
	}
	f.ClaimsOnly = true
	if f.Statuses == nil {
		f.Statuses = ken.Statuses()
	}
	want := c.wanted()
	limit := c.number(pLimit)
	return c.withStore(func(s store.Engine) (*reply, error) {
		tag := c.listTag(s) // before it is read: what is written meanwhile makes it stale, not wrong
		if unchanged(c.r, tag) {
			return &reply{etag: tag}, nil
		}
		w := walk{s: s, f: &f}
		if given {
			w.from, w.skip = &from, claimsShown(from)
		}
		out := ClaimList{Claims: make([]middleware.ClaimView, 0, limit)}
		var last place
		err := w.each(c, func(at place, found *ken.Claim) bool {
			if !want(found) {
				return true
			}
			if len(out.Claims) == limit {
				out.Next = c.cursor(last)
				return false
			}
			out.Claims, last = append(out.Claims, a.l.View(*found)), at
			return true
		})
		if err != nil {
			return nil, err
		}
		return &reply{body: out, etag: tag, next: out.Next}, nil
	})
}

// wanted tells the claims that the parameters ask for beyond what a filter knows.
func (c *call) wanted() func(*ken.Claim) bool {
	tags, session, project := c.all(pTag), c.text(pSession), c.text(pProject)
	archived, constraint := c.flag(pArchived), c.flag(pConstraint)
	return func(found *ken.Claim) bool {
		for _, t := range tags {
			if !slices.Contains(found.Tags, t) {
				return false
			}
		}
		return (session == "" || found.Session == session) && (project == "" || found.Project == project) &&
			(archived || found.ArchivedAt.IsZero()) && (!constraint || found.Constraint)
	}
}

// walk goes through a store's claims from the newest on.
type walk struct {
	s    store.Engine
	f    *ken.Filter
	from *place // after which it begins; nil begins with the newest
	skip int    // how many come before it, more or less
}

// claimPlace is a claim's, with how many come before it, which is a hint: it saves
// looking for the place among all of them.
func claimPlace(row *store.Row, before int) place {
	return place{at: row.CreatedAt.UnixMilli(), id: fmt.Sprintf("%s %d", row.ID, before)}
}

func claimsShown(p place) (n int) {
	_, text, _ := strings.Cut(p.id, " ")
	_, _ = fmt.Sscan(text, &n) // a hint: 0 will do
	return min(max(n, 0), 1<<30)
}

// earlier reports whether a stands before b in the list, the hints apart.
func earlier(a, b place) int {
	a.id, _, _ = strings.Cut(a.id, " ")
	b.id, _, _ = strings.Cut(b.id, " ")
	return order(a, b)
}

// each yields claims until fn has enough. Claims of one moment are in the order of
// their ids, so that the order is the same in every process.
func (w *walk) each(c *call, fn func(at place, found *ken.Claim) bool) error {
	const some = 256
	done := w.from // the place of the last one that was looked at
	for ask := w.skip + 2*some; ; ask *= 4 {
		res, err := w.s.Newest(c.ctx(), w.f, ask)
		if err != nil {
			return err
		}
		whole := len(res.Hits) < ask
		for at := w.begin(res.Hits, done); at < len(res.Hits); {
			group, end := w.moment(res.Hits, at)
			if end == len(res.Hits) && !whole {
				break // the rest of the moment may be missing
			}
			at = end
			for i := range group {
				if done != nil && earlier(group[i].at, *done) <= 0 {
					continue
				}
				done = &group[i].at
				found, err := w.s.Claim(c.ctx(), group[i].ref)
				if errors.Is(err, ken.ErrNotFound) { // forgotten meanwhile
					continue
				}
				if err != nil {
					return err
				}
				if !fn(group[i].at, &found) {
					return nil
				}
			}
			if err := c.ctx().Err(); err != nil {
				return err
			}
		}
		if whole {
			return nil
		}
	}
}

// begin is the index of the first record that may stand after a place.
func (w *walk) begin(hits []store.Hit, after *place) int {
	if after == nil {
		return 0
	}
	return sort.Search(len(hits), func(i int) bool {
		for ; i < len(hits); i++ {
			if row, ok := w.s.Row(hits[i].Ref); ok {
				return row.CreatedAt.UnixMilli() <= after.at
			}
		}
		return true
	})
}

type stop struct {
	at  place
	ref store.Ref
}

// moment returns the records from begin on that are as old as the first, by id, and
// where they end.
func (w *walk) moment(hits []store.Hit, begin int) (group []stop, end int) {
	for end = begin; end < len(hits); end++ {
		row, ok := w.s.Row(hits[end].Ref)
		if !ok {
			continue
		}
		at := claimPlace(&row, end)
		if len(group) > 0 && at.at != group[0].at.at {
			break
		}
		group = append(group, stop{at, hits[end].Ref})
	}
	slices.SortFunc(group, func(a, b stop) int { return earlier(a.at, b.at) })
	return group, end
}
