package outline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/store"
)

// outlineBuilder is the scratch state for computing one outline. It is reused.
type outlineBuilder struct {
	tallies []tally
	chained []chained
	// seen holds, for each name, the generation in which it was last counted. at holds,
	// for each aspect, the index of its tally plus one; 0 if this outline has none yet.
	// begin resets it.
	seen, at   []uint32
	generation uint32
}

// tally counts the records of one aspect.
type tally struct {
	aspect              uint32
	claims, constraints int
	other               int
	top                 []store.Ref
	rule                int // index plus one of its last rule in chained; 0 for none
	done                bool
}

// chained is a rule under an aspect, linked to the rule before it.
type chained struct {
	slot uint32
	next int
}

// begin resets the builder for the current state of an index.
func (n *outlineBuilder) begin(x *Index) {
	for i := range n.tallies {
		n.at[n.tallies[i].aspect] = 0
	}
	n.tallies, n.chained = n.tallies[:0], n.chained[:0]
	if short := len(x.names.text) - len(n.seen); short > 0 {
		n.seen = append(n.seen, make([]uint32, short)...)
	}
	if short := len(x.aspects.text) - len(n.at); short > 0 {
		n.at = append(n.at, make([]uint32, short)...)
	}
	if n.generation > 1<<31 {
		clear(n.seen)
		n.generation = 0
	}
}

// tally returns the tally of an aspect. It is valid until the next call.
func (n *outlineBuilder) tally(aspect uint32) *tally {
	if n.at[aspect] == 0 {
		n.tallies = append(n.tallies, tally{aspect: aspect})
		n.at[aspect] = uint32(len(n.tallies))
	}
	return &n.tallies[n.at[aspect]-1]
}

// rule adds a rule under an aspect. Rules are counted together with the aspect's other
// claims, so that a name in both is counted once.
func (n *outlineBuilder) rule(aspect, slot uint32) {
	t := n.tally(aspect)
	t.constraints++
	n.chained = append(n.chained, chained{slot, t.rule})
	t.rule = len(n.chained)
}

// others counts the names of a record, except the primary one, that are new in this
// generation.
func (n *outlineBuilder) others(x *Index, t *tally, slot uint32) {
	for i := 1; i < int(x.recs[slot].n); i++ {
		if name := x.nameAt(slot, i); n.seen[name] != n.generation {
			n.seen[name] = n.generation
			t.other++
		}
	}
}

// finish adds an aspect's rules to its claims, in the same generation.
func (n *outlineBuilder) finish(x *Index, t *tally) {
	for at := t.rule; at > 0; at = n.chained[at-1].next {
		n.others(x, t, n.chained[at-1].slot)
	}
	t.claims += t.constraints
	t.done = true
}

// rest finishes the aspects that have only rules.
func (n *outlineBuilder) rest(x *Index) {
	for i := range n.tallies {
		if t := &n.tallies[i]; !t.done {
			n.generation++
			n.finish(x, t)
		}
	}
}

// aspects returns the aspects with the most claims, sorted by name.
func (n *outlineBuilder) aspects(x *Index, most int) []store.AspectOutline {
	kept := slices.DeleteFunc(slices.Clone(n.tallies), func(t tally) bool { return t.claims == 0 })
	byName := func(a, b tally) int { return strings.Compare(x.aspects.text[a.aspect], x.aspects.text[b.aspect]) }
	if len(kept) > most {
		slices.SortFunc(kept, func(a, b tally) int { return cmp.Or(cmp.Compare(b.claims, a.claims), byName(a, b)) })
		kept = kept[:most]
	}
	slices.SortFunc(kept, byName)
	var out []store.AspectOutline
	for i := range kept {
		t := &kept[i]
		out = append(out, store.AspectOutline{Name: x.aspects.text[t.aspect], Claims: t.claims, Constraints: t.constraints, Others: t.other, Top: t.top})
	}
	return out
}
