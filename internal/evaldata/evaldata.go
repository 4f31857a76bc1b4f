// Package evaldata finds the evaluation data, which is not part of the repository, for
// tests that use it.
package evaldata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the folder of one data set, in the folder that KEN_DATA names, or else in
// ../shared/data next to the project. If it does not exist, the test is skipped.
func Dir(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("KEN_DATA")
	if root == "" {
		root = filepath.Join(project(t), "..", "shared", "data")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no folder %s: set KEN_DATA to the folder that has it", dir)
	}
	return dir
}

// project returns the nearest parent folder with a go.mod: a test runs in its package's
// folder.
func project(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
