package edit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// NewTask is a task to create. Only Title is required.
type NewTask struct {
	Title string
	// About is what the task is about; if it is empty, the known names in the title.
	About     []string
	ExpiresAt time.Time
	Retention time.Duration // how long it is kept once it is closed; 0 means the editor's, < 0 for ever

	Scope   ken.Scope // zero means the editor's
	Project string    // "" means the editor's
}

// maxTitle is the maximum length of a task's title, in code points.
const maxTitle = 1000

// CreateTask creates an open task with a new id. Errors: ErrInvalid; the store's.
func (e *Editor) CreateTask(ctx context.Context, n NewTask) (task.Task, error) {
	at := e.in(n.Scope, n.Project)
	title, err := titleOf(n.Title)
	if err != nil {
		return task.Task{}, err
	}
	c := at.newClaim(ken.KindEntity, "", title, at.evidence(nil))
	if err := c.Validate(); err != nil {
		return task.Task{}, err
	}
	about, names, err := spellEach("about", n.About)
	if err != nil {
		return task.Task{}, err
	}
	if len(about) == 0 {
		about, names = at.mentioned(&c)
	}
	b := body{Body: task.Body{Status: task.Open, ExpiresAt: utc(n.ExpiresAt), About: about}, Keep: keepOf(n.Retention)}
	id, err := at.newTaskID(ctx)
	if err != nil {
		return task.Task{}, err
	}
	// The key of a task does not depend on its scope, because ids are unique for an
	// owner.
	c.Key, c.Aspect, c.Entities = task.Key(id), task.Type, append([]string{task.Name(id)}, names...)
	return at.writeTask(ctx, c, b)
}

// body is the stored body of a task, with its retention if that is not the default.
type body struct {
	task.Body
	Keep *time.Duration `json:"keep,omitempty"` // in nanoseconds; < 0 for ever
}

func keepOf(d time.Duration) *time.Duration {
	if d == 0 {
		return nil
	}
	return &d
}

func (e *Editor) writeTask(ctx context.Context, c ken.Claim, b body) (task.Task, error) {
	var err error
	c.ExpiresAt = b.RetentionUntil // then it is no longer found, and garbage collection archives it
	if c.Importance = 0.5; b.Status.Over() {
		c.Importance = 0 // so that turns skip it without reading it
	}
	if c.Body, err = json.Marshal(b); err != nil {
		return task.Task{}, err
	}
	if c, err = e.writeOne(ctx, c); err != nil {
		return task.Task{}, err
	}
	t, ok := task.Of(c, e.now())
	if !ok {
		return t, &ken.Error{Code: ken.CodeCorrupt, Msg: "claim " + c.ID + " is no task any more", Try: "Look at the claim and its history."}
	}
	return t, nil
}

func titleOf(s string) (string, error) {
	title := oneLine(s)
	switch {
	case title == "":
		return "", invalid("title", "is empty", "Say in a sentence what is to be done.")
	case len([]rune(title)) > maxTitle:
		return "", invalid("title", "has more than "+strconv.Itoa(maxTitle)+" characters", "Say in a sentence what is to be done, and learn the rest as facts.")
	}
	return title, nil
}

// spellEach returns the names as given and in normalised form, each once. An error names
// the field that held them.
func spellEach(field string, given []string) (shown, spelled []string, err error) {
	for _, g := range given {
		s, err := spell(field, g)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(spelled, s) {
			shown, spelled = append(shown, oneLine(g)), append(spelled, s)
		}
	}
	return shown, spelled, nil
}

// mentioned returns the known names in a task's title. A title alone creates no
// entity.
func (e *Editor) mentioned(c *ken.Claim) (shown, spelled []string) {
	read := reading.Read(c, e.source())
	for _, m := range read.Entities {
		spelled = append(spelled, m.Name)
	}
	var kept []string
	for i, known := range e.source().Known(spelled) {
		if known {
			kept = append(kept, spelled[i])
		}
	}
	return slices.Clone(kept), kept
}

// newTaskID returns the owner's next task id. The id of a task that is then not
// written stays unused.
func (e *Editor) newTaskID(ctx context.Context) (string, error) {
	least := uint64(0)
	for {
		var n uint64
		if err := e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
			last, _ := strconv.ParseUint(string(tx.Get(shelfTask)), 10, 64) // 0 if there is none
			n = max(last, least) + 1
			return tx.Put(shelfTask, strconv.AppendUint(nil, n, 10))
		}); err != nil {
			return "", err
		}
		_, err := e.s.ByKey(ctx, task.Key(task.ID(n)))
		if errors.Is(err, ken.ErrNotFound) {
			return task.ID(n), nil
		}
		if err != nil {
			return "", err
		}
		// There are tasks with higher numbers, for example from an import: continue
		// after them.
		if least, err = e.lastTask(ctx); err != nil {
			return "", err
		}
		least = max(least, n)
	}
}

func (e *Editor) lastTask(ctx context.Context) (last uint64, err error) {
	for n, err := range e.source().Names(ctx, &ken.Filter{Statuses: ken.Statuses()}) {
		if err != nil {
			return 0, err
		}
		if id, ok := task.IDOf(n.Name); ok {
			last = max(last, task.Number(id))
		}
	}
	return last, nil
}

// TaskChange lists new values for a task's fields; nil leaves a field unchanged.
type TaskChange struct {
	Status    *task.Status
	Title     *string
	About     *[]string
	ExpiresAt *time.Time // zero is never
	Retention *time.Duration
}

// UpdateTask changes a task. Of two concurrent changes, in any processes, both are
// kept as far as they concern different fields. Errors: ErrInvalid; ErrNotFound;
// ErrRefused for a change of status that task.Check forbids; the store's.
func (e *Editor) UpdateTask(ctx context.Context, id string, change TaskChange) (task.Task, error) {
	id, err := task.ParseID(id)
	if err != nil {
		return task.Task{}, err
	}
	return exclusive(ctx, e, "task/"+id, func(ctx context.Context) (task.Task, error) {
		have, err := e.Task(ctx, id)
		if err != nil {
			return have, err
		}
		return e.change(ctx, have, change)
	})
}

func (e *Editor) change(ctx context.Context, have task.Task, change TaskChange) (task.Task, error) {
	c, b := have.Claim, body{Body: have.Body}
	var kept struct {
		Keep *time.Duration `json:"keep"`
	}
	if json.Unmarshal(c.Body, &kept) == nil {
		b.Keep = kept.Keep
	}
	if change.Title != nil {
		title, err := titleOf(*change.Title)
		if err != nil {
			return have, err
		}
		if title != c.Text { // a new title has the evidence of its author
			c.Text, c.Evidence = title, e.evidence(nil)
		}
	}
	if change.About != nil {
		about, names, err := spellEach("about", *change.About)
		if err != nil {
			return have, err
		}
		b.About, c.Entities = about, append([]string{task.Name(have.ID)}, names...)
	}
	if change.ExpiresAt != nil {
		b.ExpiresAt = utc(*change.ExpiresAt)
	}
	if change.Retention != nil {
		b.Keep = keepOf(*change.Retention)
	}
	if change.Status != nil {
		if err := task.Check(have.Status, *change.Status); err != nil {
			return have, err
		}
		b.Status = *change.Status
	}
	e.complete(&b, have.Status)
	c.Actor, c.UpdatedAt, c.Supersedes = e.o.Actor, e.now(), ""
	return e.writeTask(ctx, c, b)
}

// complete sets the times that follow from a task's status.
func (e *Editor) complete(b *body, was task.Status) {
	b.RetentionUntil = time.Time{}
	if !b.Status.Over() {
		b.CompletedAt = time.Time{}
		return
	}
	if !was.Over() || b.CompletedAt.IsZero() {
		b.CompletedAt = e.now()
	}
	keep := DefaultRetention
	if b.Keep != nil {
		keep = *b.Keep
	}
	if keep >= 0 {
		b.RetentionUntil = b.CompletedAt.Add(keep)
	}
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Round(0).UTC()
}

// Task returns a task by its id. Errors: ErrInvalid; ErrNotFound, with the newest id.
func (e *Editor) Task(ctx context.Context, id string) (task.Task, error) {
	id, err := task.ParseID(id)
	if err != nil {
		return task.Task{}, err
	}
	c, err := e.s.ByKey(ctx, task.Key(id))
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return task.Task{}, err
	}
	if err == nil && e.isVisible(&c) {
		if t, ok := task.Of(c, e.now()); ok {
			return t, nil
		}
	}
	return task.Task{}, &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "there is no task " + id, Try: "List the tasks to see which there are."}
}

// TaskFilter selects tasks. The zero value selects all open ones.
type TaskFilter struct {
	Statuses []task.Status // nil means all that are not closed
	About    string        // only tasks about this entity, under any of its names
	Expired  *bool         // only tasks that are expired (true) or are not (false); nil means both
	Contains string        // only tasks with this text in their title, in any case
}

// Tasks lists tasks by number. Errors: ErrInvalid; ErrNotFound for an unknown entity,
// with the nearest names; the store's.
func (e *Editor) Tasks(ctx context.Context, want TaskFilter) ([]task.Task, error) {
	for _, s := range want.Statuses {
		if !s.Valid() {
			return nil, task.Check(task.Open, s)
		}
	}
	f := e.filter()
	var names []string
	if want.About != "" {
		found, err := entity.Resolve(ctx, e.source(), want.About, f)
		if err != nil {
			return nil, err
		}
		for i := range found {
			names = append(names, found[i].Names()...)
		}

	}
	out := []task.Task{}
	for t, err := range entity.Tasks(ctx, e.source(), names, f, e.now()) {
		if err != nil {
			return nil, err
		}
		if matchesFilter(&t, &want) {
			out = append(out, t)
		}
	}
	return out, nil
}

func matchesFilter(t *task.Task, want *TaskFilter) bool {
	switch {
	case want.Statuses == nil && t.Status.Over(),
		want.Statuses != nil && !slices.Contains(want.Statuses, t.Status),
		want.Expired != nil && t.Expired != *want.Expired,
		!strings.Contains(strings.ToLower(t.Title), strings.ToLower(want.Contains)):
		return false
	}
	return true
}
