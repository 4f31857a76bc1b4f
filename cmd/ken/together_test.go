package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// processIn runs a command line in a process of its own: testscript.Main puts this
// binary on the path by the name of ken.
func processIn(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ken", args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func projectDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".ken"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Seven processes learn at once, while one holds the folder and others look on:
// none is told that the store is locked, and all seven claims are there.
func TestSevenProcessesLearnAtOnce(t *testing.T) {
	dir := projectDir(t)
	hold := exec.CommandContext(t.Context(), "ken", "import", "-")
	hold.Dir = dir
	in, err := hold.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ids := make([]string, 7)
	for i := range ids {
		wg.Go(func() {
			out, errs, err := processIn(t, dir, "learn", "--json", fmt.Sprintf("process %d saw ship number %d", i, i))
			var learned struct{ ID string }
			if err == nil {
				err = json.Unmarshal([]byte(out), &learned)
			}
			if err != nil || learned.ID == "" || strings.Contains(errs, "held") {
				t.Errorf("learn %d: %v\n%s%s", i, err, out, errs)
			}
			ids[i] = learned.ID
		})
	}
	for _, args := range [][]string{{"recall", "ship"}, {"export"}, {"verify-log"}, {"jobs"}, {"doctor"}, {"sessions"}, {"attention"}, {"index"}, {"knowledge", "gc", "--apply"}} {
		wg.Go(func() {
			if out, errs, err := processIn(t, dir, args...); err != nil || strings.Contains(out+errs, "held by") {
				t.Errorf("%v: %v\n%s%s", args, err, out, errs)
			}
		})
	}
	wg.Wait()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := hold.Wait(); err != nil {
		t.Errorf("the holder ended with %v", err)
	}
	out, errs, err := processIn(t, dir, "recall", "--json", "--limit", "50", "ship number")
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	for i, id := range ids {
		if !strings.Contains(out, id) {
			t.Errorf("the claim of process %d is not found:\n%s", i, out)
		}
	}
	// One forgets while another learns, and each sees what the other did.
	wg.Go(func() {
		if out, errs, err := processIn(t, dir, "forget", "--yes", ids[0]); err != nil {
			t.Errorf("forget: %v\n%s%s", err, out, errs)
		}
	})
	wg.Go(func() {
		if out, errs, err := processIn(t, dir, "learn", "The eighth ship is late."); err != nil {
			t.Errorf("learn: %v\n%s%s", err, out, errs)
		}
	})
	wg.Wait()
	if out, _, err := processIn(t, dir, "recall", "--json", "--limit", "50", "ship number late"); err != nil || strings.Contains(out, ids[0]) || !strings.Contains(out, "eighth") {
		t.Errorf("%v\n%s", err, out)
	}
}
