package decision

import (
	"context"
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/projectfile"
)

// writing runs what changes files, alone among all processes, on what the files say now.
func (r *Registry) writing(ctx context.Context, do func(v *view) ([]projectfile.Change, error)) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	release, err := r.files.Lock(ctx, lockName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := r.refresh(ctx); err != nil {
		return err
	}
	changes, err := do(r.view.Load())
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c projectfile.Change) bool {
		return c.Was != nil && c.Now != nil && string(c.Was) == string(c.Now)
	})
	if err := r.files.Commit(changes...); err != nil {
		return err
	}
	var written []string
	for _, c := range changes {
		written = append(written, c.Path)
	}
	_, err = r.refresh(ctx, written...)
	return err
}

// Create writes a new record in the form of MADR 4 with the next free number of all
// folders, and returns it. Errors: ErrInvalid for the draft.
func (r *Registry) Create(ctx context.Context, d Draft) (Record, error) {
	if err := r.ready(&d); err != nil {
		return Record{}, err
	}
	var at string
	err := r.writing(ctx, func(v *view) ([]projectfile.Change, error) {
		c, err := r.newFile(v, &d)
		at = c.Path
		return []projectfile.Change{c}, err
	})
	if err != nil {
		return Record{}, err
	}
	return r.at(at)
}

// Import creates a record from the form for JSON. Its ID is kept when it is free, its
// status whatever it is.
func (r *Registry) Import(ctx context.Context, x Exchange) (Record, error) {
	d := Draft{Title: x.Title, Status: statusOf(x.Status), Context: x.Context, Deciders: x.Deciders, Tags: x.Tags, Governs: x.Governs, Options: x.Alternatives,
		Decision: x.Decision, Consequences: x.Consequences, wanted: x.ID, imported: true}
	if d.Status == Unknown {
		d.Status = Proposed
	}
	if x.Date != "" {
		var v document
		v.setDate(Value{x.Date, 1})
		if v.Date.IsZero() {
			return Record{}, invalid("date", "unknown date "+quote(x.Date), "Write it as 2026-11-22.")
		}
		d.Date = v.Date
	}
	for _, id := range x.Supersedes {
		_, id = fromID(id)
		d.supersedes = append(d.supersedes, pointer{id: id})
	}
	d.supersededBy = x.SupersededBy
	return r.Create(ctx, d)
}

// ready fills in a draft and checks it. A number in the title goes: it is given here.
func (r *Registry) ready(d *Draft) error {
	if _, words := fromTitle(d.Title); words != "" {
		d.Title = words
	}
	if d.Status == Unknown {
		d.Status = Proposed
	}
	if d.Date.IsZero() {
		d.Date = r.o.Now()
	}
	if d.Folder != "" {
		if d.Folder = path.Clean(strings.TrimSuffix(d.Folder, "/")); !slices.ContainsFunc(r.o.Folders, func(f string) bool { return d.Folder == f || strings.HasPrefix(d.Folder, f+"/") }) {
			return invalid("folder", quote(d.Folder)+" is none of the folders of decisions", "Use one of "+strings.Join(r.o.Folders, ", ")+".")
		}
	}
	return d.validate()
}

// newFile is the change that makes a draft a file.
func (r *Registry) newFile(v *view, d *Draft) (projectfile.Change, error) {
	number, folder := v.next(), d.Folder
	if n, id := fromID(d.wanted); n >= 0 && len(v.byID[fold(id)]) == 0 {
		number = n
	}
	if folder == "" {
		folder = r.home(v)
	}
	name := v.naming(folder, number) + slug(d.Title) + ".md"
	_, id, _ := fromFile(name)
	now := d.render(id)
	p := path.Join(folder, name)
	if got := parse(p, now); got.Status != d.Status || got.ID.Text != id || plain(got.Title.Text) != plain(d.Title) {
		return projectfile.Change{}, invalid("", "the draft would not read back as it is meant", "Take marks of Markdown and YAML out of the title and the texts.")
	}
	return projectfile.Change{Path: p, Now: now}, nil
}

// next is the next free number.
func (v *view) next() int {
	n := 0
	for _, p := range v.pages {
		if !p.isRecord() && p.doc.Number >= 1900 {
			continue // a year
		}
		inFile, _, _ := fromFile(p.doc.Path) // a template's number is taken, too
		n = max(n, p.doc.Number, inFile)
	}
	for _, p := range v.unread { // what could not be read has a number all the same
		if inFile, _, _ := fromFile(p.Path); markdown(p.Path) {
			n = max(n, inFile)
		}
	}
	return n + 1
}

// home is the folder for a new record: the one that holds most, else the first one that is
// there, else docs/decisions, as MADR has it, or the first one of the options.
func (r *Registry) home(v *view) string {
	count := map[string]int{}
	for _, e := range v.records {
		count[home(e.rec.Path)]++
	}
	best, most := "", 0
	for _, e := range v.records {
		if f := home(e.rec.Path); count[f] > most {
			best, most = f, count[f]
		}
	}
	if best != "" {
		return best
	}
	for _, f := range r.o.Folders {
		if e, err := r.files.Stat(f); err == nil && e.Folder {
			return f
		}
	}
	if slices.Contains(r.o.Folders, "docs/decisions") {
		return "docs/decisions"
	}
	return r.o.Folders[0]
}

var namePrefix = lazyregexp.New(`^(\D*)(\d{2,6})([-_])`)

// naming is what comes before the words in a new file's name, as the latest record of the
// folder has it.
func (v *view) naming(folder string, number int) string {
	prefix, width, dash := "", 4, "-"
	for _, e := range v.records {
		if home(e.rec.Path) != folder {
			continue
		}
		if inFile, _, _ := fromFile(e.rec.Path); inFile < 0 {
			continue
		}
		if m := namePrefix.FindStringSubmatch(path.Base(e.rec.Path)); m != nil {
			prefix, width, dash = m[1], len(m[2]), m[3]
		}
	}
	n := strconv.Itoa(number)
	return prefix + strings.Repeat("0", max(0, width-len(n))) + n + dash
}

func (r *Registry) at(p string) (Record, error) {
	if e := r.view.Load().byPath[p]; e != nil {
		return e.rec, nil
	}
	return Record{}, &ken.Error{Code: ken.CodeInternal, Field: p, Msg: "was written and does not read as a record"}
}

// SetStatus changes the status of a record, and not a byte else. Errors: ErrNotFound,
// ErrInvalid for Unknown and for Superseded, which is Supersede's; ErrRefused for a file
// that can't be edited, which is left alone.
func (r *Registry) SetStatus(ctx context.Context, name string, to Status) (Record, error) {
	switch {
	case !slices.Contains(Statuses(), to):
		return Record{}, invalid("status", "unknown status "+quote(string(to)), "Use proposed, accepted, rejected or deprecated.")
	case to == Superseded:
		return Record{}, invalid("status", "a record is superseded by another one", "Supersede it, and name the successor; or call it deprecated.")
	}
	var at string
	err := r.writing(ctx, func(v *view) ([]projectfile.Change, error) {
		e, err := v.find(name)
		if err != nil {
			return nil, err
		}
		at = e.rec.Path
		if e.rec.Status == to {
			return nil, nil
		}
		c, err := e.doc.restate(to, nil)
		return []projectfile.Change{c}, err
	})
	if err != nil {
		return Record{}, err
	}
	return r.at(at)
}

// restate is the change that makes a file say another status.
func (d *document) restate(to Status, by *pointer) (projectfile.Change, error) {
	c := projectfile.Change{Path: d.Path, Was: d.src}
	if err := d.editable(); err != nil {
		return c, err
	}
	edits, err := d.statusEdits(to, by)
	if err != nil {
		return c, err
	}
	if by != nil {
		if d.has(meansSupersededBy) {
			more, err := d.listEdits(meansSupersededBy, "Superseded by", "Superseded by", *by)
			if err != nil {
				return c, err
			}
			edits = append(edits, more...)
		}
	}
	c.Now = applied(d.src, edits)
	err = d.verified(c.Now, func(r Record) bool {
		return r.Status == to && (by == nil || len(r.SupersededBy) > 0)
	})
	return c, err
}

func (d *document) has(means string) bool {
	return slices.ContainsFunc(d.fields, func(it item) bool { return meaning[it.name] == means })
}

// pointTo is how the file at a path names a record.
func (v *view) pointTo(from string, to Record) pointer {
	rel, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to.Path))
	if err != nil {
		rel = to.Path
	}
	target := (&url.URL{Path: filepath.ToSlash(rel)}).EscapedPath()
	p := pointer{link: "[" + to.ID.Text + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(target) + ")"}
	if to.Number >= 0 && len(v.byID[fold(to.ID.Text)]) < 2 {
		p.id = to.ID.Text
	}
	return p
}
