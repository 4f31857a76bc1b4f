package decision

import (
	"slices"
	"strings"
)

// Problems returns what somebody should look at: what could not be read, and what records
// say of each other that does not fit. They are in the order of paths and lines.
func (r *Registry) Problems() []Problem { return slices.Clone(r.view.Load().problems) }

// check finds what does not fit between records.
func (v *view) check() {
	for _, e := range v.records {
		v.numbers(e)
		v.references(e)
		v.status(e)
	}
	v.cycles()
}

func (v *view) problem(e *entry, line int, text, try string) {
	v.problems = append(v.problems, Problem{Path: e.rec.Path, Line: line, Text: text, Try: try})
}

// numbers reports two records of one number.
func (v *view) numbers(e *entry) {
	same := v.byID[fold(e.rec.ID.Text)]
	if len(same) < 2 {
		return
	}
	var others []string
	for _, o := range same {
		if o != e {
			others = append(others, o.rec.Path)
		}
	}
	v.problem(e, e.rec.ID.Line, e.rec.ID.Text+" is also "+strings.Join(others, ", ")+"; here it is "+e.rec.Handle, "Give one of them the next free number.")
}

// references reports names of records that are not there.
func (v *view) references(e *entry) {
	for _, list := range []struct {
		verb string
		refs []Reference
	}{{"supersedes", e.rec.Supersedes}, {"superseded by", e.rec.SupersededBy}} {
		for _, ref := range list.refs {
			to, several := v.resolve(e, ref.Path, ref.ID)
			switch {
			case to == e:
				v.problem(e, ref.Line, list.verb+" itself", "Name the other record.")
			case to == nil && several:
				v.problem(e, ref.Line, list.verb+" "+ref.Text+", and several records have that number", "Link to the file that is meant.")
			case to == nil && !(ref.Partial && ref.ID == ""):
				v.problem(e, ref.Line, list.verb+" "+ref.Text+", which does not exist", "Correct the number, or the link.")
			}
		}
	}
	dir := folderOf(e.rec.Path)
	for _, l := range e.rec.Links {
		p := linked(dir, l.Target)
		if p == "" || l.ID == "" || v.pages[p] != nil || v.at(p) != nil || !v.homes[home(p)] {
			continue
		}
		v.problem(e, l.Line, "a link to "+l.Target+", which does not exist", "Correct the link.")
	}
}

// status reports where the status and the successors of a record don't fit.
func (v *view) status(e *entry) {
	line := max(1, e.rec.StatusText.Line)
	if e.rec.Status == Superseded {
		if len(e.successors) == 0 && len(e.rec.SupersededBy) == 0 {
			v.problem(e, line, "superseded, and no record says by what", "Name the successor: \"superseded by ADR-0042\"; or call it deprecated.")
		}
		return
	}
	for _, by := range e.successors {
		v.problem(e, line, by.rec.Handle+" supersedes it, and its status is "+quote(string(e.rec.Status)), "Supersede it by "+by.rec.Handle+".")
	}
}

// cycles reports records that supersede each other in a circle, once for each circle.
func (v *view) cycles() {
	const (
		unseen = iota
		open
		done
	)
	state := map[*entry]int{}
	var walk func(e *entry, trail []*entry)
	walk = func(e *entry, trail []*entry) {
		state[e] = open
		trail = append(trail, e)
		for _, by := range e.successors {
			switch state[by] {
			case unseen:
				walk(by, trail)
			case open:
				var names []string
				for _, t := range trail[slices.Index(trail, by):] {
					names = append(names, t.rec.Handle)
				}
				names = append(names, by.rec.Handle)
				v.problem(e, max(1, e.rec.StatusText.Line), "a circle of supersession: "+strings.Join(names, " by "), "Decide which of them is the latest.")
			}
		}
		state[e] = done
	}
	for _, e := range v.records {
		if state[e] == unseen {
			walk(e, nil)
		}
	}
}
