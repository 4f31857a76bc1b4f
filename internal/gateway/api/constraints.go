package api

import (
	"errors"
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

// EntityList is a page of entities, best first.
type EntityList struct {
	Entities []entity.Hit `json:"entities"`
	Total    int          `json:"total"`
	Next     string       `json:"next,omitempty"`
}

// MergeRequest makes an entity another name of a second one.
type MergeRequest struct {
	Into   string `json:"into" jsonschema:"the entity that it is another name of"`
	Reason string `json:"reason,omitempty"`
}

// RenameRequest gives an entity a new name.
type RenameRequest struct {
	Name string `json:"name" jsonschema:"the new one; the old one keeps working"`
}

// DescribeRequest says what an entity is; what is left out stays.
type DescribeRequest struct {
	Type string `json:"type,omitempty" jsonschema:"person, project, system, tool, concept, skill or unknown"`
	Text string `json:"text,omitempty" jsonschema:"its name as people write it, and what it is, as in Payments: moves the money"`
}

func entityRoutes() []*route {
	alias := func(id, verb, summary, about, example string, body reflect.Type, fails []problemCode, serve func(*API, *call) (*reply, error)) *route {
		return &route{method: http.MethodPost, path: "/api/entities/{name}/" + verb, id: id, tag: "structure", right: access.Operate, summary: summary,
			about: about + " The answer is the claim that says so, with its history.", body: body, example: example, status: http.StatusOK,
			answer: reflect.TypeFor[middleware.ClaimView](), fails: fails, serve: serve}
	}
	return []*route{{
		method: http.MethodGet, path: "/api/entities", id: "listEntities", tag: "structure", right: access.Read,
		summary: "Find entities",
		about: "Find what something is known about, by a name or a part of it, also when it is misspelled: exact names first, then by how much is known. " +
			"Without a name, all of them. Tasks have a list of their own.",
		params: []*param{pName, pScope, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[EntityList](), serve: (*API).listEntities,
	}, {
		method: http.MethodGet, path: "/api/entities/{name}", id: "getEntity", tag: "structure", right: access.Read,
		summary: "Read what is known of an entity",
		about: "Read what is known of an entity, under any of its names: every rule that holds for it and for what is one dependency away, its " +
			"aspects by weight with their claims, dependencies, tasks, and counts of evidence.",
		params: []*param{pScope, pSuperseded},
		status: http.StatusOK, answer: reflect.TypeFor[entity.View](), tagged: true, fails: []problemCode{codeNotFound}, serve: (*API).getEntity,
	}, {
		method: http.MethodGet, path: "/api/entities/{name}/graph", id: "getEntityGraph", tag: "structure", right: access.Read,
		summary: "Read the graph around an entity",
		about:   "Read what depends on what around an entity, at most 60 nodes: of what does not fit, the nearest and then the strongest is taken.",
		params:  []*param{pScope, pDepth},
		status:  http.StatusOK, answer: reflect.TypeFor[entity.Graph](), tagged: true, fails: []problemCode{codeNotFound}, serve: (*API).getEntityGraph,
	},
		alias("mergeEntity", "merge", "Merge an entity into another", "Make it another name of a second one: all that is known of either is found under both.",
			`{"into":"payments","reason":"one service"}`, reflect.TypeFor[MergeRequest](), []problemCode{codeNotFound, codeRefused}, (*API).mergeEntity),
		alias("splitEntity", "split", "Split a name off again", "Take back what made it another name of something.",
			`{"reason":"two services after all"}`, reflect.TypeFor[ReasonRequest](), []problemCode{codeNotFound, codeRefused}, (*API).splitEntity),
		alias("renameEntity", "rename", "Rename an entity", "Give it a new name; the old one keeps working.",
			`{"name":"money mover"}`, reflect.TypeFor[RenameRequest](), []problemCode{codeNotFound, codeRefused, codeExists}, (*API).renameEntity),
		alias("describeEntity", "describe", "Say what an entity is", "Say of which type it is, how people write its name, and what it is.",
			`{"type":"system","text":"Payments: moves the money"}`, reflect.TypeFor[DescribeRequest](), []problemCode{codeRefused}, (*API).describeEntity),
	}
}

// known is the filter of what stands, within the scopes that were asked for.
func (c *call) known() (*ken.Filter, error) {
	f, err := c.within()
	f.Now = c.api.o.Now().UTC()
	return &f, err
}

// within is a filter with the scopes that were asked for; what has no scope applies
// in each of them.
func (c *call) within() (f ken.Filter, err error) {
	f.Unscoped = true
	for _, text := range c.all(pScope) {
		scope, err := ken.ParseScope(text)
		if err != nil {
			return f, err
		}
		f.Scopes = append(f.Scopes, scope)
	}
	return f, nil
}

func (a *API) listEntities(c *call) (*reply, error) {
	from, given, err := c.after()
	if err != nil {
		return nil, err
	}
	f, err := c.known()
	if err != nil {
		return nil, err
	}
	skip := 0
	if given {
		skip = int(max(-from.at, 0))
	}
	limit := c.number(pLimit)
	return c.withStore(func(s store.Engine) (*reply, error) {
		found, err := entity.SearchFrom(c.ctx(), s, c.text(pName), f, skip, limit)
		if err != nil {
			return nil, named(err, pName.name)
		}
		out := EntityList{Entities: found.Hits, Total: found.Total}
		if n := skip + len(found.Hits); n < found.Total && len(found.Hits) > 0 {
			out.Next = c.cursor(place{at: -int64(n)})
		}
		return &reply{body: out, next: out.Next}, nil
	})
}

// entityOptions sets how entities are shown.
func (a *API) entityOptions(o *entity.Options) {
	o.Now, o.DecayDays = a.o.Now, a.l.Config().Knowledge.DecayDays
}

func (a *API) getEntity(c *call) (*reply, error) {
	f, err := c.known()
	if err != nil {
		return nil, err
	}
	old := c.flag(pSuperseded)
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := entity.Show(c.ctx(), s, c.path["name"], f, a.entityOptions, func(o *entity.Options) { o.Superseded = old })
		if err != nil {
			return nil, err
		}
		return tagged(v)
	})
}

func (a *API) getEntityGraph(c *call) (*reply, error) {
	f, err := c.known()
	if err != nil {
		return nil, err
	}
	depth := c.number(pDepth)
	return c.withStore(func(s store.Engine) (*reply, error) {
		g, err := entity.Neighbourhood(c.ctx(), s, c.path["name"], depth, f, func(o *entity.Options) { o.Now = a.o.Now })
		if err != nil {
			return nil, err
		}
		return tagged(g)
	})
}

// editor changes the structure with the caller's voice: a person's with the right
// operate, an agent's without.
func (c *call) editor(s store.Engine, evidence []ken.Evidence) *edit.Editor {
	if c.operator() {
		return c.desk(s).Editor(evidence...)
	}
	if len(evidence) == 0 {
		evidence = []ken.Evidence{ken.FromAgentAssertion(c.who.Name, "")}
	}
	return edit.New(s, edit.Options{Now: c.api.o.Now, Actor: c.actor(), Evidence: evidence, By: ken.AssignedByModel, Project: c.who.Project, SourceType: "api"})
}

// change answers with the claim that a change of the structure wrote.
func (a *API) change(c *call, do func(*edit.Editor) (ken.Claim, error)) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := do(c.editor(s, nil))
		if err != nil {
			return nil, err
		}
		return &reply{body: a.l.View(got)}, nil
	})
}

func (a *API) mergeEntity(c *call) (*reply, error) {
	req := c.body.(*MergeRequest)
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) { return e.Merge(c.ctx(), c.path["name"], req.Into, req.Reason) })
}

func (a *API) splitEntity(c *call) (*reply, error) {
	req := c.body.(*ReasonRequest)
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) { return e.Split(c.ctx(), c.path["name"], req.Reason) })
}

func (a *API) renameEntity(c *call) (*reply, error) {
	req := c.body.(*RenameRequest)
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) { return e.Rename(c.ctx(), c.path["name"], req.Name) })
}

func (a *API) describeEntity(c *call) (*reply, error) {
	req := c.body.(*DescribeRequest)
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) {
		return e.Describe(c.ctx(), c.path["name"], req.Type, req.Text)
	})
}

// named says of an error of ours in which parameter the fault was.
func named(err error, field string) error {
	var e *ken.Error
	if errors.As(err, &e) && e.Field == "name" {
		own := *e
		own.Field = field
		return &own
	}
	return err
}
