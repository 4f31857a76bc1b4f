package reading

import (
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// maxRule is the length in bytes of the longest text that is a rule by itself. What
// is longer has rules in it.
const maxRule = 600

// Assign files a claim as rules do: it spells the names that the claim came with,
// adds what the text names, in the order of [Reading], and fills in the aspect and the constraint flag where
// they are empty. It reports whether it changed the claim, which then carries
// AssignedByRules. A claim that somebody assigned already, a structural one and a
// piece of the repository are left alone.
//
// What an external source says never becomes a constraint here; a flag that is set
// stays as it is. Assign changes no slice that the claim shares with others.
func Assign(c *ken.Claim, known Names) bool {
	if c.AssignedBy != "" || c.Kind.Structural() || c.Kind == ken.KindDocument {
		return false
	}
	out := Read(c, known)
	names := make([]string, 0, max(len(out.Entities), len(c.Entities)))
	add := func(n string, most int) {
		if n != "" && len(names) < most && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	first := 0 // the primary of the reading goes before what was given, where there is room
	if len(out.Entities) > 0 && len(c.Entities) < MaxEntities {
		add(out.Entities[0].Name, 1)
		first = len(names)
	}
	most := max(MaxEntities, len(c.Entities)+first)
	for _, e := range c.Entities { // all of them: what was given is never dropped
		add(analysis.Entity(e), most)
	}
	for i := range out.Entities {
		add(out.Entities[i].Name, max(MaxEntities, len(c.Entities)))
	}
	changed := false
	if !slices.Equal(names, c.Entities) {
		c.Entities, changed = names, true
	}
	if c.Aspect == "" && len(names) > 0 {
		c.Aspect, changed = out.Aspect, true
	}
	if out.Constraint && !c.Constraint {
		c.Constraint, changed = true, true
	}
	if changed {
		c.AssignedBy = ken.AssignedByRules
	}
	return changed
}
