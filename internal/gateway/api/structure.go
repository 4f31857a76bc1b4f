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
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/store"
)

// ConstraintList is a page of all rules, or of those that apply to an entity: its own, then those of
// entities one dependency away.
type ConstraintList struct {
	Constraints []entity.Constraint `json:"constraints"`
	Next        string              `json:"next,omitempty"`
}

// ConstraintRequest is a rule to add.
type ConstraintRequest struct {
	Text      string         `json:"text" jsonschema:"the rule, in one statement"`
	Entities  []string       `json:"entities,omitempty" jsonschema:"what it is about, the primary one first; left out, the text is read. A rule about nothing in particular is in every turn"`
	Aspect    string         `json:"aspect,omitempty" jsonschema:"of the primary entity; left out, the text is read"`
	Scope     ken.Scope      `json:"scope,omitzero" jsonschema:"what it applies to; everything unless something is said"`
	Project   string         `json:"project,omitempty"`
	ExpiresAt time.Time      `json:"expires_at,omitzero"`
	Evidence  []ken.Evidence `json:"evidence,omitempty" jsonschema:"who or what says so; your word unless something is given"`
}

// ConstraintAnswer is the added rule, and the dependencies that its text states.
type ConstraintAnswer struct {
	Claim        inspect.Claim   `json:"claim"`
	Dependencies []inspect.Claim `json:"dependencies"`
	Changed      bool            `json:"changed" jsonschema:"false: all of it was so already"`
}

func constraintRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/constraints", id: "listConstraints", tag: "structure", right: access.Read,
		summary: "List the rules, or those that hold for an entity",
		about:   "List every rule there is. With an entity, those that hold for it: its own, then those of what is one dependency away.",
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
	f, err := c.currentFilter()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		var all []entity.Constraint
		if name := c.text(pEntity); name == "" {
			all, err = entity.Constraints(c.ctx(), s, f, a.entityOptions)
		} else {
			var v entity.View
			v, err = entity.Show(c.ctx(), s, name, f, a.entityOptions)
			all = v.Constraints
		}
		if err != nil {
			return nil, nameField(err, pEntity.name)
		}
		out := ConstraintList{}
		out.Constraints, out.Next, err = page(c, all, func(r *entity.Constraint) position {
			return position{rank: uint8(r.Distance), at: r.CreatedAt.UnixNano(), id: r.ID}
		})
		return &reply{body: out, next: out.Next}, err
	})
}

func (a *API) addConstraint(c *call) (*reply, error) {
	req := c.body.(*ConstraintRequest)
	evidence, err := c.callerEvidence(req.Evidence)
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := c.editor(s, evidence).AddConstraint(c.ctx(), edit.NewConstraint{Text: req.Text, Entities: req.Entities, Aspect: req.Aspect,
			Scope: req.Scope, Project: req.Project, ExpiresAt: req.ExpiresAt})
		if err != nil {
			return nil, err
		}
		out := ConstraintAnswer{Claim: a.l.Operator().View(got.Claim), Dependencies: []inspect.Claim{}, Changed: got.Changed}
		for _, d := range got.Dependencies {
			out.Dependencies = append(out.Dependencies, a.l.Operator().View(d))
		}
		rep := &reply{body: out, header: map[string]string{"Location": Prefix + "claims/" + got.Claim.ID}}
		if !got.Changed {
			rep.status = http.StatusOK
		}
		return rep, nil
	})
}

// DependencyList holds an entity's dependencies and dependents, the strongest first. Without an
// entity, Dependencies holds all there are, sorted by their ends.
type DependencyList struct {
	Entity       string              `json:"entity"`
	Dependencies []entity.Dependency `json:"dependencies"`
	Dependents   []entity.Dependency `json:"dependents"`
}

// DependencyRequest states that one thing depends on another.
type DependencyRequest struct {
	Source   string         `json:"source" jsonschema:"what depends"`
	Type     string         `json:"type" jsonschema:"uses, requires, owned_by, blocks or informs"`
	Target   string         `json:"target" jsonschema:"what it depends on"`
	Strength float64        `json:"strength,omitempty" jsonschema:"0 to 1; 0.5 unless something is said"`
	Evidence []ken.Evidence `json:"evidence,omitempty" jsonschema:"who or what says so; your word unless something is given"`
}

// maxLinks is the maximum number of dependencies in a list, for each direction.
const maxLinks = 1000

func dependencyRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/dependencies", id: "listDependencies", tag: "structure", right: access.Read,
		summary: "List dependencies",
		about: "List what an entity depends on and what depends on it, the strongest first, at most 1000 of each. Without an entity, all dependencies " +
			"are listed, by their ends: each has a source, and there are at most 1000.",
		params: []*param{pEntity, pScope},
		status: http.StatusOK, answer: reflect.TypeFor[DependencyList](), hasETag: true, fails: []problemCode{codeNotFound}, serve: (*API).listDependencies,
	}, {
		method: http.MethodPost, path: "/api/dependencies", id: "addDependency", tag: "structure", right: access.Write,
		summary: "Add a dependency",
		about: "Say that one thing uses, requires, is owned by, blocks or informs another. It is one claim however often it is said: one that is " +
			"there gets the strength and the evidence, one that was removed stands again, for a person.",
		body: reflect.TypeFor[DependencyRequest](), example: `{"source":"payments","type":"requires","target":"ledger"}`,
		status: http.StatusOK, answer: reflect.TypeFor[inspect.Claim](), fails: []problemCode{codeRefused}, serve: (*API).addDependency,
	}, {
		method: http.MethodDelete, path: "/api/dependencies", id: "removeDependency", tag: "structure", right: access.Operate,
		summary: "Remove a dependency",
		about:   "Dispute a dependency: nothing follows it any more. Its claim and its history stay, and adding it again brings it back.",
		params:  []*param{pSource, pRelation, pTarget, pReason},
		status:  http.StatusOK, answer: reflect.TypeFor[inspect.Claim](), fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).removeDependency,
	}}
}

func (a *API) listDependencies(c *call) (*reply, error) {
	f, err := c.currentFilter()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		most := func(o *entity.Options) { o.Links = maxLinks }
		if c.text(pEntity) == "" {
			all, err := entity.Dependencies(c.ctx(), s, f, a.entityOptions, most)
			if err != nil {
				return nil, err
			}
			return withETag(DependencyList{Dependencies: all, Dependents: []entity.Dependency{}})
		}
		v, err := entity.Show(c.ctx(), s, c.text(pEntity), f, a.entityOptions, most)
		if err != nil {
			return nil, nameField(err, pEntity.name)
		}
		return withETag(DependencyList{v.Name, v.Dependencies, v.Dependents})
	})
}

func (a *API) addDependency(c *call) (*reply, error) {
	req := c.body.(*DependencyRequest)
	if err := c.refuseHumanEvidence(req.Evidence); err != nil {
		return nil, err
	}
	evidence, err := c.callerEvidence(req.Evidence)
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		got, err := c.editor(s, evidence).AddDependency(c.ctx(), req.Source, req.Type, req.Target, req.Strength)
		if err != nil {
			return nil, err
		}
		return &reply{body: a.l.Operator().View(got)}, nil
	})
}

func (a *API) removeDependency(c *call) (*reply, error) {
	return a.change(c, func(e *edit.Editor) (ken.Claim, error) {
		return e.RemoveDependency(c.ctx(), c.text(pSource), c.text(pRelation), c.text(pTarget), c.text(pReason))
	})
}

// TaskList is a page of tasks, by their numbers.
type TaskList struct {
	Tasks []task.Task `json:"tasks"`
	Next  string      `json:"next,omitempty"`
}

// TaskRequest is a task to be created.
type TaskRequest struct {
	Title     string    `json:"title" jsonschema:"what is to be done, in one sentence"`
	About     []string  `json:"about,omitempty" jsonschema:"what it is about; left out, the known names in the title"`
	ExpiresAt time.Time `json:"expires_at,omitzero" jsonschema:"when it is no use any more"`
	Scope     ken.Scope `json:"scope,omitzero" jsonschema:"what it applies to; everything unless something is said"`
	Project   string    `json:"project,omitempty"`
}

// TaskChange lists new values for a task's fields; a field that is left out stays unchanged.
type TaskChange struct {
	Status    *task.Status `json:"status,omitempty" jsonschema:"open, in_progress, blocked, done or cancelled"`
	Title     *string      `json:"title,omitempty"`
	About     *[]string    `json:"about,omitempty" jsonschema:"in place of what there was"`
	ExpiresAt *time.Time   `json:"expires_at,omitempty" jsonschema:"0001-01-01T00:00:00Z is never"`
}

func taskRoutes() []*route {
	return []*route{{
		method: http.MethodGet, path: "/api/tasks", id: "listTasks", tag: "tasks", right: access.Read,
		summary: "List tasks", about: "List tasks by their numbers; those that are done or cancelled only when they are asked for.",
		params: []*param{pTaskStatus, pAbout, pScope, pLimit, pCursor},
		status: http.StatusOK, answer: reflect.TypeFor[TaskList](), fails: []problemCode{codeNotFound}, serve: (*API).listTasks,
	}, {
		method: http.MethodPost, path: "/api/tasks", id: "createTask", tag: "tasks", right: access.Write,
		summary: "Create a task", about: "Create an open task. It gets an id such as T-0001.",
		body: reflect.TypeFor[TaskRequest](), example: `{"title":"Move the ledger to PostgreSQL 15","about":["ledger"]}`,
		status: http.StatusCreated, answer: reflect.TypeFor[task.Task](), serve: (*API).createTask,
	}, {
		method: http.MethodGet, path: "/api/tasks/{task}", id: "getTask", tag: "tasks", right: access.Read,
		summary: "Read a task", about: "Read a task as it stands now.",
		status: http.StatusOK, answer: reflect.TypeFor[task.Task](), hasETag: true, fails: []problemCode{codeNotFound}, serve: (*API).getTask,
	}, {
		method: http.MethodPatch, path: "/api/tasks/{task}", id: "updateTask", tag: "tasks", right: access.Write,
		summary: "Change a task",
		about: "Change a task: what is left out stays. Two changes at once are both kept as far as they are about different fields. A task that is " +
			"done or cancelled can only be opened again.",
		body: reflect.TypeFor[TaskChange](), example: `{"status":"in_progress"}`,
		status: http.StatusOK, answer: reflect.TypeFor[task.Task](), fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).updateTask,
	}}
}

// noTask is the error for every id that is not one of the owner's tasks.
func noTask() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "task", Msg: "no such task", Try: "List them with GET /api/tasks."}
}

// taskID returns the path's {task}, which must be a valid task id.
func (c *call) taskID() (string, error) {
	id := c.path["task"]
	if !task.IsID(id) {
		return "", noTask()
	}
	return id, nil
}

func (a *API) listTasks(c *call) (*reply, error) {
	f, err := c.scopeFilter()
	if err != nil {
		return nil, err
	}
	want := edit.TaskFilter{About: c.text(pAbout)}
	for _, s := range c.values(pTaskStatus) {
		want.Statuses = append(want.Statuses, task.Status(s))
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		all, err := edit.New(s, edit.Options{Now: a.o.Now, Scopes: f.Scopes}).Tasks(c.ctx(), want)
		if err != nil {
			return nil, nameField(err, pAbout.name)
		}
		out := TaskList{}
		out.Tasks, out.Next, err = page(c, all, func(t *task.Task) position { return position{at: -int64(task.Number(t.ID)), id: t.ID} })
		return &reply{body: out, next: out.Next}, err
	})
}

func (a *API) createTask(c *call) (*reply, error) {
	req := c.body.(*TaskRequest)
	return c.withStore(func(s store.Engine) (*reply, error) {
		t, err := c.editor(s, nil).CreateTask(c.ctx(), edit.NewTask{Title: req.Title, About: req.About, ExpiresAt: req.ExpiresAt, Scope: req.Scope, Project: req.Project})
		if err != nil {
			return nil, err
		}
		rep, err := withETag(t)
		if err == nil {
			rep.header = map[string]string{"Location": Prefix + "tasks/" + t.ID}
		}
		return rep, err
	})
}

func (a *API) getTask(c *call) (*reply, error) {
	id, err := c.taskID()
	if err != nil {
		return nil, err
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		t, err := c.editor(s, nil).Task(c.ctx(), id)
		if err != nil {
			return nil, gone(err)
		}
		return withETag(t)
	})
}

func (a *API) updateTask(c *call) (*reply, error) {
	id, err := c.taskID()
	if err != nil {
		return nil, err
	}
	req := c.body.(*TaskChange)
	if *req == (TaskChange{}) {
		return nil, invalid("status", "nothing is to be changed", "Give status, title, about or expires_at.")
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		t, err := c.editor(s, nil).UpdateTask(c.ctx(), id, edit.TaskChange{Status: req.Status, Title: req.Title, About: req.About, ExpiresAt: req.ExpiresAt})
		if err != nil {
			return nil, gone(err)
		}
		return &reply{body: t}, nil
	})
}

// gone returns noTask for an ErrNotFound, and other errors unchanged.
func gone(err error) error {
	if errors.Is(err, ken.ErrNotFound) {
		return noTask()
	}
	return err
}
