package api

import (
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// ClaimList is a page of claims, the newest first.
type ClaimList struct {
	Claims []middleware.ClaimView `json:"claims"`
	Next   string                 `json:"next,omitempty" jsonschema:"the cursor of the next page"`
}

// History is what happened to a claim, oldest first.
type History struct {
	ID      string           `json:"id"`
	History []ken.ClaimEvent `json:"history"`
	Next    string           `json:"next,omitempty"`
}

// EvidenceList is what backs a claim, and what it amounts to.
type EvidenceList struct {
	ID       string         `json:"id"`
	Tier     ken.Tier       `json:"tier"`
	Trust    ken.Trust      `json:"trust"`
	Evidence []EvidenceView `json:"evidence"`
}

// EvidenceView is a piece of evidence with what it is worth.
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
		status: http.StatusOK, answer: reflect.TypeFor[ClaimList](), tagged: true, serve: (*API).listClaims,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}", id: "getClaim", tag: "claims", right: access.Read,
		summary: "Read a claim", about: "Read a claim, or a piece of the repository; or a claim that another owner shares, which its owner alone can change. The ETag is its version: send it as If-Match with a change.",
		status: http.StatusOK, answer: reflect.TypeFor[middleware.ClaimView](), tagged: true,
		fails: []problemCode{codeNotFound}, serve: (*API).getClaim,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}/history", id: "getHistory", tag: "claims", right: access.Read,
		summary: "Read what happened to a claim",
		about:   "Read what happened to a claim, oldest first. Of a forgotten one, only when what happened is left.",
		params:  []*param{pLimit, pCursor},
		status:  http.StatusOK, answer: reflect.TypeFor[History](), tagged: true,
		fails: []problemCode{codeNotFound}, serve: (*API).getHistory,
	}, {
		method: http.MethodGet, path: "/api/claims/{id}/evidence", id: "getEvidence", tag: "claims", right: access.Read,
		summary: "Read what backs a claim", about: "Read the evidence of a claim, with who speaks through each piece and what it is worth.",
		status: http.StatusOK, answer: reflect.TypeFor[EvidenceList](), tagged: true,
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
			if shared, failed := a.l.Shared(c.ctx(), c.who.Owner, id); failed == nil {
				found, err = shared, nil
			}
		}
		if err != nil {
			return nil, err
		}
		return tagged(a.l.View(found))
	})
}

func (a *API) getHistory(c *call) (*reply, error) {
	id, err := c.claimID()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		events, err := s.History(c.ctx(), id)
		if errors.Is(err, ken.ErrNotFound) {
			err = noClaim()
		}
		if err != nil {
			return nil, err
		}
		out := History{ID: id}
		// An imported life has events without a place in the log, before those with one.
		n := slices.IndexFunc(events, func(e ken.ClaimEvent) bool { return e.Seq > 0 })
		at := func(i *int) place {
			if seq := events[*i].Seq; n >= 0 && *i >= n {
				return place{rank: 1, at: -int64(seq), id: string([]byte{byte(*i >> 8), byte(*i)})}
			}
			return place{at: -int64(*i)}
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
		return paged(out, out.Next)
	})
}

// paged is tagged, with the next page.
func paged(v any, next string) (*reply, error) {
	rep, err := tagged(v)
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
		v := a.l.View(found)
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
		return tagged(out)
	})
}
