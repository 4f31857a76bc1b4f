package decision

import (
	"context"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Archive moves a record that is superseded, deprecated or rejected into a folder named
// archive beside it. Links that lead to it from other pages in the folders of decisions,
// and those that lead from it to elsewhere, are changed to lead there still; not a byte
// else changes. It stays in every list and search, marked. Errors: ErrNotFound, ErrRefused for a
// record that still holds, and for files that can't be edited.
func (r *Registry) Archive(ctx context.Context, name string) (Record, error) {
	var to string
	err := r.writing(ctx, func(v *view) ([]projectfile.Change, error) {
		e, err := v.find(name)
		if err != nil {
			return nil, err
		}
		from := e.rec.Path
		if to = from; e.rec.Archived {
			return nil, nil
		}
		switch e.rec.Status {
		case Superseded, Deprecated, Rejected:
		default:
			return nil, &ken.Error{Code: ken.CodeRefused, Field: "status", Msg: e.rec.Handle + " still holds: its status is " + quote(string(e.rec.Status)),
				Try: "Supersede it, or call it deprecated or rejected, first."}
		}
		if err := e.doc.editable(); err != nil {
			return nil, err
		}
		to = path.Join(path.Dir(from), archiveFolder, path.Base(from))
		return v.move(e, to)
	})
	if err != nil {
		return Record{}, err
	}
	return r.at(to)
}

// move are the changes that bring a record to another path, with all links.
func (v *view) move(e *entry, to string) ([]projectfile.Change, error) {
	from := e.rec.Path
	own := relink(e.doc, func(target string) string {
		return relative(path.Dir(to), target)
	})
	changes := []projectfile.Change{{Path: to, Now: applied(e.doc.src, own)}}
	if got := parse(to, changes[0].Now); got.Status != e.rec.Status || len(got.Sections) != len(e.rec.Sections) {
		return nil, &ken.Error{Code: ken.CodeRefused, Field: from, Msg: "its links can't be changed without changing what it says", Try: "Move it by hand."}
	}
	var others []string
	for p := range v.pages {
		if p != from {
			others = append(others, p)
		}
	}
	slices.Sort(others)
	for _, p := range others {
		d := v.pages[p].doc
		edits := relink(d, func(target string) string {
			if target == from {
				return relative(path.Dir(p), to)
			}
			return ""
		})
		if len(edits) == 0 {
			continue
		}
		if err := d.editable(); err != nil {
			return nil, err
		}
		changes = append(changes, projectfile.Change{Path: p, Was: d.src, Now: applied(d.src, edits)})
	}
	return append(changes, projectfile.Change{Path: from, Was: e.doc.src}), nil
}

func relative(dir, target string) string {
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(target))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}

// relink changes where links lead. to gives the new target for the path from the root to
// which a link leads now, and "" to leave it. What stands in code is left, and a title, a
// query or an anchor behind the path stays.
func relink(d *document, to func(target string) string) (edits []edit) {
	dir := folderOf(d.Path)
	var code fence
	for _, l := range d.lines {
		if l.to > len(d.src) || code.step(l.text) || !strings.Contains(l.text, "](") && !strings.Contains(l.text, "]:") {
			continue
		}
		change := func(from, end int) {
			target := l.text[from:end]
			u, err := url.Parse(target)
			if err != nil {
				return
			}
			p := local(dir, target)
			if p == "" {
				return
			}
			now := to(p)
			if now == "" || now == path.Clean(u.Path) {
				return
			}
			if strings.HasPrefix(target, "./") && !strings.HasPrefix(now, "../") {
				now = "./" + now
			}
			rest := len(target)
			if at := strings.IndexAny(target, "?#"); at >= 0 {
				rest = at
			}
			now = strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: now}).EscapedPath())
			edits = append(edits, edit{l.from + from, l.from + from + rest, now})
		}
		shown := codeSpan.ReplaceAllStringFunc(l.text, func(s string) string { return strings.Repeat(" ", len(s)) })
		for _, m := range linkMarkup.FindAllStringSubmatchIndex(shown, -1) {
			change(m[4], m[5])
		}
		if m := definition.FindStringSubmatchIndex(l.text); m != nil {
			change(m[2], m[3])
		}
	}
	return edits
}
