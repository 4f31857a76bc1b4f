package repository

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken/internal/projectfile"
)

// workTree is the git work tree that a folder lies in.
type workTree struct {
	top    string // absolute; "" outside any work tree
	prefix string // from top to the folder, slash-separated with a slash at its end; "" at the top
	gitDir string // where info/exclude lies, shared between linked work trees
}

// findWorkTree looks from root, an absolute path, upwards.
func findWorkTree(root string) workTree {
	for at := root; ; at = filepath.Dir(at) {
		mark := filepath.Join(at, ".git")
		if info, err := os.Stat(mark); err == nil {
			rel, err := filepath.Rel(at, root)
			if err != nil {
				return workTree{}
			}
			w := workTree{top: at, gitDir: mark}
			if rel != "." {
				w.prefix = filepath.ToSlash(rel) + "/"
			}
			if !info.IsDir() {
				w.gitDir = linkedGitDir(at, mark)
			}
			return w
		}
		if at == filepath.Dir(at) {
			return workTree{}
		}
	}
}

// linkedGitDir follows the file that stands for the git folder in a submodule or
// a linked work tree.
func linkedGitDir(top, mark string) string {
	dir, ok := pointer(mark, "gitdir: ", top)
	if !ok {
		return mark
	}
	if common, ok := pointer(filepath.Join(dir, "commondir"), "", dir); ok {
		return common
	}
	return dir
}

const maxPointer = 64 << 10

// pointer reads a file that holds one path, relative to base unless absolute.
func pointer(name, prefix, base string) (string, bool) {
	data, err := projectfile.ReadFile(name, maxPointer)
	if err != nil {
		return "", false
	}
	p, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return p, ok
}

// ignoreStack reads the ignore files that apply from above root: the work tree's
// info/exclude, then those of each folder from its top down to root's parent.
func (w workTree) ignoreStack() []patterns {
	if w.top == "" {
		return nil
	}
	stack := []patterns{{list: readPatterns(filepath.Join(w.gitDir, "info", "exclude"), false)}}
	for base, rest := "", w.prefix; rest != ""; {
		dir := filepath.Join(w.top, filepath.FromSlash(base))
		list := readPatterns(filepath.Join(dir, gitIgnore), false)
		list = append(list, readPatterns(filepath.Join(dir, kenIgnore), true)...)
		stack = append(stack, patterns{base: base, list: list})
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		base += name + "/"
	}
	return stack
}

// readPatterns reads an ignore file; one that can't be read says nothing.
func readPatterns(name string, own bool) []pattern {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return parsePatterns(string(data), own)
}
