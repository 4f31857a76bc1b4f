package codegraph

import (
	"strings"
	"time"
)

// Stamp says which state of a file the graph knows.
type Stamp struct {
	Size    int64 // bytes
	ModTime time.Time
	ReadAt  time.Time
}

// Stamp returns the state in which a file was read, by its path; false for one that is not
// in the graph, or of which only the name was looked at.
func (v *View) Stamp(path string) (Stamp, bool) {
	i := v.fileUnit(path)
	if i < 0 {
		return Stamp{}, false
	}
	s := v.unit(i).stat
	if s == (stat{}) {
		return Stamp{}, false
	}
	return Stamp{Size: s.size, ModTime: time.Unix(0, s.modTime).UTC(), ReadAt: time.Unix(0, s.readAt).UTC()}, true
}

// Hash returns the hash of a file's content as the graph knows it, by its path; "" for
// one that is not in the graph, or of which only the name was looked at.
func (v *View) Hash(path string) string {
	i := v.fileUnit(path)
	if i < 0 {
		return ""
	}
	return v.unit(i).hash
}

// Holds reports whether the graph has a file at a path, or below it.
func (v *View) Holds(path string) bool {
	if v.fileUnit(path) >= 0 {
		return true
	}
	for i := range v.units.n {
		if u := v.unit(i); u != nil && u.decision == nil {
			if rest, ok := strings.CutPrefix(v.text(u.path), path); ok && strings.HasPrefix(rest, "/") {
				return true
			}
		}
	}
	return false
}
