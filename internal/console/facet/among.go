package facet

import (
	"github.com/google/uuid"
)

// Count counts the facets of the claims of a list, such as what a search found, that
// a selection means. Ids that are no claim's are left out, and so are repeated ones.
// It is nil for an owner whose claims were not read yet.
func (x *Index) Count(owner string, ids []string, sel Selection) (out []Facet) {
	_ = x.read(owner, func(t *table) { // the only fault is that they were not read
		slots, _ := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.letGo()
		out = s.facets(x.o.Top)
	})
	return out
}

// Filter returns those of a list of ids that a selection means, in the list's order,
// each once. Ids that are no claim's are left out: pieces of the repository are none.
// Errors: ErrUnavailable for an owner whose claims were not read yet.
func (x *Index) Filter(owner string, ids []string, sel Selection) (out []string, err error) {
	err = x.read(owner, func(t *table) {
		slots, written := t.among(ids)
		s := x.run(t, &sel, slots)
		defer s.letGo()
		out = make([]string, 0, len(s.hits))
		for _, slot := range s.hits {
			out = append(out, written[slot])
		}
	})
	return out, err
}

// among finds the claims of a list, each once, and how the list writes their ids.
func (t *table) among(ids []string) (slots []uint32, written map[uint32]string) {
	slots, written = make([]uint32, 0, len(ids)), make(map[uint32]string, len(ids))
	for _, text := range ids {
		id, err := uuid.Parse(text)
		if err != nil {
			continue
		}
		slot, ok := t.at.get(id)
		if _, again := written[slot]; !ok || again {
			continue
		}
		slots, written[slot] = append(slots, slot), text
	}
	return slots, written
}
