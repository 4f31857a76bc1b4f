package objective

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// Link describes a task to mark as done or to add.
type Link struct {
	Task  string // its text, its number from 1, or a part of its text that is unique
	Done  bool   // mark the task as done; otherwise add it
	By    string // who did it; may be empty
	Claim string // id of the task's claim; may be empty
}

// Link marks a task as done or adds one, and returns the objective. A task that is done or exists already is unchanged.
// Errors: ErrNotFound for an unknown objective, or for a task to be marked that does not exist, with the remaining
// tasks; ErrInvalid if several tasks match; ErrRefused for a file that can't be edited.
func (s *Store) Link(ctx context.Context, id string, l Link) (Objective, error) {
	l.Task, l.By, l.Claim = oneLine(l.Task), oneLine(l.By), oneLine(l.Claim)
	return s.edit(ctx, id, func(o *Objective) error {
		if !l.Done {
			if !slices.ContainsFunc(o.Tasks, func(t Task) bool { return strings.EqualFold(t.Text, l.Task) }) {
				o.Tasks = append(o.Tasks, Task{Text: l.Task, Claim: l.Claim})
			}
			return nil
		}
		i, err := o.find(l.Task)
		if err != nil {
			return err
		}
		t := &o.Tasks[i]
		if !t.Done {
			t.Done, t.DoneAt, t.By, t.Claim = true, s.now(), l.By, cmp.Or(l.Claim, t.Claim)
		}
		return nil
	})
}

// find returns the index of a task.
func (o *Objective) find(name string) (int, error) {
	if name == "" {
		return 0, invalid("task", "empty", "Name the task by its text.")
	}
	exact := -1
	var left, part []int
	want := strings.ToLower(name)
	for i, t := range o.Tasks {
		if !t.Done {
			left = append(left, i)
		}
		switch text := strings.ToLower(t.Text); {
		case text != want:
			if strings.Contains(text, want) {
				part = append(part, i)
			}
		case exact < 0, o.Tasks[exact].Done && !t.Done: // of two tasks with the same text, the open one
			exact = i
		}
	}
	if exact >= 0 {
		return exact, nil
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(o.Tasks) {
		return n - 1, nil
	}
	switch {
	case len(part) == 1:
		return part[0], nil
	case len(part) > 1:
		return 0, invalid("task", fmt.Sprintf("%q fits %d tasks", name, len(part)), "Name one of them: "+o.quote(part)+".")
	}
	e := &ken.Error{Code: ken.CodeNotFound, Field: "task", Msg: fmt.Sprintf("%s has no task %q", o.ID, name), Try: "Add it first: nothing remains to be done."}
	if len(left) > 0 {
		e.Try = "What remains is " + o.quote(left) + "."
	}
	return 0, e
}

func (o *Objective) quote(tasks []int) string {
	var names []string
	for _, i := range tasks[:min(len(tasks), 5)] {
		names = append(names, strconv.Quote(o.Tasks[i].Text))
	}
	if len(tasks) > 5 {
		names = append(names, fmt.Sprintf("%d more", len(tasks)-5))
	}
	return strings.Join(names, ", ")
}
