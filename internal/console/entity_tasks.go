package console

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// tasksPerPage is how many tasks a list shows at once, and tasksRead how many are looked
// at for that: their states stand in the tasks themselves.
const (
	tasksPerPage = 50
	tasksRead    = 400
)

// tasksBody is the list of tasks.
type tasksBody struct {
	Tasks  []taskLine
	States []choice
	All    bool
	Next   string
}

// tasksPage lists tasks, the newest first: those that are not over, unless the address
// asks for a state or for all.
func tasksPage(v *visit) error {
	state := v.text("state")
	b := tasksBody{All: state == "all"}
	b.States = []choice{{Name: "not over", Path: without(v, "state"), Here: true}, {Name: "all", Path: with(v.r.URL, "state", "all"), Here: b.All}}
	for _, s := range task.Statuses() {
		name := taskLineOf(task.Task{Body: task.Body{Status: s}}).State
		b.States = append(b.States, choice{Name: name, Path: with(v.r.URL, "state", string(s)), Here: state == string(s)})
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

// taskNames are the names of the tasks before the one of the address, the newest first.
func (v *visit) taskNames(s store.Engine) (names []string, err error) {
	before, _ := strconv.ParseUint(v.text("before"), 10, 64)
	numbers := map[string]uint64{}
	for n, err := range s.Names(v.ctx(), v.stands()) {
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

// tasksFrom reads tasks until the page is full, or enough were looked at.
func (v *visit) tasksFrom(s store.Engine, b *tasksBody, names []string, wanted func(*task.Task) bool) error {
	const some = 50
	for at := 0; at < len(names); at += some {
		end := min(at+some, len(names))
		var read []task.Task
		for t, err := range entity.Tasks(v.ctx(), s, names[at:end], v.stands(), v.now()) {
			if err != nil {
				return err
			}
			if slices.Contains(names[at:end], task.Name(t.ID)) { // and is not one that is about these
				read = append(read, t)
			}
		}
		slices.Reverse(read)
		for i := range read {
			if wanted(&read[i]) {
				b.Tasks = append(b.Tasks, taskLineOf(read[i]))
			}
		}
		if end < len(names) && (len(b.Tasks) >= tasksPerPage || end >= tasksRead) {
			if id, is := task.IDOf(names[end-1]); is {
				b.Next = with(v.r.URL, "before", strconv.FormatUint(task.Number(id), 10))
			}
			return nil
		}
	}
	return nil
}
