package facet

import (
	"math"
	"slices"
)

// words is a column of which each claim has one value or none.
type words struct {
	dictionary
	of []uint32 // by slot
}

func (w *words) set(slot uint32, name string) {
	old := w.of[slot]
	w.of[slot] = w.take(name) // before the old one goes, which may be the same
	w.drop(old)
}

// lists is a column of which each claim may have several values.
type lists struct {
	dictionary
	from  []uint32 // by slot: where its values begin in all
	n     []uint16 // by slot: how many they are
	all   []uint32
	waste int // of all, what no claim has any more
}

// values are those of a slot, each once.
func (l *lists) values(slot uint32) []uint32 {
	from := l.from[slot]
	return l.all[from : from+uint32(l.n[slot])]
}

// set gives a slot its values. One without a spelling is left out, and so is what
// is beyond 65,535.
func (l *lists) set(slot uint32, names []string) {
	old := slices.Clone(l.values(slot))
	from := len(l.all)
	for _, name := range names {
		if len(l.all)-from == math.MaxUint16 {
			break
		}
		code := l.take(name)
		if code == 0 {
			continue
		}
		if slices.Contains(l.all[from:], code) {
			l.drop(code)
			continue
		}
		l.all = append(l.all, code)
	}
	l.from[slot], l.n[slot] = uint32(from), uint16(len(l.all)-from)
	for _, code := range old {
		l.drop(code)
	}
	const some = 4096
	if l.waste += len(old); l.waste > some && l.waste > len(l.all)/2 {
		l.tidy()
	}
}

// tidy gives back what no claim has any more.
func (l *lists) tidy() {
	all := make([]uint32, 0, len(l.all)-l.waste)
	for slot := range l.from {
		v := l.values(uint32(slot))
		l.from[slot] = uint32(len(all))
		all = append(all, v...)
	}
	l.all, l.waste = all, 0
}
