package consolidate

import "strings"

// hunk is a place where two statements differ: words of the one stand in the place
// of words of the other. Either side may be empty.
type hunk struct{ a, b []word }

// alignment is how two statements lie on each other. place tells where in each the
// hunks begin.
type alignment struct {
	a, b   []word
	hunks  []hunk
	place  [][2]int
	common int  // words that both have
	loose  bool // some of them in another form
}

// align finds the longest common subsequence of words. It gives the same hunks,
// sides exchanged, when a and b are.
func align(a, b []word) alignment {
	if less(b, a) {
		x := align(b, a)
		x.a, x.b = a, b
		for i := range x.hunks {
			x.hunks[i].a, x.hunks[i].b = x.hunks[i].b, x.hunks[i].a
			x.place[i][0], x.place[i][1] = x.place[i][1], x.place[i][0]
		}
		return x
	}
	al := alignment{a: a, b: b}
	pre := 0
	for pre < len(a) && pre < len(b) && al.match(pre, pre) {
		pre++
	}
	suf := 0
	for suf < len(a)-pre && suf < len(b)-pre && al.match(len(a)-1-suf, len(b)-1-suf) {
		suf++
	}
	al.common = pre + suf
	al.middle(pre, len(a)-suf, pre, len(b)-suf)
	return al
}

// less orders two statements, so that their order does not matter.
func less(a, b []word) bool {
	for i := range min(len(a), len(b)) {
		if c := strings.Compare(a[i].norm, b[i].norm); c != 0 {
			return c < 0
		}
		if a[i].is&shape != b[i].is&shape {
			return a[i].is&shape < b[i].is&shape
		}
	}
	return len(a) < len(b)
}

// middle aligns what is left when the common ends are off.
func (al *alignment) middle(a0, a1, b0, b1 int) {
	n, m := a1-a0, b1-b0
	if n == 0 && m == 0 {
		return
	}
	if n == 0 || m == 0 {
		al.add(a0, a1, b0, b1)
		return
	}
	var table [(maxWords + 1) * (maxWords + 1)]uint8
	at := func(i, j int) *uint8 { return &table[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if al.match(a0+i, b0+j) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	i, j, si, sj := 0, 0, 0, 0
	for i < n && j < m {
		switch {
		case al.match(a0+i, b0+j) && *at(i, j) == *at(i+1, j+1)+1:
			if i > si || j > sj {
				al.add(a0+si, a0+i, b0+sj, b0+j)
			}
			i, j = i+1, j+1
			si, sj = i, j
			al.common++
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	if si < n || sj < m {
		al.add(a0+si, a1, b0+sj, b1)
	}
}

func (al *alignment) add(a0, a1, b0, b1 int) {
	al.hunks = append(al.hunks, hunk{al.a[a0:a1], al.b[b0:b1]})
	al.place = append(al.place, [2]int{a0, b0})
}

// match reports whether word i of a and word j of b say the same.
func (al *alignment) match(i, j int) bool {
	x, y := &al.a[i], &al.b[j]
	if x.equals(y) {
		al.loose = al.loose || respelled(x.raw, y.raw)
		return true
	}
	if plural(x, y) && bare(al.a[:i]) && bare(al.b[:j]) || (x.is^y.is)&compound != 0 && lower(x.raw) == lower(y.raw) {
		al.loose = true
		return true
	}
	return false
}

// respelled reports another spelling, where apostrophes and commas don't count.
func respelled(x, y string) bool {
	return x != y && lower(x) != lower(y) && !strings.ContainsAny(x, "'’,") && !strings.ContainsAny(y, "'’,")
}

// bare reports whether the noun behind these words stands without a word that says
// how many there are.
func bare(before []word) bool {
	for i := len(before) - 1; i >= 0; i-- {
		switch w := &before[i]; {
		case w.has(article | definite | owner | number | counts):
			return false
		case w.has(verb | be | prep | joins | limits | modal | negates | adds):
			return true
		}
	}
	return true
}

// plural reports a bare noun that once stands for one and once for many, as in
// "integration tests need Docker". With an article, a number or a quantifier it
// would say how many, and a time would say how often.
func plural(x, y *word) bool {
	if len(x.norm) > len(y.norm) {
		x, y = y, x
	}
	const bare = article | definite | owner | timely | name | exact | number | unit | verb | pronoun | counts
	if len(x.norm) < 3 || (x.is|y.is)&bare != 0 || x.norm == "user" {
		return false
	}
	s, ok := strings.CutPrefix(y.norm, x.norm)
	return ok && (s == "s" || s == "es" && strings.HasSuffix(x.norm, "s"))
}
