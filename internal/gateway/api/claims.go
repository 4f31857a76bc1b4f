package api

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/store"
)

// ClaimList is a page of claims, the newest first.
type ClaimList struct {
	Claims []inspect.Claim `json:"claims"`
	Next   string          `json:"next,omitempty" jsonschema:"the cursor of the next page"`
}

// History is the history of a claim, oldest first.
type History struct {
	ID      string           `json:"id"`
	History []ken.ClaimEvent `json:"history"`
	Next    string           `json:"next,omitempty"`
}

// EvidenceList is the evidence of a claim, with the resulting tier and trust.
type EvidenceList struct {
	ID       string         `json:"id"`
	Tier     ken.Tier       `json:"tier"`
	Trust    ken.Trust      `json:"trust"`
	Evidence []EvidenceView `json:"evidence"`
}

// EvidenceView is a piece of evidence with its speaker's trust and its weight.
type EvidenceView struct {
	ken.Evidence
	Speaker ken.Trust `json:"speaker" jsonschema:"who speaks through it"`
	Worth   string    `json:"worth" jsonschema:"hard for mechanical proof, backed for something outside the conversation, words otherwise"`
}

func claimRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/claims", id: "listClaims", tag: "claims", right: access.Read,
		summary: "List claims", about: "List claims, the newest first, whatever their status and whether they have expired. Pieces of the repository are left out.",
		params: []*param{pKind, pStatus, pScope, pTag, pSession, pProject, pConstraint, pArchived, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[ClaimList](), hasETag: true, serve: (*API).listClaims,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}", id: "getClaim", tag: "claims", right: access.Read,
		summary: "Read a claim", about: "Read a claim, or a piece of the repository; or a claim that another owner shares, which its owner alone can change. The ETag is its version: send it as If-Match with a change.",
		status: http.StatusOK, answer: reflect.TypeFor[inspect.Claim](), hasETag: true,
		fails: []problemCode{codeNotFound}, serve: (*API).getClaim,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}/history", id: "getHistory", tag: "claims", right: access.Read,
		summary: "Read what happened to a claim",
		about:   "Read what happened to a claim, oldest first. Of a forgotten one, only when what happened is left.",
		params:  []*param{pLimit, pCursor},
		status:  http.StatusOK, answer: reflect.TypeFor[History](), hasETag: true,
		fails: []problemCode{codeNotFound}, serve: (*API).getHistory,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}/evidence", id: "getEvidence", tag: "claims", right: access.Read,
		summary: "Read what backs a claim", about: "Read the evidence of a claim, with who speaks through each piece and what it is worth.",
		status: http.StatusOK, answer: reflect.TypeFor[EvidenceList](), hasETag: true,
		fails: []problemCode{codeNotFound}, serve: (*API).getEvidence,
	}}
}

func (a *API) getClaim(c *call) (*reply, error) {
	id, err := c.claimID()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		found, err := claim(c.ctx(), s, id)
		if errors.Is(err, ken.ErrNotFound) {
			found, err = a.l.Operator().Shared(c.ctx(), c.who.Owner, id)
		}
		if err != nil {
			return nil, orNoClaim(err)
		}
		return withETag(a.l.Operator().View(found))
	})
}

func (a *API) getHistory(c *call) (*reply, error) {
	id, err := c.claimID()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		events, err := s.History(c.ctx(), id)
		if err != nil {
			return nil, orNoClaim(err)
		}
		out := History{ID: id}
		// The history of an imported claim begins with events that have no number in the log.
		n := slices.IndexFunc(events, func(e ken.ClaimEvent) bool { return e.Seq > 0 })
		at := func(i *int) position {
			if seq := events[*i].Seq; n >= 0 && *i >= n {
				return position{rank: 1, at: -int64(seq), id: string([]byte{byte(*i >> 8), byte(*i)})}
			}
			return position{at: -int64(*i)}
		}
		all := make([]int, len(events))
		for i := range all {
			all[i] = i
		}
		var shown []int
		if shown, out.Next, err = page(c, all, at); err != nil {
			return nil, err
		}
		out.History = make([]ken.ClaimEvent, len(shown))
		for i, j := range shown {
			out.History[i] = events[j]
		}
		return withETagAndNext(out, out.Next)
	})
}

// withETagAndNext is withETag for a page, with the cursor of the next page.
func withETagAndNext(v any, next string) (*reply, error) {
	rep, err := withETag(v)
	if err == nil {
		rep.next = next
	}
	return rep, err
}

func (a *API) getEvidence(c *call) (*reply, error) {
	id, err := c.claimID()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		found, err := claim(c.ctx(), s, id)
		if err != nil {
			return nil, err
		}
		v := a.l.Operator().View(found)
		out := EvidenceList{ID: v.ID, Tier: v.Tier, Trust: v.Trust, Evidence: make([]EvidenceView, len(v.Evidence))}
		for i, e := range v.Evidence {
			worth := "words"
			switch {
			case e.Hard():
				worth = "hard"
			case e.Backed():
				worth = "backed"
			}
			out.Evidence[i] = EvidenceView{Evidence: e, Speaker: e.Speaker(), Worth: worth}
		}
		return withETag(out)
	})
}

func (a *API) listClaims(c *call) (*reply, error) {
	from, given, err := c.startPosition()
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
	want := c.claimMatcher()
	limit := c.number(pLimit)
	return c.withStore(func(s store.Engine) (*reply, error) {
		tag := c.listTag(s) // taken before reading, so that a write in between makes the tag stale, not wrong
		if notModified(c.r, tag) {
			return &reply{etag: tag}, nil
		}
		w := claimScan{s: s, f: &f}
		if given {
			w.from, w.skip = &from, claimsBefore(from)
		}
		out := ClaimList{Claims: make([]inspect.Claim, 0, limit)}
		var last position
		err := w.each(c, func(at position, found *ken.Claim) bool {
			if !want(found) {
				return true
			}
			if len(out.Claims) == limit {
				out.Next = c.cursor(last)
				return false
			}
			out.Claims, last = append(out.Claims, a.l.Operator().View(*found)), at
			return true
		})
		if err != nil {
			return nil, err
		}
		return &reply{body: out, etag: tag, next: out.Next}, nil
	})
}

// claimMatcher returns a predicate for the parameters that a filter does not cover.
func (c *call) claimMatcher() func(*ken.Claim) bool {
	tags, session, project := c.values(pTag), c.text(pSession), c.text(pProject)
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

// claimScan iterates over a store's claims, the newest first.
type claimScan struct {
	s    store.Engine
	f    *ken.Filter
	from *position // the position to start after; nil starts with the newest
	skip int       // approximate number of claims before it
}

// claimPosition returns a claim's position. before is the approximate number of claims before it,
// which makes finding the position faster.
func claimPosition(row *store.Row, before int) position {
	return position{at: row.CreatedAt.UnixMilli(), id: fmt.Sprintf("%s %d", row.ID, before)}
}

func claimsBefore(p position) (n int) {
	_, text, _ := strings.Cut(p.id, " ")
	_, _ = fmt.Sscan(text, &n) // only a hint: 0 is valid too
	return min(max(n, 0), 1<<30)
}

func compareScan(a, b position) int {
	a.id, _, _ = strings.Cut(a.id, " ")
	b.id, _, _ = strings.Cut(b.id, " ")
	return comparePositions(a, b)
}

// each yields claims until fn returns false. Claims with the same time are ordered by id, so that
// the order is the same in every process.
func (w *claimScan) each(c *call, fn func(at position, found *ken.Claim) bool) error {
	const some = 256
	done := w.from // the position of the last claim that was read
	for ask := w.skip + 2*some; ; ask *= 4 {
		res, err := w.s.Newest(c.ctx(), w.f, ask)
		if err != nil {
			return err
		}
		whole := len(res.Hits) < ask
		for at := w.firstAfter(res.Hits, done); at < len(res.Hits); {
			group, end := w.sameTime(res.Hits, at)
			if end == len(res.Hits) && !whole {
				break // the group of claims with this time may be incomplete
			}
			at = end
			for i := range group {
				if done != nil && compareScan(group[i].at, *done) <= 0 {
					continue
				}
				done = &group[i].at
				found, err := w.s.Claim(c.ctx(), group[i].ref)
				if errors.Is(err, ken.ErrNotFound) { // deleted since the scan
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

// firstAfter returns the index of the first record that may come after a position.
func (w *claimScan) firstAfter(hits []store.Hit, after *position) int {
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

type scanHit struct {
	at  position
	ref store.Ref
}

// sameTime returns the records from begin on that have the same time as the first, ordered by id,
// and the index of the next record.
func (w *claimScan) sameTime(hits []store.Hit, begin int) (group []scanHit, end int) {
	for end = begin; end < len(hits); end++ {
		row, ok := w.s.Row(hits[end].Ref)
		if !ok {
			continue
		}
		at := claimPosition(&row, end)
		if len(group) > 0 && at.at != group[0].at.at {
			break
		}
		group = append(group, scanHit{at, hits[end].Ref})
	}
	slices.SortFunc(group, func(a, b scanHit) int { return compareScan(a.at, b.at) })
	return group, end
}

// ProvenanceView lists the claims about a thing, with the cursor of the next page.
type ProvenanceView struct {
	provenance.View
	Next string `json:"next,omitempty"`
}

var (
	pBehind = &param{name: "of", must: true, about: "A path, a symbol or another entity, the name of a test, a command, an artifact, an address, " +
		"a commit, or a claim's id or key.", example: "pay/retry.go"}
	pExpired = &param{name: "expired", form: formFlag, def: "false", about: "Claims that have expired, too."}
)

func provenanceRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/provenance", id: "getProvenance", tag: "claims", right: access.Read,
		summary: "Read what stands behind a thing",
		about: "Read the claims that are about a thing or rest on it: of each, the tier that it has by now and why, and every piece of evidence " +
			"with what it points at, when it was collected, and whether the file is still what it was. Expired and superseded claims are " +
			"counted, and told where they are asked for. A thing of which nothing is known has no claims.",
		params: []*param{pBehind, pExpired, pSuperseded, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[ProvenanceView](), serve: (*API).getProvenance,
	}}
}

func (a *API) getProvenance(c *call) (*reply, error) {
	from, given, err := c.startPosition()
	if err != nil {
		return nil, err
	}
	q := provenance.Query{Target: c.text(pBehind), Expired: c.flag(pExpired), Superseded: c.flag(pSuperseded), Limit: c.number(pLimit)}
	if given {
		q.Offset = int(max(-from.at, 0))
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := provenance.Of(c.ctx(), s, q, provenance.Options{Now: a.o.Now, DecayDays: a.l.Config().Knowledge.DecayDays, Root: a.l.Operator().RootOf(c.who.Owner)})
		if err != nil {
			return nil, err
		}
		out := ProvenanceView{View: v}
		if n := v.Offset + len(v.Claims); n < v.Total && len(v.Claims) > 0 {
			out.Next = c.cursor(position{at: -int64(n)})
		}
		return &reply{body: out, next: out.Next}, nil
	})
}
