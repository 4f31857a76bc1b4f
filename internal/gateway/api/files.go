package api

import (
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

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

// TaskChange is what is to be changed of a task; what is left out stays.
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
		status: http.StatusOK, answer: reflect.TypeFor[task.Task](), tagged: true, fails: []problemCode{codeNotFound}, serve: (*API).getTask,
	}, {
		method: http.MethodPatch, path: "/api/tasks/{task}", id: "updateTask", tag: "tasks", right: access.Write,
		summary: "Change a task",
		about: "Change a task: what is left out stays. Two changes at once are both kept as far as they are about different fields. A task that is " +
			"done or cancelled can only be opened again.",
		body: reflect.TypeFor[TaskChange](), example: `{"status":"in_progress"}`,
		status: http.StatusOK, answer: reflect.TypeFor[task.Task](), fails: []problemCode{codeNotFound, codeRefused}, serve: (*API).updateTask,
	}}
}

// noTask is the answer to every id that is not one of the owner's tasks.
func noTask() error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "task", Msg: "no such task", Try: "List them with GET /api/tasks."}
}

// taskID is the path's {task}: an id as it is written, and nothing like one.
func (c *call) taskID() (string, error) {
	id := c.path["task"]
	if !task.IsID(id) {
		return "", noTask()
	}
	return id, nil
}

func (a *API) listTasks(c *call) (*reply, error) {
	f, err := c.within()
	if err != nil {
		return nil, err
	}
	want := edit.TaskFilter{About: c.text(pAbout)}
	for _, s := range c.all(pTaskStatus) {
		want.Statuses = append(want.Statuses, task.Status(s))
	}
	return c.withStore(func(s store.Engine) (*reply, error) {
		all, err := edit.New(s, edit.Options{Now: a.o.Now, Scopes: f.Scopes}).Tasks(c.ctx(), want)
		if err != nil {
			return nil, named(err, pAbout.name)
		}
		out := TaskList{}
		out.Tasks, out.Next, err = page(c, all, func(t *task.Task) place { return place{at: -int64(task.Number(t.ID)), id: t.ID} })
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
		rep, err := tagged(t)
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
		return tagged(t)
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

// gone makes the one answer of what is not found.
func gone(err error) error {
	if errors.Is(err, ken.ErrNotFound) {
		return noTask()
	}
	return err
}

// hash gives files of the project the hash that they have now, so that it shows when they
// have changed. One that the caller hashed, or that is of a named repository or commit, is
// left as it is; any other is a name, and so is every file where the project is another
// owner's. Each file is read once, and none for a caller that is gone.
func (c *call) hash(evidence []ken.Evidence) {
	root := c.api.l.RootOf(c.who.Owner)
	if root == "" {
		return
	}
	read := map[string]ken.Evidence{} // by the name that was given; without a hash where there is none
	for i := range evidence {
		e := &evidence[i]
		if e.Kind != ken.EvidenceFile || e.Repo != "" || e.CommitSHA != "" || e.ContentHash != "" || c.ctx().Err() != nil {
			continue
		}
		is, known := read[e.Path]
		if !known {
			is, _ = provenance.Evidence(root, e.Path) // else it is a name
			read[e.Path] = is
		}
		if is.ContentHash != "" {
			e.Path, e.ContentHash = is.Path, is.ContentHash
		}
	}
}
