package api

import (
	"net/http"
	"reflect"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// ConstraintList is a page of the rules that hold for an entity: its own, then those
// of what is one dependency away.
type ConstraintList struct {
	Constraints []entity.Constraint `json:"constraints"`
	Next        string              `json:"next,omitempty"`
}

// ConstraintRequest is a rule to be added.
type ConstraintRequest struct {
	Text      string         `json:"text" jsonschema:"the rule, in one statement"`
	Entities  []string       `json:"entities,omitempty" jsonschema:"what it is about, the primary one first; left out, the text is read. A rule about nothing in particular is in every turn"`
	Aspect    string         `json:"aspect,omitempty" jsonschema:"of the primary entity; left out, the text is read"`
	Scope     ken.Scope      `json:"scope,omitzero" jsonschema:"what it applies to; everything unless something is said"`
	Project   string         `json:"project,omitempty"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	Evidence  []ken.Evidence `json:"evidence,omitempty" jsonschema:"who or what says so; your word unless something is given"`
}

// ConstraintAnswer is a rule, and the dependencies that its text states.
type ConstraintAnswer struct {
	Claim        middleware.ClaimView   `json:"claim"`
	Dependencies []middleware.ClaimView `json:"dependencies"`
	Changed      bool                   `json:"changed" jsonschema:"false: all of it was so already"`
}

func constraintRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/constraints", id: "listConstraints", tag: "structure", right: access.Read,
		summary: "List the rules that hold for an entity",
		about:   "List every rule that holds for an entity: its own, then those of what is one dependency away. All constraints there are: GET /api/claims?constraint=true.",
		params:  []*param{pEntity, pScope, pLimit, pCursor},
		status:  http.StatusOK, answer: reflect.TypeFor[ConstraintList](), fails: []problemCode{codeNotFound}, serve: (*API).listConstraints,
	}, {
		method: http.MethodPost, path: "/api/constraints", id: "addConstraint", tag: "structure", right: access.Operate,
		summary: "Add a rule",
		about: "Add a rule that is shown in every turn about what it concerns, and the dependencies that its text states. A claim that says so " +
			"already becomes a rule.",
		body:    reflect.TypeFor[ConstraintRequest](),
		example: `{"text":"Never deploy the payments service on Fridays; it depends on the ledger.","entities":["payments"]}`,
		status:  http.StatusCreated, also: map[int]string{http.StatusOK: "It was there already."},
		answer: reflect.TypeFor[ConstraintAnswer](), fails: []problemCode{codeRefused}, serve: (*API).addConstraint,
	}}
}

func (a *API) listConstraints(c *call) (*reply, error) {
	f, err := c.known()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := entity.Show(c.ctx(), s, c.text(pEntity), f, a.entityOptions)
		if err != nil {
			return nil, named(err, pEntity.name)
		}
		out := ConstraintList{}
		out.Constraints, out.Next, err = page(c, v.Constraints, func(r *entity.Constraint) place {
			return place{rank: uint8(r.Distance), at: r.CreatedAt.UnixNano(), id: r.ID}
		})
		return &reply{body: out, next: out.Next}, err
	})
}

func (a *API) addConstraint(c *call) (*reply, error) {
	req := c.body.(*ConstraintRequest)
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := c.editor(s, c.vouched(req.Evidence)).AddConstraint(c.ctx(), edit.NewConstraint{Text: req.Text, Entities: req.Entities, Aspect: req.Aspect,
			Scope: req.Scope, Project: req.Project, ExpiresAt: req.ExpiresAt})
		if err != nil {
			return nil, err
		}
		out := ConstraintAnswer{Claim: a.l.View(got.Claim), Dependencies: []middleware.ClaimView{}, Changed: got.Changed}
		for _, d := range got.Dependencies {
			out.Dependencies = append(out.Dependencies, a.l.View(d))
		}
		rep := &reply{body: out, header: map[string]string{"Location": Prefix + "claims/" + got.Claim.ID}}
		if !got.Changed {
			rep.status = http.StatusOK
		}
		return rep, nil
	})
}
