package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// rootMarks make a folder a project's root.
var rootMarks = []string{".ken", ".git", "go.mod"}

// projectFiles make a folder a project that is no root to FindRoot, because such files
// lie in the folders of projects too.
var projectFiles = []string{"package.json", "Cargo.toml", "pyproject.toml", "setup.py", "pom.xml", "build.gradle", "build.gradle.kts", "CMakeLists.txt",
	"Makefile", "composer.json", "Gemfile", "mix.exs", "WORKSPACE", "MODULE.bazel", "go.work", ".hg", ".svn", ".jj"}

// IsProject reports whether something in root, as FindRoot returned it, says that it is
// a project.
func IsProject(root string) bool {
	return slices.ContainsFunc(slices.Concat(rootMarks, projectFiles), func(mark string) bool {
		_, err := os.Lstat(filepath.Join(root, mark))
		return err == nil
	})
}

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
