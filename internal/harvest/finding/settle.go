package finding

import (
	"path"
	"slices"
	"strings"
)

func (x *extractor) change(c *Call, ch change) {
	name := ch.path
	if ignored(c, name) {
		return
	}
	before, after := "", ch.new
	if f := x.seen[name]; f != nil {
		before = f.text
		if !ch.full && ch.old != "" {
			after = strings.Replace(f.text, ch.old, ch.new, 1)
			f.text = after
		}
		f.outdated = true
	}
	l := x.left[name]
	l.changed = c.Seq
	x.left[name] = l
	special := false
	if ch.full || isDecision(name) || path.Base(name) == "CODEOWNERS" {
		special = x.says(c, name, after)
	}
	for _, r := range required(name, ch.new, ch.old) {
		x.drop(Dependency, r.name)
	}
	for _, r := range required(name, ch.old, ch.new) {
		x.add(onFile(c, Dependency, r.name, r.text(name), name, weightRequire))
		special = true
	}
	e := x.edits[name]
	if e == nil {
		e = &edited{}
		x.edits[name] = e
	}
	e.add(ch, before)
	if special {
		return
	}
	if text := e.text(name); text != "" {
		f := onFile(c, Change, name, text, name, weightChange+min(e.calls, heaviestRepeats))
		if ch.to != "" && !absolute(ch.to) {
			f.Path, f.Hash = ch.to, c.Files[ch.to]
		}
		x.add(f)
	}
}

// settle compares what was found with how the session left the files. A change and
// a requirement rest on the file as it was left, whatever came after them. Anything
// else that was seen of a file before it changed is no longer known to be so, and
// nothing would ever vouch for it.
func (x *extractor) settle() {
	x.found = slices.DeleteFunc(x.found, func(f Finding) bool {
		for name := range f.Files {
			if x.outdated(name, f.Files[name], f.Seq) {
				delete(f.Files, name)
				if len(f.Files) == 0 {
					return true
				}
			}
		}
		if f.weight == weightList && x.refilled(f.Entity, f.Seq) {
			return true
		}
		return f.Path != "" && f.Kind != Change && f.Kind != Dependency && x.outdated(f.Path, f.Hash, f.Seq)
	})
	for i := range x.found {
		if f := &x.found[i]; f.Path != "" && (f.Kind == Change || f.Kind == Dependency) && x.left[f.Path].noted {
			f.Hash = x.left[f.Path].hash
		}
	}
	clear(x.last) // places have changed
	for i, f := range x.found {
		x.last[string(f.Kind)+" "+f.Entity] = i
	}
}

// refilled reports whether a file of a folder was written, moved or deleted after
// the folder had been listed.
func (x *extractor) refilled(dir string, seq uint64) bool {
	for name, l := range x.left {
		if path.Dir(name)+"/" == dir && l.changed > seq {
			return true
		}
	}
	return false
}

// outdated reports whether a file changed after it was seen.
func (x *extractor) outdated(name, hash string, seq uint64) bool {
	l := x.left[name]
	return l.changed > seq || l.noted && hash != "" && l.hash != hash
}
