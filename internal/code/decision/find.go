package decision

import (
	"path"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
)

// List returns all records: by number, those without one last, then by path.
func (r *Registry) List() []Record {
	v := r.view.Load()
	out := make([]Record, len(v.records))
	for i, e := range v.records {
		out[i] = e.rec
	}
	return out
}

// Find returns the record of a handle, an ID or number in any spelling ("ADR-0042",
// "adr 42", "42"), the name or path of its file, or a part of its title that no other has.
// Errors: ErrNotFound, with names that come near; ErrInvalid for what fits several, with
// their handles.
func (r *Registry) Find(name string) (Record, error) {
	e, err := r.view.Load().find(name)
	if err != nil {
		return Record{}, err
	}
	return e.rec, nil
}

func (v *view) find(name string) (*entry, error) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "adr:"))
	if name == "" {
		return nil, invalid("id", "empty", "Name a decision by its id, such as ADR-0042.")
	}
	if e := v.byHandle[fold(name)]; e != nil {
		return e, nil
	}
	_, id := fromID(name)
	if same := v.byID[fold(id)]; len(same) > 0 {
		return one(name, same)
	}
	if e := v.at(path.Clean(name)); e != nil {
		return e, nil
	}
	if n, _ := fromID(name); n >= 0 { // of a series of its own
		var same []*entry
		for _, e := range v.records {
			if e.rec.Number == n {
				same = append(same, e)
			}
		}
		if len(same) > 0 {
			return one(name, same)
		}
	}
	var byFile, whole, part, near []*entry
	want := fold(name)
	for _, e := range v.records {
		base, title := fold(path.Base(e.rec.Path)), fold(plain(e.rec.Title.Text))
		switch {
		case base == want || strings.TrimSuffix(base, path.Ext(base)) == want:
			byFile = append(byFile, e)
		case title == want:
			whole = append(whole, e)
		case strings.Contains(title, want):
			part = append(part, e)
		case e.rec.Number >= 0 && strings.Contains(want, strconv.Itoa(e.rec.Number)) || shares(title, want):
			near = append(near, e)
		}
	}
	for _, fit := range [][]*entry{byFile, whole, part} {
		if len(fit) > 0 {
			return one(name, fit)
		}
	}
	e := &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "no decision " + quote(name), Try: "List the decisions, or search for words of the title."}
	if len(near) > 0 {
		e.Try = "Did you mean " + handles(near) + "?"
	}
	return nil, e
}

// shares reports whether two texts have a word of four letters or more in common.
func shares(title, want string) bool {
	for w := range strings.FieldsSeq(want) {
		if len(w) >= 4 && strings.Contains(title, w) {
			return true
		}
	}
	return false
}

func one(name string, fit []*entry) (*entry, error) {
	if len(fit) == 1 {
		return fit[0], nil
	}
	return nil, invalid("id", quote(name)+" fits "+strconv.Itoa(len(fit))+" decisions", "Name one of them: "+handles(fit)+".")
}

func handles(fit []*entry) string {
	var names []string
	for _, e := range fit[:min(len(fit), 5)] {
		names = append(names, e.rec.Handle)
	}
	return strings.Join(names, ", ")
}

// History returns a record with all that it superseded and all that superseded it, before
// and after that as well, the oldest first. A record that nothing ties to others is alone.
func (r *Registry) History(name string) ([]Record, error) {
	e, err := r.view.Load().find(name)
	if err != nil {
		return nil, err
	}
	var out []Record
	seen := map[*entry]bool{}
	var walk func(e *entry, next func(*entry) []*entry, first bool)
	walk = func(e *entry, next func(*entry) []*entry, first bool) {
		if seen[e] {
			return
		}
		seen[e] = true
		if !first {
			out = append(out, e.rec)
		}
		for _, n := range next(e) {
			walk(n, next, first)
		}
		if first {
			out = append(out, e.rec)
		}
	}
	walk(e, func(e *entry) []*entry { return e.before }, true)
	for _, by := range e.successors {
		walk(by, func(e *entry) []*entry { return e.successors }, false)
	}
	return out, nil
}
