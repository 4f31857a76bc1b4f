package api

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/store"
)

// EntityList is a page of entities, best first.
type EntityList struct {
	Entities []entity.Hit `json:"entities"`
	Total    int          `json:"total"`
	Next     string       `json:"next,omitempty"`
}

// MergeRequest makes an entity's name another name of a second entity.
type MergeRequest struct {
	Into   string `json:"into" jsonschema:"the entity that it is another name of"`
	Reason string `json:"reason,omitempty"`
}

// RenameRequest gives an entity a new name.
type RenameRequest struct {
	Name string `json:"name" jsonschema:"the new one; the old one keeps working"`
}

// DescribeRequest describes an entity. It has a type, a text or both. A field that is left out stays unchanged.
type DescribeRequest struct {
	Type string `json:"type,omitempty" jsonschema:"person, project, system, tool, concept, skill or unknown"`
	Text string `json:"text,omitempty" jsonschema:"its name as people write it, and what it is, as in Payments: moves the money"`
}

func entityRoutes() []*route {
	alias := func(id, verb, summary, about, example string, body reflect.Type, fails []problemCode, serve func(*API, *call) (*reply, error)) *route {
		return &route{method: http.MethodPost, path: "/api/entities/{name}/" + verb, id: id, tag: "structure", right: access.Operate, summary: summary,
			about: about + " The answer is the claim that says so, with its history.", body: body, example: example, status: http.StatusOK,
			answer: reflect.TypeFor[inspect.Claim](), fails: fails, serve: serve}
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
		status: http.StatusOK, answer: reflect.TypeFor[entity.View](), hasETag: true, fails: []problemCode{codeNotFound}, serve: (*API).getEntity,
	}, {
		method: http.MethodGet, path: "/api/entities/{name}/graph", id: "getEntityGraph", tag: "structure", right: access.Read,
		summary: "Read the graph around an entity",
		about:   "Read what depends on what around an entity, at most 60 nodes: of what does not fit, the nearest and then the strongest is taken.",
		params:  []*param{pScope, pDepth},
		status:  http.StatusOK, answer: reflect.TypeFor[entity.Graph](), hasETag: true, fails: []problemCode{codeNotFound}, serve: (*API).getEntityGraph,
	},
		alias("mergeEntity", "merge", "Merge an entity into another", "Make it another name of a second one: all that is known of either is found under both.",
			`{"into":"payments","reason":"one service"}`, reflect.TypeFor[MergeRequest](), []problemCode{codeNotFound, codeRefused}, (*API).mergeEntity),
		alias("splitEntity", "split", "Split a name off again", "Take back what made it another name of something.",
			`{"reason":"two services after all"}`, reflect.TypeFor[ReasonRequest](), []problemCode{codeNotFound, codeRefused}, (*API).splitEntity),
		{
			method: http.MethodPost, path: "/api/entities/{name}/drop", id: "dropEntity", tag: "structure", right: access.Operate,
			summary: "Take a name off everything, because it is none",
			about: "Take a name off every claim that carries it. The claims stay, with their words and their other names; dependencies and other names " +
				"that the structure has of it are disputed.",
			body: reflect.TypeFor[ReasonRequest](), example: `{"reason":"it is no thing"}`, status: http.StatusOK, answer: reflect.TypeFor[DropView](),
			fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).dropEntity,
		},
		alias("renameEntity", "rename", "Rename an entity", "Give it a new name; the old one keeps working.",
			`{"name":"money mover"}`, reflect.TypeFor[RenameRequest](), []problemCode{codeNotFound, codeRefused, codeExists}, (*API).renameEntity),
		alias("describeEntity", "describe", "Say what an entity is", "Say of which type it is, how people write its name, and what it is.",
			`{"type":"system","text":"Payments: moves the money"}`, reflect.TypeFor[DescribeRequest](), []problemCode{codeRefused}, (*API).describeEntity),
	}
}

// DropView is the answer after a name was dropped.
type DropView struct {
	Changed int `json:"changed" jsonschema:"how many claims carried it"`
}

func (a *API) dropEntity(c *call) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		n, err := c.desk(s).Editor().Drop(c.ctx(), c.path["name"], c.body.(*ReasonRequest).Reason)
		if err != nil {
			return nil, err
		}
		return &reply{body: DropView{n}}, nil
	})
}

// currentFilter returns a filter for current claims within the requested scopes.
func (c *call) currentFilter() (*ken.Filter, error) {
	f, err := c.scopeFilter()
	f.Now = c.api.o.Now().UTC()
	return &f, err
}

// scopeFilter returns a filter for the requested scopes. Unscoped claims belong to each of them.
func (c *call) scopeFilter() (f ken.Filter, err error) {
	f.Unscoped = true
	f.Scopes, err = c.scopes()
	return f, err
}

func (a *API) listEntities(c *call) (*reply, error) {
	from, given, err := c.startPosition()
	if err != nil {
		return nil, err
	}
	f, err := c.currentFilter()
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
			return nil, nameField(err, pName.name)
		}
		out := EntityList{Entities: found.Hits, Total: found.Total}
		if n := skip + len(found.Hits); n < found.Total && len(found.Hits) > 0 {
			out.Next = c.cursor(position{at: -int64(n)})
		}
		return &reply{body: out, next: out.Next}, nil
	})
}

// entityOptions sets the options for showing entities.
func (a *API) entityOptions(o *entity.Options) {
	o.Now, o.DecayDays = a.o.Now, a.l.Config().Knowledge.DecayDays
}

func (a *API) getEntity(c *call) (*reply, error) {
	f, err := c.currentFilter()
	if err != nil {
		return nil, err
	}
	old := c.flag(pSuperseded)
	return c.withStore(func(s store.Engine) (*reply, error) {
		v, err := entity.Show(c.ctx(), s, c.path["name"], f, a.entityOptions, func(o *entity.Options) { o.Superseded = old })
		if err != nil {
			return nil, err
		}
		return withETag(v)
	})
}

func (a *API) getEntityGraph(c *call) (*reply, error) {
	f, err := c.currentFilter()
	if err != nil {
		return nil, err
	}
	depth := c.number(pDepth)
	return c.withStore(func(s store.Engine) (*reply, error) {
		g, err := entity.Neighbourhood(c.ctx(), s, c.path["name"], depth, f, func(o *entity.Options) { o.Now = a.o.Now })
		if err != nil {
			return nil, err
		}
		return withETag(g)
	})
}

// editor returns an editor of the knowledge structure, with a person's authority if the caller has
// the right operate, and an agent's otherwise.
func (c *call) editor(s store.Engine, evidence []ken.Evidence) *edit.Editor {
	if c.operator() {
		return c.desk(s).Editor(evidence...)
	}
	if len(evidence) == 0 {
		evidence = []ken.Evidence{ken.FromAgentAssertion(c.who.Name, "")}
	}
	return edit.New(s, edit.Options{Now: c.api.o.Now, Actor: c.actor(), Evidence: evidence, By: ken.AssignedByModel, Project: c.who.Project, SourceType: "api"})
}

// change runs do and answers with the claim that it wrote.
func (a *API) change(c *call, do func(*edit.Editor) (ken.Claim, error)) (*reply, error) {
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := do(c.editor(s, nil))
		if err != nil {
			return nil, err
		}
		return &reply{body: a.l.Operator().View(got)}, nil
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
	if strings.TrimSpace(req.Type) == "" && strings.TrimSpace(req.Text) == "" {
		return nil, invalid("text", "empty, and so is type", "Say what "+strconv.Quote(printable(c.path["name"], 60))+" is with type, with text or with both.")
	}
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) {
		return e.Describe(c.ctx(), c.path["name"], req.Type, req.Text)
	})
}

// nameField sets the field of an error about a name to the parameter at fault.
func nameField(err error, field string) error {
	if e, ok := errors.AsType[*ken.Error](err); ok && e.Field == "name" {
		own := *e
		own.Field = field
		return &own
	}
	return err
}
