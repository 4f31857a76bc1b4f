package decision

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
)

const childEnv = "KEN_DECISION_CHILD"

// TestChild is run by TestProcesses in other processes. It is not a test of its own.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("it runs as a child of TestProcesses")
	}
	r := openAt(t, dir, Options{})
	for i := range 4 {
		if _, err := r.Create(t.Context(), Draft{Title: fmt.Sprintf("Of process %d, %d", os.Getpid(), i), Decision: "x"}); err != nil {
			t.Error(err)
		}
	}
	// All processes try to supersede the first record: one succeeds, the others get an error.
	if _, _, err := r.SupersedeBy(t.Context(), "0001-first", Draft{Title: fmt.Sprintf("Successor %d", os.Getpid()), Decision: "x"}); err == nil {
		fmt.Println("superseded it")
	}
}

// Concurrent processes never use a number twice, and a record has only one successor.
func TestProcesses(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "docs/adr/0001-first.md", "# 1. First\n\nStatus: accepted\n")
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
	r := openAt(t, dir, Options{})
	list := r.List()
	if want := 1 + 4*processes + 1; len(list) != want || list[want-1].Number != want {
		t.Errorf("%d records", len(list))
	}
	if h, err := r.History("0001-first"); err != nil || len(h) != 2 || h[0].Status != Superseded {
		t.Error(h, err)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Error(p)
	}
}
