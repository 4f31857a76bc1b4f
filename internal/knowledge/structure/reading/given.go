package reading

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/analysis"
)

// given adds the names that the claim came with.
func (r *reader) given(add func(*Mention)) {
	for _, e := range r.claim.Entities {
		if m, ok := r.gave(e); ok {
			add(&m)
		}
	}
}

// gave is a name that the claim came with.
func (r *reader) gave(e string) (Mention, bool) {
	name := analysis.Entity(e)
	if name == "" {
		return Mention{}, false
	}
	m := Mention{Name: name, Display: e, Type: r.typeOf(name), Confidence: ByGiven}
	for i := range r.found {
		if f := &r.found[i]; f.Name == name {
			m.Type, m.Known = f.Type, f.Known
		}
	}
	return m, true
}

// came is the name that the claim came with that is another spelling of the primary.
func (r *reader) came(primary *found) (Mention, bool) {
	for _, e := range r.claim.Entities {
		m, ok := r.gave(e)
		if ok && (m.Name == primary.Name || headless(m.Name) == primary.Name || headless(primary.Name) == m.Name || OtherNumber(m.Name) == primary.Name) {
			return m, true
		}
	}
	return Mention{}, false
}

// typeOf guesses the type of a name without its text.
func (r *reader) typeOf(name string) Type {
	if name == r.speaker.Name || name == "user" {
		return Person
	}
	last := name[strings.LastIndexByte(name, ' ')+1:]
	switch e := lexicon()[last]; {
	case e.is(product):
		return Tool
	case e.head > 0 && len(last) < len(name):
		return heads[e.head-1].typ
	}
	if isPath(name) || dotted(name) {
		return System
	}
	return Unknown
}

// evidence is the file that the claim rests on, where it names one.
func (r *reader) evidence() found {
	for _, e := range r.claim.Evidence {
		if e.Path == "" {
			continue
		}
		if name := analysis.Entity(e.Path); name != "" {
			return found{Mention: Mention{Name: name, Display: e.Path, Type: System, Confidence: ByEvidence}}
		}
	}
	return found{}
}

// project is what the claim was said in.
func (r *reader) project() found {
	c := r.claim
	for _, p := range [...]string{c.Project, c.Scope.ID} {
		if p == "" || p == c.Scope.ID && c.Scope.Type != "project" && c.Scope.Type != "repo" {
			continue
		}
		base := path.Base(strings.TrimSuffix(strings.ReplaceAll(p, `\`, "/"), ".git"))
		if name := analysis.Entity(base); name != "" && name != "." && name != "/" {
			return found{Mention: Mention{Name: name, Display: base, Type: Project, Confidence: ByProject}}
		}
	}
	return found{}
}
