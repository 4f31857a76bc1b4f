package decision

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"
)

// view is one state of all files. It is never changed.
type view struct {
	pages    map[string]*page
	records  []*entry // by number, those without one last, then by path
	byHandle map[string]*entry
	byID     map[string][]*entry
	byPath   map[string]*entry
	homes    map[string]bool // folders of which pages were read
	unread   []Problem       // files and folders that could not be read
	problems []Problem       // with those
	ranking  func() *ranking // for Search
}

// entry is a record with the records that it hangs on.
type entry struct {
	*page
	rec        Record   // with its handle
	successors []*entry // what superseded it, as it or they say; by path
	before     []*entry // what it superseded
	at         int      // place in the view's records
}

func newView(pages map[string]*page, problems []Problem) *view {
	v := &view{pages: pages, byHandle: map[string]*entry{}, byID: map[string][]*entry{}, byPath: map[string]*entry{}, homes: map[string]bool{}, unread: problems, problems: slices.Clone(problems)}
	for _, p := range pages {
		v.homes[home(p.doc.Path)] = true
		if p.isRecord() {
			e := &entry{page: p, rec: p.doc.Record}
			v.records = append(v.records, e)
			v.byPath[e.rec.Path] = e
			v.problems = append(v.problems, p.doc.problems...)
		} else {
			v.problems = append(v.problems, unreadable(p.doc)...)
		}
	}
	slices.SortFunc(v.records, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b2i(a.rec.Number < 0), b2i(b.rec.Number < 0)), cmp.Compare(a.rec.Number, b.rec.Number), cmp.Compare(a.rec.Path, b.rec.Path))
	})
	for i, e := range v.records {
		e.at = i
		v.byID[fold(e.rec.ID.Text)] = append(v.byID[fold(e.rec.ID.Text)], e)
	}
	v.handles()
	v.supersession()
	v.check()
	v.ranking = sync.OnceValue(func() *ranking { return rankingOf(v.records) })
	slices.SortStableFunc(v.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return v
}

// unreadable are the problems of a page that may be a record and can't be read as one.
func unreadable(d *document) []Problem {
	if d.sealed == "" {
		return nil
	}
	return d.problems
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// handles gives records of one ID names of their own: the ID, a slash and the rest of the
// file's name, with folders where even that is taken.
func (v *view) handles() {
	for _, same := range v.byID {
		for _, e := range same {
			e.rec.Handle = e.rec.ID.Text
			if len(same) == 1 {
				continue
			}
			_, _, rest := fromFile(e.rec.Path)
			e.rec.Handle += "/" + rest
			for _, other := range same {
				if _, _, r := fromFile(other.rec.Path); other != e && r == rest {
					e.rec.Handle = e.rec.ID.Text + "/" + strings.TrimSuffix(e.rec.Path, path.Ext(e.rec.Path))
				}
			}
		}
	}
	for _, e := range v.records {
		v.byHandle[fold(e.rec.Handle)] = e
	}
}

// resolve finds the record that a reference of another one means: by its path, also when
// it has moved into the archive or out of it, else by its ID, in the same folder first.
// several says that more than one could be meant.
func (v *view) resolve(from *entry, path, id string) (e *entry, several bool) {
	if path != "" {
		if e := v.at(path); e != nil {
			return e, false
		}
	}
	same := v.byID[fold(id)]
	if len(same) == 1 {
		return same[0], false
	}
	var near []*entry
	for _, e := range same {
		if home(e.rec.Path) == home(from.rec.Path) && e != from {
			near = append(near, e)
		}
	}
	if len(near) == 1 {
		return near[0], false
	}
	return nil, len(same) > 1
}

// at is the record of a path, wherever the archive is concerned.
func (v *view) at(p string) *entry {
	if e := v.byPath[p]; e != nil {
		return e
	}
	dir, base := path.Split(p)
	if e := v.byPath[path.Join(dir, archiveFolder, base)]; e != nil {
		return e
	}
	if path.Base(dir) == archiveFolder {
		return v.byPath[path.Join(path.Dir(path.Clean(dir)), base)]
	}
	return nil
}

// home is the folder of a record, the archive taken for the folder that it is in.
func home(p string) string {
	dir := path.Dir(p)
	if path.Base(dir) == archiveFolder {
		return path.Dir(dir)
	}
	return dir
}

// supersession ties records to what superseded them, whichever of both says so.
func (v *view) supersession() {
	tie := func(old, by *entry) {
		if old != by && !slices.Contains(old.successors, by) {
			old.successors = append(old.successors, by)
			by.before = append(by.before, old)
		}
	}
	for _, e := range v.records {
		for _, ref := range e.rec.SupersededBy {
			if by, _ := v.resolve(e, ref.Path, ref.ID); by != nil && !ref.Partial {
				tie(e, by)
			}
		}
		for _, ref := range e.rec.Supersedes {
			if old, _ := v.resolve(e, ref.Path, ref.ID); old != nil && !ref.Partial {
				tie(old, e)
			}
		}
	}
	order := func(a, b *entry) int { return a.at - b.at }
	for _, e := range v.records {
		if len(e.successors) > 1 {
			slices.SortFunc(e.successors, order)
		}
		if len(e.before) > 1 {
			slices.SortFunc(e.before, order)
		}
	}
}
