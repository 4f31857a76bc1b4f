package objective

import (
	"slices"
	"strings"
	"testing"
)

// FuzzParse checks every file: no panic, problems have existing lines, and an edit sets the wanted values and keeps the
// rest, or is refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole), "Release")
	f.Add([]byte(strings.ReplaceAll(whole, "\n", "\r\n")), "a: b")
	f.Add([]byte("Title: Ship\nCompletedTasks:\n- a\nRemainingTasks: [b]\nOther:\n  x: y # z\n"), "b")
	f.Add([]byte("title: |\n  a\ntasks:\n  -\n    text: x\n  - {text: y, done: no}\n  - |\n    z\n"), "\"")
	f.Fuzz(func(t *testing.T, src []byte, task string) {
		d := parse("OBJ-0001.yaml", src)
		most := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + 1
		for _, p := range d.problems {
			if p.Line < 0 || p.Line > most || p.Text == "" || p.Try == "" {
				t.Errorf("%+v of %d lines", p, most)
			}
		}
		for _, task := range d.Tasks {
			if task.Line < 1 || task.Line > most || task.Text == "" {
				t.Errorf("%+v of %d lines", task, most)
			}
		}
		Summary([]Objective{d.Objective}, 200)
		if len(d.problems) > 0 {
			return
		}
		want := d.Objective
		want.Tasks = slices.Clone(want.Tasks)
		for i := range want.Tasks {
			if !want.Tasks[i].Done {
				want.Tasks[i].Done, want.Tasks[i].DoneAt, want.Tasks[i].By = true, noon, "a"
				break
			}
		}
		if text := oneLine(task); text != "" {
			want.Tasks = append(want.Tasks, Task{Text: text})
		}
		want.Status, want.Updated = Paused, noon
		want.Sessions = union(want.Sessions, []string{"s-1"})
		if want.validate() != nil {
			return
		}
		now, err := d.edited(&want, "tasks", "links", "status", "updated")
		if err != nil {
			return
		}
		after := parse("OBJ-0001.yaml", now)
		if !same(&after.Objective, &want) || len(after.problems) > 0 || !keepsUnknownFields(d, after) {
			t.Errorf("%q became %q", src, now)
		}
	})
}
