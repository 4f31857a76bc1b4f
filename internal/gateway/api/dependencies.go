package api

import (
	"net/http"
	"reflect"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// DependencyList is what an entity depends on and what depends on it, the strongest
// first.
type DependencyList struct {
	Entity       string              `json:"entity"`
	Dependencies []entity.Dependency `json:"dependencies"`
	Dependents   []entity.Dependency `json:"dependents"`
}

// DependencyRequest says that one thing depends on another.
type DependencyRequest struct {
	Source   string         `json:"source" jsonschema:"what depends"`
	Type     string         `json:"type" jsonschema:"uses, requires, owned_by, blocks or informs"`
	Target   string         `json:"target" jsonschema:"what it depends on"`
	Strength float64        `json:"strength,omitempty" jsonschema:"0 to 1; 0.5 unless something is said"`
	Evidence []ken.Evidence `json:"evidence,omitempty" jsonschema:"who or what says so; your word unless something is given"`
}

// maxLinks bounds a list of dependencies, of each direction.
const maxLinks = 1000

func dependencyRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/dependencies", id: "listDependencies", tag: "structure", right: access.Read,
		summary: "List the dependencies of an entity",
		about:   "List what an entity depends on and what depends on it, the strongest first, at most 1000 of each.",
		params:  []*param{pEntity, pScope},
		status:  http.StatusOK, answer: reflect.TypeFor[DependencyList](), tagged: true, fails: []problemCode{codeNotFound}, serve: (*API).listDependencies,
	}, {
		method: http.MethodPost, path: "/api/dependencies", id: "addDependency", tag: "structure", right: access.Write,
		summary: "Add a dependency",
		about: "Say that one thing uses, requires, is owned by, blocks or informs another. It is one claim however often it is said: one that is " +
			"there gets the strength and the evidence, one that was removed stands again, for a person.",
		body: reflect.TypeFor[DependencyRequest](), example: `{"source":"payments","type":"requires","target":"ledger"}`,
		status: http.StatusOK, answer: reflect.TypeFor[middleware.ClaimView](), fails: []problemCode{codeRefused}, serve: (*API).addDependency,
	}, {
		method: http.MethodDelete, path: "/api/dependencies", id: "removeDependency", tag: "structure", right: access.Operate,
		summary: "Remove a dependency",
		about:   "Dispute a dependency: nothing follows it any more. Its claim and its history stay, and adding it again brings it back.",
		params:  []*param{pSource, pRelation, pTarget, pReason},
		status:  http.StatusOK, answer: reflect.TypeFor[middleware.ClaimView](), fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).removeDependency,
	}}
}

func (a *API) listDependencies(c *call) (*reply, error) {
	f, err := c.known()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := entity.Show(c.ctx(), s, c.text(pEntity), f, a.entityOptions, func(o *entity.Options) { o.Links = maxLinks })
		if err != nil {
			return nil, named(err, pEntity.name)
		}
		return tagged(DependencyList{v.Name, v.Dependencies, v.Dependents})
	})
}

func (a *API) addDependency(c *call) (*reply, error) {
	req := c.body.(*DependencyRequest)
	if err := c.spoken(req.Evidence); err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := c.editor(s, c.vouched(req.Evidence)).AddDependency(c.ctx(), req.Source, req.Type, req.Target, req.Strength)
		if err != nil {
			return nil, err
		}
		return &reply{body: a.l.View(got)}, nil
	})
}

func (a *API) removeDependency(c *call) (*reply, error) {
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) {
		return e.RemoveDependency(c.ctx(), c.text(pSource), c.text(pRelation), c.text(pTarget), c.text(pReason))
	})
}
