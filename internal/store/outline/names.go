package outline

import (
	"maps"
	"slices"

	"github.com/kenlayer/ken/store"
)

// Names returns up to n names after the given one, in byte order, each with the number
// of its records that pass. Names without such a record are left out. more reports
// whether further names follow.
func (x *Index) Names(pass Pass, after string, n int) (page []store.NameCount, more bool) {
	sorted := x.inOrder()
	from, found := slices.BinarySearch(sorted, after)
	if found {
		from++
	}
	for _, name := range sorted[from:] {
		number := x.names.number[name]
		c := store.NameCount{Name: name}
		for _, g := range x.posts[number] {
			if g.key == candidates { // they are in another group, too
				continue
			}
			for _, slot := range g.list {
				r := &x.recs[slot]
				if r.n == 0 || !pass.of(r) {
					continue
				}
				c.Records++
				if r.names[0] == number {
					c.Primary++
				}
			}
		}
		if c.Records == 0 {
			continue
		}
		if len(page) >= n {
			return page, true
		}
		page = append(page, c)
	}
	return page, false
}

// inOrder returns all names, sorted once after a change. Concurrent readers may call
// it: no writer runs at the same time.
func (x *Index) inOrder() []string {
	if p := x.sorted.Load(); p != nil {
		return *p
	}
	sorted := slices.AppendSeq(make([]string, 0, len(x.names.number)), maps.Keys(x.names.number))
	slices.Sort(sorted)
	x.sorted.Store(&sorted)
	return sorted
}

// takeName and dropName count the uses of a name.
func (x *Index) takeName(s string) uint32 {
	n := x.names.take(s)
	if x.names.uses[n] == 1 {
		x.sorted.Store(nil)
	}
	return n
}

func (x *Index) dropName(n uint32) {
	if x.names.drop(n); x.names.uses[n] == 0 {
		x.sorted.Store(nil)
	}
}

// Len returns the number of names.
func (x *Index) Len() int {
	n := len(x.names.number)
	if _, some := x.names.number[""]; some {
		n--
	}
	return n
}

// Words returns the number of different words in rules.
func (x *Index) Words() int { return len(x.said.number) }
