// Package evaldata finds the evaluation data, which is no part of the repository,
// for the tests that measure with it.
package evaldata

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir is the folder of one data set, in the folder that KEN_DATA names, else in
// ../shared/data beside the project. Without it, the test is skipped and says so.
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

// project is the nearest folder upwards that has a go.mod: a test runs in its
// package's folder.
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
