package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// entitiesPerPage is how many entities a list shows at once. maxDescribed is how many
// descriptions are searched for a type: the type is stored in the description and not
// indexed.
const (
	entitiesPerPage = 50
	maxDescribed    = 500
	maxSkipped      = 100_000
)

// entitiesBody holds the data of the list of entities.
type entitiesBody struct {
	Question string
	Type     string
	Types    []choice
	Hits     []entity.Hit
	Total    int
	Most     bool // there may be more of this type
	Next     string
	Describe []string // the types that a new entity may have
}

func entitiesPage(v *visit) error {
	q := v.r.URL.Query()
	b := entitiesBody{Question: strings.TrimSpace(q.Get("q")), Type: q.Get("type"), Describe: describableTypes()}
	if !slices.Contains(b.Describe, b.Type) {
		b.Type = ""
	}
	b.Types = []choice{{Name: "all", Path: withoutParam(v, "type"), Here: b.Type == ""}}
	for _, t := range b.Describe {
		b.Types = append(b.Types, choice{Name: t, Path: withParam(v.r.URL, "type", t), Here: t == b.Type})
	}
	skip := v.intParam("before", 0, 0, maxSkipped)
	err := v.withStore(func(s store.Engine) error {
		var found entity.Matches
		var err error
		if b.Type == "" {
			found, err = entity.SearchFolded(v.ctx(), s, b.Question, v.currentFilter(), skip, entitiesPerPage)
		} else {
			found, b.Most, err = v.ofType(s, b.Type, b.Question, skip)
		}
		b.Hits, b.Total = found.Hits, found.Total
		return err
	})
	if err != nil {
		return err
	}
	if n := skip + len(b.Hits); n < b.Total && len(b.Hits) > 0 {
		b.Next = withParam(v.r.URL, "before", strconv.Itoa(n))
	}
	return v.page("entities", page{Title: "Entities", Section: secStructure, Tab: "Entities", Live: []string{liveClaims}, Body: b})
}

// currentFilter selects the valid claims in every scope.
func (v *visit) currentFilter() *ken.Filter { return &ken.Filter{Unscoped: true, Now: v.now().UTC()} }

// describableTypes lists the types that a user may set.
func describableTypes() []string {
	return slices.DeleteFunc(entity.Types(), func(t string) bool { return t == entity.Unknown || t == task.Type })
}

// ofType finds entities described as of a type, sorted by name. part, if set, must be
// contained in the name. more says that older descriptions were not searched.
func (v *visit) ofType(s store.Engine, typ, part string, skip int) (found entity.Matches, more bool, err error) {
	found.Hits = []entity.Hit{}
	f := v.currentFilter()
	f.Kinds = []ken.Kind{ken.KindEntity}
	newest, err := s.Newest(v.ctx(), f, maxDescribed)
	if err != nil {
		return found, false, err
	}
	if part != "" {
		if part, err = entity.Spell(part); err != nil {
			return found, false, nil //nolint:nilerr // an invalid name matches nothing
		}
	}
	displays := map[string]string{}
	for _, h := range newest.Hits {
		c, err := s.Claim(v.ctx(), h.Ref)
		if errors.Is(err, ken.ErrNotFound) {
			continue
		}
		if err != nil {
			return found, false, err
		}
		if c.Aspect != typ || len(c.Entities) == 0 {
			continue
		}
		name, err := entity.Spell(c.Entities[0])
		if err != nil || displays[name] != "" || !strings.Contains(name, part) {
			continue
		}
		displays[name] = displayed(c.Text, name)
		found.Hits = append(found.Hits, entity.Hit{Name: name, Display: displays[name], Type: typ, Match: entity.MatchPart})
	}
	found.Total = len(found.Hits)
	slices.SortFunc(found.Hits, func(a, b entity.Hit) int { return strings.Compare(a.Name, b.Name) })
	found.Hits = found.Hits[min(skip, found.Total):min(skip+entitiesPerPage, found.Total)]
	return found, len(newest.Hits) == maxDescribed, v.countHits(v.ctx(), s, found.Hits)
}

// displayed returns an entity's name as its description writes it, such as "Payments:
// moves the money".
func displayed(text, name string) string {
	first, _, _ := strings.Cut(text, ":")
	if s, err := entity.Spell(first); err == nil && s == name {
		return strings.TrimSpace(first)
	}
	return name
}

func (v *visit) countHits(ctx context.Context, s store.Engine, hits []entity.Hit) error {
	names := mapped(hits, func(h *entity.Hit) string { return h.Name })
	outlines, err := s.Outlines(ctx, names, v.currentFilter(), store.OutlineOptions{Aspects: 1, Top: 1, Links: 1})
	if err != nil {
		return err
	}
	for i := range outlines {
		hits[i].Records, hits[i].Constraints = outlines[i].Records, len(outlines[i].Constraints)
	}
	return nil
}

// tasksPerPage is how many tasks a list shows at once. tasksRead is how many are read to
// find them, because a task's status is not indexed.
const (
	tasksPerPage = 50
	tasksRead    = 400
)

type tasksBody struct {
	Tasks  []taskLine
	States []choice
	All    bool
	Next   string
}

// tasksPage lists tasks, newest first: the open ones, unless the address names a status
// or all.
func tasksPage(v *visit) error {
	state := v.param("state")
	b := tasksBody{All: state == "all"}
	b.States = []choice{{Name: "not over", Path: withoutParam(v, "state"), Here: true}, {Name: "all", Path: withParam(v.r.URL, "state", "all"), Here: b.All}}
	for _, s := range task.Statuses() {
		name := taskLineOf(&task.Task{Body: task.Body{Status: s}}).State
		b.States = append(b.States, choice{Name: name, Path: withParam(v.r.URL, "state", string(s)), Here: state == string(s)})
	}
	b.States[0].Here = !slices.ContainsFunc(b.States[1:], func(c choice) bool { return c.Here })
	wanted := func(t *task.Task) bool {
		switch {
		case b.All:
			return true
		case b.States[0].Here:
			return !t.Status.Over()
		}
		return string(t.Status) == state
	}
	err := v.withStore(func(s store.Engine) error {
		ids, err := v.taskNames(s)
		if err != nil {
			return err
		}
		return v.tasksFrom(s, &b, ids, wanted)
	})
	if err != nil {
		return err
	}
	return v.page("entity_tasks", page{Title: "Tasks", Section: secStructure, Tab: "Entities", Live: []string{liveClaims}, Body: b})
}

// taskNames returns the names of the tasks before the one in the address, newest first.
func (v *visit) taskNames(s store.Engine) (names []string, err error) {
	before, _ := strconv.ParseUint(v.param("before"), 10, 64)
	numbers := map[string]uint64{}
	for n, err := range s.Names(v.ctx(), v.currentFilter()) {
		if err != nil {
			return nil, err
		}
		if id, is := task.IDOf(n.Name); is && (before == 0 || task.Number(id) < before) {
			numbers[n.Name] = task.Number(id)
			names = append(names, n.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(numbers[b], numbers[a]) })
	return names, nil
}

// tasksFrom reads tasks until the page is full or the limit is reached.
func (v *visit) tasksFrom(s store.Engine, b *tasksBody, names []string, wanted func(*task.Task) bool) error {
	const some = 50
	for at := 0; at < len(names); at += some {
		end := min(at+some, len(names))
		var read []task.Task
		for t, err := range entity.Tasks(v.ctx(), s, names[at:end], v.currentFilter(), v.now()) {
			if err != nil {
				return err
			}
			if slices.Contains(names[at:end], task.Name(t.ID)) { // a claim of a task, not one that only mentions tasks
				read = append(read, t)
			}
		}
		slices.Reverse(read)
		for i := range read {
			if wanted(&read[i]) {
				b.Tasks = append(b.Tasks, taskLineOf(&read[i]))
			}
		}
		if end < len(names) && (len(b.Tasks) >= tasksPerPage || end >= tasksRead) {
			if id, is := task.IDOf(names[end-1]); is {
				b.Next = withParam(v.r.URL, "before", strconv.FormatUint(task.Number(id), 10))
			}
			return nil
		}
	}
	return nil
}
