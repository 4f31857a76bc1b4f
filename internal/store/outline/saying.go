package outline

import (
	"slices"

	"github.com/kenlayer/ken/store"
)

// say notes the words of a rule; unsay forgets them.
func (x *Index) say(slot uint32, said []string) {
	if len(said) == 0 {
		return
	}
	text := make([]uint32, len(said))
	for i, w := range said {
		n := x.said.take(w)
		for int(n) >= len(x.sayers) {
			x.sayers = append(x.sayers, nil)
		}
		if !slices.Contains(text[:i], n) {
			x.sayers[n] = x.insert(x.sayers[n], slot, constraints)
		}
		text[i] = n
	}
	x.texts[slot] = text
}

func (x *Index) unsay(slot uint32) {
	text := x.texts[slot]
	for i, n := range text {
		if !slices.Contains(text[:i], n) {
			x.sayers[n] = x.without(x.sayers[n], slot, constraints)
		}
		if len(x.sayers[n]) == 0 {
			x.sayers[n] = nil
		}
		x.said.drop(n)
	}
	delete(x.texts, slot)
}

// mentions adds the rules that say a name, and don't carry it, to its outline. Only
// those are looked at that say the rarest of its words.
func (x *Index) mentions(out *store.Outline, name uint32, carried bool, pass *Pass) {
	var buf [8]uint32
	words := buf[:0]
	r := speech{text: out.Name}
	for raw, word := r.next(); raw != ""; raw, word = r.next() {
		n, ok := x.said.number[string(word)]
		if !ok {
			return
		}
		words = append(words, n)
	}
	if len(words) == 0 {
		return
	}
	rarest := x.sayers[words[0]]
	for _, w := range words[1:] {
		if l := x.sayers[w]; len(l) < len(rarest) {
			rarest = l
		}
	}
	for _, slot := range slices.Backward(rarest) {
		if carried && x.carries(slot, name) || len(words) > 1 && !within(words, x.texts[slot]) {
			continue
		}
		if ref := x.recs[slot].ref; pass.Claim(ref) {
			out.Constraints = append(out.Constraints, ref)
			out.Mentioned++
		}
	}
}

func (x *Index) carries(slot, name uint32) bool {
	for i := range int(x.recs[slot].n) {
		if x.nameAt(slot, i) == name {
			return true
		}
	}
	return false
}

// within reports whether words stand in a text next to each other, in their order.
func within(words, text []uint32) bool {
	for i, w := range text[:max(0, len(text)-len(words)+1)] {
		if w == words[0] && slices.Equal(text[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
