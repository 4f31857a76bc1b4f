package objective

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Draft is a new objective. Title must not be empty.
type Draft struct {
	Title       string
	Description string
	Owner       string
	Tags        []string
	Decisions   []string
	Sessions    []string
	Tasks       []string // tasks to be done
}

// Create writes a new objective with the next free id. Errors: ErrInvalid, with the field.
func (s *Store) Create(ctx context.Context, d Draft) (Objective, error) {
	now := s.now()
	o := Objective{Title: oneLine(d.Title), Description: strings.TrimSpace(d.Description), Status: Active, Owner: oneLine(d.Owner), Tags: distinctLines(d.Tags),
		Decisions: distinctLines(d.Decisions), Sessions: distinctLines(d.Sessions), Created: now, Updated: now}
	for _, t := range distinctLines(d.Tasks) {
		o.Tasks = append(o.Tasks, Task{Text: t})
	}
	if err := o.validate(); err != nil {
		return Objective{}, err
	}
	err := s.withLock(ctx, func() (projectfile.Change, error) {
		n, err := s.next()
		if err != nil {
			return projectfile.Change{}, err
		}
		o.ID = spellID(n)
		o.Path = path.Join(s.o.Folder, o.ID+".yaml")
		text := render(&o)
		got := parse(o.Path, text)
		if len(got.problems) > 0 || !same(&got.Objective, &o) {
			return projectfile.Change{}, invalid("", "the objective would not be read as intended", "Remove control characters from the texts.")
		}
		o = got.Objective
		return projectfile.Change{Path: o.Path, Now: text}, nil
	})
	return o, err
}

// next returns the next free number, based on the names of all files, including unreadable ones.
func (s *Store) next() (int, error) {
	entries, err := s.files.List(s.o.Folder)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		n = max(n, numberOf(strings.TrimSuffix(e.Name, path.Ext(e.Name))))
		if yamlFile(e.Name) {
			if f, err := s.files.Read(path.Join(s.o.Folder, e.Name), 2*maxFile); err == nil {
				n = max(n, numberOf(parse(e.Name, f.Bytes).ID))
			}
		}
	}
	return n + 1, nil
}

// Update lists new values for fields; nil leaves a field unchanged.
type Update struct {
	Title, Description, Owner *string
	Status                    *Status
	Tags                      []string // replaces the tags if not nil
	AddDecisions, AddSessions []string // added to the present ones
	Tasks                     []Task   // replaces all tasks if not nil; Done marks those that are done
	Remaining                 []string // replaces the open tasks if not nil; not together with Tasks
}

// Update changes an objective and returns it. Errors: ErrNotFound, ErrInvalid, and ErrRefused for a file that can't be
// edited and is not changed.
func (s *Store) Update(ctx context.Context, id string, u Update) (Objective, error) {
	return s.edit(ctx, id, func(o *Objective) error {
		set := func(to, from *string) {
			if from != nil {
				*to = oneLine(*from)
			}
		}
		set(&o.Title, u.Title)
		set(&o.Owner, u.Owner)
		if u.Description != nil {
			o.Description = strings.TrimSpace(*u.Description)
		}
		if u.Status != nil {
			o.Status = *u.Status
		}
		if u.Tags != nil {
			o.Tags = distinctLines(u.Tags)
		}
		o.Decisions = union(o.Decisions, u.AddDecisions)
		o.Sessions = union(o.Sessions, u.AddSessions)
		if u.Tasks != nil {
			o.Tasks = nil
			for _, t := range u.Tasks {
				t.Text, t.By, t.Claim, t.Line = oneLine(t.Text), oneLine(t.By), oneLine(t.Claim), 0
				t.DoneAt = t.DoneAt.UTC().Truncate(time.Second)
				o.Tasks = append(o.Tasks, t)
			}
		} else if u.Remaining != nil {
			o.Tasks = replaceRemaining(o.Tasks, distinctLines(u.Remaining))
		}
		return nil
	})
}

// replaceRemaining returns the done tasks followed by new open ones. An open task with the same text keeps its fields.
func replaceRemaining(tasks []Task, texts []string) []Task {
	out := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return !t.Done })
	for _, text := range texts {
		t := Task{Text: text}
		if i := slices.IndexFunc(tasks, func(was Task) bool { return !was.Done && strings.EqualFold(was.Text, text) }); i >= 0 {
			t = tasks[i]
		}
		out = append(out, t)
	}
	return out
}

// edit applies do to the present content of one objective's file.
func (s *Store) edit(ctx context.Context, id string, do func(*Objective) error) (o Objective, err error) {
	err = s.withLock(ctx, func() (projectfile.Change, error) {
		d, err := s.find(ctx, id)
		if err != nil {
			return projectfile.Change{}, err
		}
		if err := d.editable(); err != nil {
			return projectfile.Change{}, err
		}
		o = d.copy()
		if err := do(&o); err != nil {
			return projectfile.Change{}, err
		}
		if err := o.validate(); err != nil {
			return projectfile.Change{}, err
		}
		what := changedKeys(&d.Objective, &o)
		if len(what) == 0 {
			o = d.copy()
			return projectfile.Change{}, nil
		}
		o.Updated = s.now()
		text, err := d.edited(&o, append(what, "updated")...)
		if err != nil {
			return projectfile.Change{}, err
		}
		o = parse(d.Path, text).Objective
		return projectfile.Change{Path: d.Path, Was: d.src, Now: text}, nil
	})
	if err != nil {
		return Objective{}, err
	}
	return o, nil
}

// changedKeys returns the keys whose lines differ.
func changedKeys(a, b *Objective) (out []string) {
	for _, k := range order {
		if keyLines(a, k) != keyLines(b, k) {
			out = append(out, k)
		}
	}
	return out
}

// maxTries is the number of attempts for an edit, in case a program that ignores the lock, such as an editor, changes
// the file at the same time.
const maxTries = 3

// withLock runs a change of files under the lock between processes.
func (s *Store) withLock(ctx context.Context, do func() (projectfile.Change, error)) (err error) {
	release, err := s.files.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	for range maxTries {
		c, err := do()
		if err != nil || c.Path == "" {
			return err
		}
		err = s.files.Commit(c)
		s.forget()
		if err == nil || !errors.Is(err, ken.ErrUnavailable) && !errors.Is(err, ken.ErrExists) {
			return err
		}
	}
	return &ken.Error{Code: ken.CodeUnavailable, Msg: "the file keeps changing", Try: "Find out who writes it, and try again."}
}

// now returns the present time in the precision of the files.
func (s *Store) now() time.Time { return s.o.Now().UTC().Truncate(time.Second) }

func (o *Objective) validate() error {
	switch {
	case o.Title == "":
		return invalid("title", "empty", "Name the objective in a few words.")
	case utf8.RuneCountInString(o.Title) > maxTitle:
		return invalid("title", fmt.Sprintf("%d characters; at most %d", utf8.RuneCountInString(o.Title), maxTitle), "Put the rest into the description.")
	case utf8.RuneCountInString(o.Description) > maxDescription:
		return invalid("description", fmt.Sprintf("%d characters; at most %d", utf8.RuneCountInString(o.Description), maxDescription), "Keep long texts in files of their own.")
	case !o.Status.Valid():
		return invalid("status", fmt.Sprintf("unknown status %q", o.Status), "Use active, paused, done or abandoned.")
	case len(o.Tasks) > maxTasks:
		return invalid("tasks", fmt.Sprintf("%d tasks; at most %d", len(o.Tasks), maxTasks), "Split it into several objectives.")
	case len(o.Tags) > maxNames, len(o.Decisions) > maxNames, len(o.Sessions) > maxNames:
		return invalid("", fmt.Sprintf("more than %d names in a list", maxNames), "Keep those that matter.")
	}
	for _, t := range append([]string{o.Title, o.Description, o.Owner}, slices.Concat(o.Tags, o.Decisions, o.Sessions)...) {
		if !utf8.ValidString(t) {
			return invalid("", "a text is not valid UTF-8", "Convert it to UTF-8 first.")
		}
	}
	for i, t := range o.Tasks {
		field := fmt.Sprintf("tasks[%d]", i)
		switch {
		case t.Text == "":
			return invalid(field, "empty", "Say what is to be done.")
		case utf8.RuneCountInString(t.Text) > maxText:
			return invalid(field, fmt.Sprintf("%d characters; at most %d", utf8.RuneCountInString(t.Text), maxText), "Put the rest into the description.")
		case !utf8.ValidString(t.Text + t.By + t.Claim):
			return invalid(field, "not valid UTF-8", "Convert it to UTF-8 first.")
		}
	}
	return nil
}

// distinctLines makes each entry one line, and removes empty ones and duplicates.
func distinctLines(list []string) []string { return union(nil, list) }

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if s = oneLine(s); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
