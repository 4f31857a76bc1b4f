package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/console/consoletest"
)

func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--claims", "3", "--seed", "5", "--now", "2026-06-03T09:30:00Z", dir}, &out); err != nil {
		t.Fatal(err)
	}
	var p consoletest.Project
	if err := json.Unmarshal(out.Bytes(), &p); err != nil || p.Dir != dir || p.Keys.Operator == "" || len(p.Claims) < 50 || len(p.Turns) < 40 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{nil, {dir}, {"a", "b"}, {"--now", "today", dir + "2"}} {
		if err := run(t.Context(), args, &out); err == nil {
			t.Errorf("%q is fine", args)
		}
	}
}
