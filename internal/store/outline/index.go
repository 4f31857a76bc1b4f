package outline

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Index is the index of one owner. Use New to create one.
type Index struct {
	names       words
	aspects     words
	posts       []postings               // by the number of the name
	slots       []uint32                 // by ref: the record's slot plus one; 0 for none
	recs        []rec                    // by slot
	places      []place                  // by slot
	free        []uint32                 // slots
	more        map[uint32][]uint32      // by slot: the names after the first three, which rec holds
	said        words                    // words of rules
	rulesByWord [][]uint32               // by the number of the word: the rules that contain it, in the order of their group
	texts       map[uint32][]uint32      // by slot: the words of a rule
	sorted      atomic.Pointer[[]string] // all names, sorted; nil after a change
	notes       sync.Pool                // of *outlineBuilder
	loading     bool                     // the lists are not sorted yet
}

// inline is the number of names that a rec holds itself: most records have no more.
const inline = 3

// rec holds what counting needs of a record, and place what sorting needs: 24 and 32
// bytes. An outline of a name with many records reads all its recs but no places.
type rec struct {
	ref    store.Ref
	aspect uint32
	names  [inline]uint32
	n      uint16
	tier   ken.Tier
	sort   uint8 // the key of a group before mentions; for a claim, candidates or beyond
}

type place struct {
	id       uuid.UUID
	created  int64
	strength float64
}

// postings holds the groups of a name, sorted by key.
type postings []group

// group is one list of a name, in the reverse of the reading order, so that new records
// usually go to its end.
type group struct {
	key  uint32
	list []uint32 // of slots
}

// The keys of groups. Claims that the name is the primary entity of have the key beyond
// plus the aspect's number.
const (
	constraints = iota
	entities    // links, by kind
	dependencies
	aliases
	mentions   // claims that have another primary entity
	candidates // claims that may become rules; they are also in mentions or an aspect
	beyond
)

var linkKinds = [...]ken.Kind{entities: ken.KindEntity, dependencies: ken.KindDependency, aliases: ken.KindAlias}

// New returns an empty index.
func New() *Index {
	x := &Index{names: newWords(), aspects: newWords(), said: newWords(), more: map[uint32][]uint32{}, texts: map[uint32][]uint32{}}
	x.notes.New = func() any { return &outlineBuilder{} }
	return x
}

// Load adds many records to an empty index. It sorts the lists once at the end, which
// is much faster for names with many records.
func (x *Index) Load(records iter.Seq[Record]) {
	x.loading = true
	for r := range records {
		x.Put(r)
	}
	x.loading = false
	for n := range x.posts {
		for i := range x.posts[n] {
			g := &x.posts[n][i]
			g.list = ordered(g.list, x.order(g.key))
		}
	}
	for n := range x.rulesByWord {
		x.rulesByWord[n] = ordered(x.rulesByWord[n], x.order(constraints))
	}
}

func ordered(list []uint32, order func(a, b uint32) int) []uint32 {
	if !slices.IsSortedFunc(list, order) {
		slices.SortFunc(list, order)
	}
	if cap(list) > len(list) {
		list = append(make([]uint32, 0, len(list)), list...) // removes spare capacity
	}
	return list
}

// Put adds a record, or replaces the one with the same ref.
func (x *Index) Put(r Record) {
	x.Remove(r.Ref)
	sort := uint8(beyond)
	switch {
	case r.Kind.Structural():
		sort = uint8(slices.Index(linkKinds[:], r.Kind))
	case r.Constraint:
		sort = constraints
	case r.Candidate:
		sort = candidates
	}
	if len(r.Names) == 0 && sort != constraints {
		return
	}
	slot := uint32(len(x.recs))
	if last := len(x.free) - 1; last >= 0 {
		slot, x.free = x.free[last], x.free[:last]
	} else {
		x.recs, x.places = append(x.recs, rec{}), append(x.places, place{})
	}
	for int(r.Ref) >= len(x.slots) {
		x.slots = append(x.slots, 0)
	}
	x.slots[r.Ref] = slot + 1
	numbers := make([]uint32, 0, max(inline, len(r.Names)))
	for _, n := range r.Names[:min(len(r.Names), 1<<16-1)] {
		numbers = append(numbers, x.takeName(n))
	}
	x.recs[slot] = rec{ref: r.Ref, aspect: x.aspects.take(r.Aspect), n: uint16(len(numbers)), tier: r.Tier, sort: sort}
	x.places[slot] = place{r.ID, r.Created, r.Strength}
	if copy(x.recs[slot].names[:], numbers) < len(numbers) {
		x.more[slot] = slices.Clone(numbers[inline:])
	}
	if len(numbers) == 0 {
		numbers = append(numbers, x.takeName(""))
	}
	for len(x.posts) < len(x.names.text) {
		x.posts = append(x.posts, nil)
	}
	for i, n := range numbers {
		x.join(n, x.recs[slot].key(i), slot)
		if sort == candidates {
			x.join(n, candidates, slot)
		}
	}
	if sort == constraints {
		x.addWords(slot, r.Said)
	}
}

// Remove removes a record, if it is in the index.
func (x *Index) Remove(ref store.Ref) {
	if int(ref) >= len(x.slots) || x.slots[ref] == 0 {
		return
	}
	slot := x.slots[ref] - 1
	r := &x.recs[slot]
	if r.n == 0 {
		n := x.names.number[""]
		x.leave(n, constraints, slot)
		x.dropName(n)
	}
	for i := range int(r.n) {
		n := x.nameAt(slot, i)
		x.leave(n, r.key(i), slot)
		if r.sort == candidates {
			x.leave(n, candidates, slot)
		}
		x.dropName(n)
	}
	x.removeWords(slot)
	x.aspects.drop(r.aspect)
	delete(x.more, slot)
	*r, x.places[slot] = rec{}, place{}
	x.slots[ref] = 0
	x.free = append(x.free, slot)
}

// key returns the group of a record under its i-th name.
func (r *rec) key(i int) uint32 {
	switch {
	case r.sort < mentions:
		return uint32(r.sort)
	case i > 0:
		return mentions
	}
	return beyond + r.aspect
}

func (x *Index) nameAt(slot uint32, i int) uint32 {
	if i < inline {
		return x.recs[slot].names[i]
	}
	return x.more[slot][i-inline]
}

// join adds a record to a list of a name; leave removes it.
func (x *Index) join(name, key, slot uint32) {
	at, ok := x.find(name, key)
	if !ok {
		x.posts[name] = slices.Insert(x.posts[name], at, group{key: key})
	}
	g := &x.posts[name][at]
	g.list = x.insert(g.list, slot, key)
}

// insert adds a record to a list at its sorted position; while loading, at the end.
func (x *Index) insert(list []uint32, slot, key uint32) []uint32 {
	i, order := len(list), x.order(key)
	if i > 0 && !x.loading && order(list[i-1], slot) > 0 {
		i, _ = slices.BinarySearchFunc(list, slot, order)
	}
	return slices.Insert(list, i, slot)
}

// without removes a record from a list.
func (x *Index) without(list []uint32, slot, key uint32) []uint32 {
	if x.loading { // the list is not sorted
		if i := slices.Index(list, slot); i >= 0 {
			return slices.Delete(list, i, i+1)
		}
	} else if i, ok := slices.BinarySearchFunc(list, slot, x.order(key)); ok {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func (x *Index) leave(name, key, slot uint32) {
	at, ok := x.find(name, key)
	if !ok {
		return
	}
	g := &x.posts[name][at]
	if g.list = x.without(g.list, slot, key); len(g.list) > 0 {
		return
	}
	if x.posts[name] = slices.Delete(x.posts[name], at, at+1); len(x.posts[name]) == 0 {
		x.posts[name] = nil
	}
}

func (x *Index) find(name, key uint32) (at int, ok bool) {
	return slices.BinarySearchFunc(x.posts[name], key, func(g group, key uint32) int { return cmp.Compare(g.key, key) })
}

// order returns the comparison function for a group's list.
func (x *Index) order(key uint32) func(a, b uint32) int {
	if key >= entities && key <= aliases {
		return func(a, b uint32) int {
			p, q := &x.places[a], &x.places[b]
			if c := cmp.Compare(p.strength, q.strength); c != 0 {
				return c
			}
			return byAge(p, q)
		}
	}
	return func(a, b uint32) int {
		if c := cmp.Compare(x.recs[a].tier, x.recs[b].tier); c != 0 {
			return c
		}
		return byAge(&x.places[a], &x.places[b])
	}
}

// byAge sorts the newest last; of two with the same time, the one with the smaller id.
func byAge(p, q *place) int {
	if c := cmp.Compare(p.created, q.created); c != 0 {
		return c
	}
	return bytes.Compare(q.id[:], p.id[:])
}
