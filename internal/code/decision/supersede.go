package decision

import (
	"context"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
)

// Supersede makes one record superseded by another: the old one's status says by which,
// the new one says what it supersedes, each in the form in which the file has its status,
// and no other byte changes. Both files are written or none. Doing it again changes
// nothing. It returns both. Errors: ErrNotFound; ErrRefused when the old one is superseded by
// another one already, when a circle would come of it, and for a file that can't be edited.
func (r *Registry) Supersede(ctx context.Context, old, by string) (was, now Record, err error) {
	var paths [2]string
	err = r.writing(ctx, func(v *view) ([]projectfile.Change, error) {
		o, err := v.find(old)
		if err != nil {
			return nil, err
		}
		n, err := v.find(by)
		if err != nil {
			return nil, err
		}
		paths = [2]string{o.rec.Path, n.rec.Path}
		if err := o.mayYield(n); err != nil {
			return nil, err
		}
		return v.succession(o, n)
	})
	if err != nil {
		return Record{}, Record{}, err
	}
	return r.both(paths)
}

// SupersedeBy creates a record that supersedes another one, as Create and Supersede do, but
// as one: both files are written or none. The new record is Accepted unless it says
// otherwise, and lies beside the old one unless it names a folder.
func (r *Registry) SupersedeBy(ctx context.Context, old string, d Draft) (was, now Record, err error) {
	if d.Status == Unknown {
		d.Status = Accepted
	}
	if err := r.ready(&d); err != nil {
		return Record{}, Record{}, err
	}
	var paths [2]string
	err = r.writing(ctx, func(v *view) ([]projectfile.Change, error) {
		o, err := v.find(old)
		if err != nil {
			return nil, err
		}
		if err := o.mayYield(nil); err != nil {
			return nil, err
		}
		if d.Folder == "" {
			d.Folder = home(o.rec.Path)
		}
		blank, err := r.newFile(v, &d)
		if err != nil {
			return nil, err
		}
		d.supersedes = []pointer{v.pointTo(blank.Path, o.rec)}
		create, err := r.newFile(v, &d)
		if err != nil {
			return nil, err
		}
		p := v.pointTo(o.rec.Path, parse(create.Path, create.Now).Record)
		yield, err := o.doc.restate(Superseded, &p)
		paths = [2]string{o.rec.Path, create.Path}
		return []projectfile.Change{create, yield}, err
	})
	if err != nil {
		return Record{}, Record{}, err
	}
	return r.both(paths)
}

func (r *Registry) both(paths [2]string) (was, now Record, err error) {
	if was, err = r.at(paths[0]); err == nil {
		now, err = r.at(paths[1])
	}
	return was, now, err
}

// mayYield returns why a record can't be superseded by another one; nil is a new one.
func (e *entry) mayYield(to *entry) error {
	if e == to {
		return invalid("by", e.rec.Handle+" can't supersede itself", "Name another record, or call it deprecated.")
	}
	for _, by := range e.successors {
		if by != to && e.rec.Status == Superseded {
			return &ken.Error{Code: ken.CodeRefused, Field: "old", Msg: e.rec.Handle + " is superseded by " + by.rec.Handle + " already",
				Try: "Supersede " + by.rec.Handle + ", the record that holds now."}
		}
	}
	if to == nil {
		return nil
	}
	seen := map[*entry]bool{}
	var reaches func(from *entry) bool
	reaches = func(from *entry) bool {
		if from == e || seen[from] {
			return from == e
		}
		seen[from] = true
		return slices.ContainsFunc(from.successors, reaches)
	}
	if reaches(to) {
		return &ken.Error{Code: ken.CodeRefused, Field: "by", Msg: to.rec.Handle + " was itself superseded by " + e.rec.Handle + ", or by what followed it",
			Try: "Supersede by the record that holds now; see the history of " + e.rec.Handle + "."}
	}
	return nil
}

// succession are the changes that tie two records, of what is not said yet.
func (v *view) succession(o, n *entry) ([]projectfile.Change, error) {
	var changes []projectfile.Change
	names := func(in *entry, refs []Reference, to *entry) bool {
		return slices.ContainsFunc(refs, func(ref Reference) bool {
			e, _ := v.resolve(in, ref.Path, ref.ID)
			return e == to && !ref.Partial
		})
	}
	if !names(n, n.rec.Supersedes, o) {
		edits, err := n.doc.listEdits(meansSupersedes, "Supersedes", "Supersedes", v.pointTo(n.rec.Path, o.rec))
		if err != nil {
			return nil, err
		}
		c := projectfile.Change{Path: n.rec.Path, Was: n.doc.src, Now: applied(n.doc.src, edits)}
		before := len(n.rec.Supersedes)
		if err := n.doc.verified(c.Now, func(r Record) bool { return r.Status == n.rec.Status && len(r.Supersedes) > before }); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if o.rec.Status != Superseded || !names(o, o.rec.SupersededBy, n) {
		p := v.pointTo(o.rec.Path, n.rec)
		c, err := o.doc.restate(Superseded, &p)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}
