package consolidate

import "slices"

// attached reports whether each number of b stands beside the same word as in a,
// and what follows each preposition and comparison is what follows it in a.
func attached(a, b []word) bool {
	for i := range b {
		w := &b[i]
		switch {
		case w.has(number):
			if !beside(a, w.norm, b, i) {
				return false
			}
		case w.is&(prep|limits|counts) != 0 && !condition[w.norm] && (i+1 == len(b) || !b[i+1].has(prep)):
			if next := neighbour(b, i, 1); next != "" && !follows(a, w.norm, next) {
				return false
			}
		}
	}
	return true
}

// neighbour is the nearest telling word in a direction, "" for none.
func neighbour(w []word, i, step int) string {
	for i += step; i >= 0 && i < len(w); i += step {
		if tells(&w[i]) {
			return keyOf(&w[i])
		}
	}
	return ""
}

// beside reports whether the number at b[i] stands in a near one of the words that
// it stands near in b: two to each side.
func beside(a []word, number string, b []word, i int) bool {
	near := around(b, i)
	for j := range a {
		if a[j].norm != number {
			continue
		}
		for _, x := range around(a, j) {
			if slices.Contains(near, x) {
				return true
			}
		}
	}
	return false
}

// around returns the two telling words before and after w[i].
func around(w []word, i int) []string {
	var out []string
	for _, step := range [2]int{-1, 1} {
		for j, n := i+step, 0; j >= 0 && j < len(w) && n < 2; j += step {
			if tells(&w[j]) {
				out = append(out, keyOf(&w[j]))
				n++
			}
		}
	}
	return out
}

// follows reports whether next stands in a behind the word, before another one of
// its kind, or a lacks the word.
func follows(a []word, norm, next string) bool {
	has := false
	for i := range a {
		if a[i].norm != norm {
			continue
		}
		has = true
		for j := i + 1; j < len(a) && a[j].is&(prep|limits) == 0; j++ {
			if keyOf(&a[j]) == next || a[j].has(pronoun) {
				return true
			}
		}
	}
	return !has
}

// short bounds what is aligned; a longer text is covered by its words alone.
func short(w []word) []word { return w[:min(len(w), maxWords)] }

func (x *told) short() []word { return short(x.text.words) }

// swapped reports two sentences of the same verb that exchange who does it and to
// whom.
func swapped(a, b []word) bool {
	x, ok1 := parse(a)
	y, ok2 := parse(b)
	if !ok1 || !ok2 || x.key != y.key || len(y.subject) == 0 || len(x.subject) == 0 {
		return false
	}
	who := keyOf(&y.subject[len(y.subject)-1])
	for i := range x.subject {
		for j := range y.subject {
			if keyOf(&x.subject[i]) == keyOf(&y.subject[j]) {
				return false
			}
		}
	}
	for i := x.verbAt; i < len(a); i++ {
		if keyOf(&a[i]) == who {
			return true
		}
	}
	return false
}
