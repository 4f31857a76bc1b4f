package repository

import (
	"fmt"
	"os"
	"path/filepath"
)

// rootMarks make a folder a project's root.
var rootMarks = []string{".ken", ".git", "go.mod"}

// FindRoot returns the absolute path of the nearest folder from dir upwards that
// holds .ken, .git or go.mod, and of dir itself when none does.
func FindRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find root: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, mark := range rootMarks {
			if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}
