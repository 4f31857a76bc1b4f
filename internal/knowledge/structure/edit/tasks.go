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

// NewTask is a task to be created. All but the title may be zero.
type NewTask struct {
	Title string
	// About is what it is about; when empty, the names in the title that are known.
	About     []string
	ExpiresAt time.Time
	Retention time.Duration // how long it is kept once it is over; 0 is the editor's, < 0 for ever

	Scope   ken.Scope // zero is the editor's
	Project string    // "" is the editor's
}

// maxTitle bounds a task's title, in code points: what is longer is a document.
const maxTitle = 1000

// CreateTask creates an open task with an id of its own. Errors: ErrInvalid; the
// store's.
func (e *Editor) CreateTask(ctx context.Context, n NewTask) (task.Task, error) {
	at := *e
	if !n.Scope.IsZero() {
		at.o.Scope = n.Scope
	}
	if n.Project != "" {
		at.o.Project = n.Project
	}
	title, err := titleOf(n.Title)
	if err != nil {
		return task.Task{}, err
	}
	c := at.newClaim(ken.KindEntity, "", title, at.evidence(nil))
	if err := c.Validate(); err != nil {
		return task.Task{}, err
	}
	about, names, err := aboutOf(n.About)
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
	// A task has one key whatever its scope: its id is the owner's.
	c.Key, c.Aspect, c.Entities = task.Key(id), task.Type, append([]string{task.Name(id)}, names...)
	return at.writeTask(ctx, c, b)
}

// body is what the editor keeps of a task: its body, and how long it is to be kept
// where that differs from the default.
type body struct {
	task.Body
	Keep *time.Duration `json:"keep,omitempty"` // nanoseconds; < 0 for ever
}

func keepOf(d time.Duration) *time.Duration {
	if d == 0 {
		return nil
	}
	return &d
}

func (e *Editor) writeTask(ctx context.Context, c ken.Claim, b body) (task.Task, error) {
	var err error
	c.ExpiresAt = b.RetentionUntil // from then on it is no longer found, and garbage collection archives it
	if c.Importance = 0.5; b.Status.Over() {
		c.Importance = 0 // so that turns pass it over unread
	}
	if c.Body, err = json.Marshal(b); err != nil {
		return task.Task{}, err
	}
	out, _, err := e.write(ctx, c)
	if err != nil {
		return task.Task{}, err
	}
	t, ok := task.Of(out[0], e.now())
	if !ok {
		return t, &ken.Error{Code: ken.CodeCorrupt, Msg: "claim " + out[0].ID + " is no task any more", Try: "Look at the claim and its history."}
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

// aboutOf are names as they were given and as they are spelled, each once.
func aboutOf(given []string) (shown, spelled []string, err error) {
	for _, g := range given {
		s, err := spell("about", g)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(spelled, s) {
			shown, spelled = append(shown, oneLine(g)), append(spelled, s)
		}
	}
	return shown, spelled, nil
}

// mentioned are the known names in a task's title: a title alone makes no entity.
func (e *Editor) mentioned(c *ken.Claim) (shown, spelled []string) {
	read := reading.Read(c, e.source())
	for _, m := range read.Entities {
		spelled = append(spelled, m.Name)
	}
	known := e.source().Known(spelled)
	kept := spelled[:0]
	for i, n := range spelled {
		if i < len(known) && known[i] {
			kept = append(kept, n)
		}
	}
	return slices.Clone(kept), kept
}

// newTaskID draws the next number of the owner's. One that is drawn for a task that is
// never written is left out.
func (e *Editor) newTaskID(ctx context.Context) (string, error) {
	least := uint64(0)
	for {
		var n uint64
		if err := e.s.Shelf().Update(ctx, func(tx store.ShelfTx) error {
			last, _ := strconv.ParseUint(string(tx.Get(shelfTask)), 10, 64) // 0 when there is none
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
		// Tasks came in otherwise, such as by an import: go on behind them.
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

// UpdateTask changes a task. Of two changes at once, in any processes, both are kept
// as far as they are about different fields. Errors: ErrInvalid; ErrNotFound;
// ErrRefused for a step that task.Check forbids; the store's.
func (e *Editor) UpdateTask(ctx context.Context, id string, change TaskChange) (task.Task, error) {
	id, err := task.ParseID(id)
	if err != nil {
		return task.Task{}, err
	}
	var out task.Task
	err = e.exclusive(ctx, "task/"+id, func(ctx context.Context) error {
		have, err := e.Task(ctx, id)
		if err != nil {
			return err
		}
		out, err = e.change(ctx, have, change)
		return err
	})
	return out, err
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
		if title != c.Text { // other words are whose they are
			c.Text, c.Evidence = title, e.evidence(nil)
		}
	}
	if change.About != nil {
		about, names, err := aboutOf(*change.About)
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

// complete sets the times that follow from a task's state.
func (e *Editor) complete(b *body, was task.Status) {
	if !b.Status.Over() {
		b.CompletedAt, b.RetentionUntil = time.Time{}, time.Time{}
		return
	}
	if !was.Over() || b.CompletedAt.IsZero() {
		b.CompletedAt = e.now()
	}
	keep := e.o.Retention
	if b.Keep != nil {
		keep = *b.Keep
	}
	b.RetentionUntil = time.Time{}
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

// Task returns a task by its id. Errors: ErrInvalid; ErrNotFound, with the newest one.
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

// TaskFilter says which tasks are wanted. The zero value wants all that are not over.
type TaskFilter struct {
	Statuses []task.Status // nil is all that are not over
	About    string        // only those that are about this entity, under any of its names
	Expired  *bool         // only those that are expired, or are not
	Contains string        // only those whose title has these words, in any case
}

// Tasks lists tasks by their numbers. Errors: ErrInvalid; ErrNotFound for an entity
// that is not known, with the nearest names; the store's.
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
