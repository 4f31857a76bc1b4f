package outline

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/store"
)

// outlineBuilder is what an outline is worked out on; it is used again.
type outlineBuilder struct {
	tallies []tally
	chained []chained
	// seen has for each name the generation that it was last met in, and at for each
	// aspect where its tally is: one more, and only if it is this outline's, which
	// begin sees to.
	seen, at   []uint32
	generation uint32
}

// tally sums up one aspect.
type tally struct {
	aspect              uint32
	claims, constraints int
	other               int
	top                 []store.Ref
	rule                int // the last of its rules in chained, one more; 0 for none
	done                bool
}

// chained is a rule under an aspect, and where the one before it is.
type chained struct {
	slot uint32
	next int
}

// begin makes room for an index as it is now.
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

// tally is the aspect's; it is good until the next call.
func (n *outlineBuilder) tally(aspect uint32) *tally {
	if n.at[aspect] == 0 {
		n.tallies = append(n.tallies, tally{aspect: aspect})
		n.at[aspect] = uint32(len(n.tallies))
	}
	return &n.tallies[n.at[aspect]-1]
}

// rule notes a rule under an aspect. It is counted with the aspect's other claims,
// so that a name which both have is met once.
func (n *outlineBuilder) rule(aspect, slot uint32) {
	t := n.tally(aspect)
	t.constraints++
	n.chained = append(n.chained, chained{slot, t.rule})
	t.rule = len(n.chained)
}

// others counts the names of a record beside its primary one that are new to this
// generation.
func (n *outlineBuilder) others(x *Index, t *tally, slot uint32) {
	for i := 1; i < int(x.recs[slot].n); i++ {
		if name := x.nameAt(slot, i); n.seen[name] != n.generation {
			n.seen[name] = n.generation
			t.other++
		}
	}
}

// finish adds an aspect's rules to its claims, within the same generation.
func (n *outlineBuilder) finish(x *Index, t *tally) {
	for at := t.rule; at > 0; at = n.chained[at-1].next {
		n.others(x, t, n.chained[at-1].slot)
	}
	t.claims += t.constraints
	t.done = true
}

// rest finishes the aspects that have nothing but rules.
func (n *outlineBuilder) rest(x *Index) {
	for i := range n.tallies {
		if t := &n.tallies[i]; !t.done {
			n.generation++
			n.finish(x, t)
		}
	}
}

// aspects returns those with most claims, by name.
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
