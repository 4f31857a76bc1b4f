package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/trust"
)

// manyFiles is how many files of a folder that is no project are read without asking.
const manyFiles = 2000

// tooWide says why the files of the folder at hand are not read without a word from the
// user; nil when they are. What is no project may be all that somebody has.
func tooWide(r *config.Resolved) *ken.Error {
	if _, err := os.Lstat(filepath.Join(r.Root, ".ken", "config.yaml")); err == nil {
		return nil // ken init wrote it, or a repository has it
	}
	const try = "Go to a project's folder, or run ken init here to make this one."
	if trust.IsHome(r.Root) {
		return &ken.Error{Code: ken.CodeRefused, Msg: r.Root + " is a home folder, or holds one: Ken does not read its files by itself", Try: try}
	}
	if repository.IsProject(r.Root) || files(r.Root) <= manyFiles {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("%s is no project, and has more than %d files", r.Root, manyFiles), Try: try}
}

// mayRead returns an error unless the files of the folder at hand may be read. On a
// terminal it asks where that is in doubt; a home folder is not read for a "yes" alone.
func (a *app) mayRead() error {
	r, err := a.resolve()
	if err != nil || a.readable || !r.Config.Repository.Index && !r.Config.Middleware.Graph {
		return err
	}
	wide := tooWide(r)
	if wide != nil && (trust.IsHome(r.Root) || !isTerminal(a.in)) {
		return wide
	}
	if wide != nil {
		fmt.Fprintf(a.err, "%s.\n", cell(wide.Msg))
		if err := a.agree("Read them all?", "Nothing was read."); err != nil {
			return err
		}
	}
	a.readable = true
	return nil
}

// readNothing is for processes that stay and can't ask: where mayRead would refuse, they
// work without the folder's files, keep their state elsewhere, and say so.
func readNothing(r *config.Resolved, say func(string)) error {
	wide := tooWide(r)
	if wide == nil {
		return nil
	}
	say(wide.Msg + ", so its files are not read. " + wide.Try)
	r.Config.Repository.Index, r.Config.Middleware.Graph = false, false
	return r.Elsewhere()
}

// files counts the files below a folder, as far as it matters whether there are many.
func files(root string) int {
	n, seen := 0, 0
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what can't be read is not counted
		seen++
		switch {
		case n > manyFiles || seen > 20*manyFiles:
			n = max(n, manyFiles+1)
			return fs.SkipAll
		case err != nil:
			return nil
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Type().IsRegular():
			n++
		}
		return nil
	})
	return n
}
