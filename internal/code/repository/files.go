package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// File is a file as its folder describes it.
type File struct {
	Path    string // from the root, with slashes
	Size    int64  // bytes
	ModTime time.Time

	// Skip says why Index leaves the file out although nobody asked it to: ReasonTooLarge,
	// or ReasonGenerated for its name. Empty for the others.
	Skip Reason
}

// Tree is the files below a folder that Index looks at: by the same ignore files,
// conventions and rules for secrets. Files with other reasons against them than
// File.Skip has are counted and left out.
type Tree struct {
	Files    []File         // by path
	Skipped  map[Reason]int // as Report.Skipped; those in Files with a Skip included
	Withheld []Withheld     // by path; what its name says to be secret

	root *os.Root
}

// Files looks for the files below the folder root. With paths, which are from the root
// and have slashes, it looks only at these, and below those that are folders; a path
// that is not there, or that leads out of the root or into what is left out, yields
// nothing. Of the options, MaxFileBytes, Include and Exclude count.
//
// Folders that can't be listed are counted as ReasonUnreadable; the error is
// ken.ErrInvalid for options or a root that can't be, or that of ctx. Close the tree
// when nothing is read any more.
func Files(ctx context.Context, root string, o Options, paths ...string) (*Tree, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	work := findWorkTree(dir)
	w := newWalker(ctx, r, work.prefix, o)
	w.keep = true
	if len(paths) > 0 {
		w.only = newSelection(paths)
	}
	if err := w.walk(".", work.ignoreStack()); err != nil {
		_ = r.Close() // it was only read
		return nil, fmt.Errorf("walk the repository: %w", err)
	}
	t := &Tree{Skipped: w.skipped, Withheld: w.withheld, root: r, Files: make([]File, len(w.files))}
	for i, f := range w.files {
		t.Files[i] = File{f.path, f.size, f.modTime, f.skip}
	}
	slices.SortFunc(t.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(t.Withheld, func(a, b Withheld) int { return strings.Compare(a.Path, b.Path) })
	return t, nil
}

// openRoot opens a folder that nothing leads out of, and returns its absolute path
// without links.
func openRoot(root string) (string, *os.Root, error) {
	dir, err := filepath.Abs(root)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	var r *os.Root
	if err == nil {
		r, err = os.OpenRoot(dir)
	}
	if err != nil {
		return "", nil, &ken.Error{Code: ken.CodeInvalid, Field: "root", Msg: "can't be opened as a folder",
			Try: "Name an existing folder that you may read.", Err: err}
	}
	return dir, r, nil
}

// Close lets go of the folder.
func (t *Tree) Close() error { return t.root.Close() }

// Content is what a file held when it was read.
type Content struct {
	Bytes   []byte // the first of them, as many as were asked for; the caller's
	Size    int64  // of all of it, bytes
	Hash    string // of all of it, as evidence has it: "sha256:" and hex
	ModTime time.Time
}

// Read reads a file of the tree and keeps its first limit bytes. The time is from
// before the reading: a write meanwhile shows the next time. Errors are those of the
// file system, and fs.ErrInvalid for what is no regular file. It is safe for concurrent
// use.
func (t *Tree) Read(path string, limit int64) (c Content, err error) {
	f, err := t.root.Open(filepath.FromSlash(path))
	if err != nil {
		return c, err
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	if !info.Mode().IsRegular() {
		return c, fmt.Errorf("read %s: %w", path, fs.ErrInvalid)
	}
	c.ModTime = info.ModTime().UTC()
	var b bytes.Buffer
	b.Grow(int(max(min(info.Size(), limit), 0)) + bytes.MinRead)
	if _, err = b.ReadFrom(io.LimitReader(f, limit)); err != nil {
		return c, err
	}
	c.Bytes = b.Bytes()
	h := sha256.New()
	h.Write(c.Bytes)
	rest := int64(0)
	if int64(len(c.Bytes)) >= limit { // else that was all, as in most files
		rest, err = io.Copy(h, f)
	}
	c.Size = int64(len(c.Bytes)) + rest
	c.Hash = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return c, err
}

// selection is which paths a walk looks at: some, and what is below them.
type selection struct {
	asked map[string]bool
	above map[string]bool // the folders that lead there
}

func newSelection(paths []string) *selection {
	s := &selection{asked: map[string]bool{}, above: map[string]bool{}}
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if p == "." {
			s.asked[p] = true
			continue
		}
		if !fs.ValidPath(p) {
			continue
		}
		s.asked[p] = true
		for i := range p {
			if p[i] == '/' {
				s.above[p[:i]] = true
			}
		}
	}
	return s
}

// leadsTo reports whether a walk has to do with an entry of a folder.
func (s *selection) leadsTo(rel string) bool {
	if s == nil || s.asked["."] || s.above[rel] || s.asked[rel] {
		return true
	}
	for i := range rel {
		if rel[i] == '/' && s.asked[rel[:i]] {
			return true
		}
	}
	return false
}
