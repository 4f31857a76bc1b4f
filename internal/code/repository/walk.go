package repository

import (
	"context"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	gitIgnore = ".gitignore"
	kenIgnore = ".kenignore" // the same notation, for the index alone; stronger than .gitignore beside it

	maxIgnoreFile = 1 << 20 // bytes; a larger ignore file is a mistake
)

// file is a candidate for indexing, as its folder describes it.
type file struct {
	path    string
	size    int64
	modTime time.Time
	skip    Reason // as File.Skip
}

// walker finds the files under a root. It asks for folders and files through
// os.Root, so a link that appears while it walks leads nowhere else.
type walker struct {
	ctx              context.Context
	root             *os.Root
	prefix           string // from the work tree's top to the root
	o                Options
	include, exclude []patterns
	only             *selection // nil for everything
	keep             bool       // too large and generated ones among the files, too
	skipped          map[Reason]int
	withheld         []Withheld
	files            []file
}

func newWalker(ctx context.Context, root *os.Root, prefix string, o Options) *walker {
	w := &walker{ctx: ctx, root: root, prefix: prefix, o: o, skipped: map[Reason]int{}}
	for _, p := range []struct {
		to    *[]patterns
		lines []string
	}{{&w.include, o.Include}, {&w.exclude, o.Exclude}} {
		if len(p.lines) > 0 {
			*p.to = []patterns{{base: prefix, list: parsePatterns(strings.Join(p.lines, "\n"), false)}}
		}
	}
	return w
}

// walk visits the folder rel, "." for the root. below are the ignore files that
// apply from above.
func (w *walker) walk(rel string, below []patterns) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.root.FS(), rel)
	if err != nil {
		if rel == "." {
			return err
		}
		w.skipped[ReasonUnreadable]++
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if rel != "." {
		if reason := inside(entries); reason != "" {
			w.skipped[reason]++
			return nil
		}
	}
	stack := w.descend(rel, entries, below)
	for _, e := range entries {
		if err := w.entry(path.Join(rel, e.Name()), e, names, stack); err != nil {
			return err
		}
	}
	return nil
}

// inside says why a folder is skipped by what it holds.
func inside(entries []fs.DirEntry) Reason {
	for _, e := range entries {
		switch {
		case e.Name() == ".git" && !e.IsDir():
			return ReasonNested
		case e.Name() == cacheTag && e.Type().IsRegular(), e.Name() == "pyvenv.cfg" && e.Type().IsRegular():
			return ReasonGenerated
		}
	}
	return ""
}

// descend adds the ignore files of a folder to those above it.
func (w *walker) descend(rel string, entries []fs.DirEntry, below []patterns) []patterns {
	p := patterns{base: w.prefix}
	if rel != "." {
		p.base += rel + "/"
	}
	for _, name := range []string{gitIgnore, kenIgnore} {
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.Type().IsRegular() })
		if i < 0 {
			continue
		}
		if data, err := readFile(w.root, path.Join(rel, name), maxIgnoreFile); err == nil {
			p.list = append(p.list, parsePatterns(string(data.content), name == kenIgnore)...)
		}
	}
	if p.list == nil {
		return below
	}
	return append(slices.Clip(below), p)
}

func (w *walker) entry(rel string, e fs.DirEntry, siblings []string, stack []patterns) error {
	name := e.Name()
	if ownFolders[name] || !w.only.leadsTo(rel) { // .git may be a file
		return nil
	}
	if reason := w.skip(rel, e, siblings, stack); reason != "" {
		w.skipped[reason]++
		return nil
	}
	if e.IsDir() {
		return w.walk(rel, stack)
	}
	info, err := e.Info()
	if err != nil {
		w.skipped[ReasonUnreadable]++
		return nil //nolint:nilerr // it is counted
	}
	reason := ReasonTooLarge
	if info.Size() <= w.o.MaxFileBytes {
		reason = fileConvention(name, info.Size())
	}
	if reason != "" {
		w.skipped[reason]++
	}
	if reason == "" || w.keep && (reason == ReasonTooLarge || reason == ReasonGenerated) {
		w.files = append(w.files, file{rel, info.Size(), info.ModTime().UTC(), reason})
	}
	return nil
}

// skip says why an entry is left out by its name, its type and the patterns.
func (w *walker) skip(rel string, e fs.DirEntry, siblings []string, stack []patterns) Reason {
	full := w.prefix + rel
	verdict, own := match(stack, full, e.IsDir())
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return ReasonSymlink
	case !e.IsDir() && !e.Type().IsRegular(), strings.ContainsFunc(rel, unicode.IsControl), strings.HasPrefix(rel, commitPrefix):
		return ReasonIrregular
	case !utf8.ValidString(rel):
		return ReasonNotUTF8
	case verdict == ignored:
		return ReasonIgnored
	}
	if v, _ := match(w.exclude, full, e.IsDir()); v == ignored {
		return ReasonExcluded
	}
	if e.IsDir() {
		if verdict == wanted && own {
			return ""
		}
		return folderConvention(e.Name(), siblings)
	}
	if v, _ := match(w.include, full, false); w.include != nil && v != ignored {
		return ReasonExcluded
	}
	if secretFile(rel) {
		w.withheld = append(w.withheld, Withheld{Path: rel, What: "file name"})
		return ReasonSecret
	}
	return ""
}
