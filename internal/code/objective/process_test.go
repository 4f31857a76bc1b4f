package objective

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

const childEnv = "KEN_OBJECTIVE_CHILD"

// TestChild is run by TestProcesses in other processes. It is not a test of its own.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("it runs as a child of TestProcesses")
	}
	s := open(t, dir)
	if _, err := s.Create(t.Context(), Draft{Title: "Of a process"}); err != nil {
		t.Error(err)
	}
	for i := range 5 {
		if _, err := s.Link(t.Context(), "OBJ-0001", Link{Task: fmt.Sprintf("%d of %d", i, os.Getpid())}); err != nil {
			t.Error(err)
		}
		if _, err := s.Link(t.Context(), "OBJ-0001", Link{Task: fmt.Sprintf("%d of %d", i, os.Getpid()), Done: true, By: "x"}); err != nil {
			t.Error(err)
		}
	}
}

// After concurrent edits by several processes, no edit is lost.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "OBJ-0001.yaml", "# kept\ntitle: Ship\n")
	const processes = 3
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
			cmd.Env = append(os.Environ(), childEnv+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	s := open(t, dir)
	list, problems, err := s.List(t.Context())
	if err != nil || len(problems) > 0 || len(list) != 1+processes || list[processes].ID != fmt.Sprintf("OBJ-%04d", 1+processes) {
		t.Error(len(list), problems, err)
	}
	if p := list[0].Progress(); p != (Progress{5 * processes, 5 * processes}) {
		t.Error(p)
	}
}

// After concurrent edits by agents in many processes, each with its own store, no task is lost, and no id is used
// twice.
func TestAtOnce(t *testing.T) {
	const agents, each = 4, 6
	var tasks []string
	for i := range agents * each {
		tasks = append(tasks, fmt.Sprintf("task %02d", i))
	}
	s, dir := project(t, nil)
	if _, err := s.Create(t.Context(), Draft{Title: "Ship", Tasks: tasks}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for a := range agents {
		own := open(t, dir)
		wg.Go(func() {
			for i := range each {
				if _, err := own.Link(t.Context(), "1", Link{Task: tasks[a*each+i], Done: true, By: fmt.Sprint("agent-", a)}); err != nil {
					t.Error(err)
				}
				if _, err := own.Link(t.Context(), "1", Link{Task: fmt.Sprintf("new %d-%d", a, i)}); err != nil {
					t.Error(err)
				}
			}
			if _, err := own.Create(t.Context(), Draft{Title: fmt.Sprint("Of ", a)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	o, problems, err := s.Read(t.Context(), "1")
	if p := o.Progress(); err != nil || len(problems) > 0 || p != (Progress{agents * each, 2 * agents * each}) {
		t.Error(p, problems, err)
	}
	list, problems, err := s.List(t.Context())
	if err != nil || len(problems) > 0 || len(list) != agents+1 || list[agents].ID != fmt.Sprintf("OBJ-%04d", agents+1) {
		t.Error(len(list), problems, err)
	}
	if slices.ContainsFunc(o.Tasks, func(t Task) bool { return t.Done && t.By == "" }) {
		t.Error("somebody's name is lost")
	}
}
