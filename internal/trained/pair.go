package trained

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/embed/builtin"
)

// pairOf is two statements with their tokens matched.
type pairOf struct {
	old, new []token
	inOld    []int // for each token of new, the index of the same token in old, or -1
	inNew    []int
}

// match returns, for each token of a, the index of the same token in b, or -1. A token is matched
// only once.
func match(a, b []token) []int {
	out := make([]int, len(a))
	used := make([]bool, len(b))
	for i := range a {
		out[i] = -1
		if a[i].kind == mark {
			continue
		}
		for j := range b {
			if !used[j] && same(&a[i], &b[j]) {
				out[i], used[j] = j, true
				break
			}
		}
	}
	return out
}

// same reports whether two tokens are the same word, possibly in different forms.
func same(a, b *token) bool {
	if a.stem == b.stem {
		return true
	}
	if a.kind == mark || b.kind == mark || a.empty || b.empty {
		return false
	}
	x, y := a.stem, b.stem
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return a.kind != ident && a.kind != number && b.kind != ident && b.kind != number && (n >= 5 || n >= 4 && (n == len(x) || n == len(y)))
}

// sibling reports whether two names differ only in a number or in one part: service-1 and service-2.
func sibling(a, b *token) bool {
	if a.stem == b.stem || (a.kind != ident && a.kind != number) || a.kind != b.kind {
		return false
	}
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, s)
	}
	return a.kind == ident && letters(a.form) == letters(b.form) && letters(a.form) != ""
}

// bucket returns a count as part of a feature's name.
func bucket(n int) string {
	switch {
	case n > 5:
		return "6+"
	case n > 3:
		return "4"
	}
	return strconv.Itoa(n)
}

// fifths returns a value from 0 to 1 as part of a feature's name, in fifths.
func fifths(x float64) string { return strconv.Itoa(int(x * 5)) }

// pairFeatures returns the features of two statements: the words that both have, those that only one
// has, their positions, and the words around them.
func pairFeatures(before, after string) []feature {
	p := pairOf{old: tokensOf(before), new: tokensOf(after)}
	p.inOld, p.inNew = match(p.new, p.old), match(p.old, p.new)
	f := &features{}
	f.is("bias")
	nOld, firstOld := content(p.old)
	nNew, firstNew := content(p.new)
	if nOld == 0 || nNew == 0 {
		return f.list
	}
	shared := p.overlap(f, nOld, nNew)
	p.weigh(f)
	subject := p.sharedSubject(firstOld, firstNew)
	f.is("subject", subject)
	f.is("subject", subject, bucket(shared))
	onlyOld, onlyNew := p.exchanges(f, bucket(shared), subject)
	level := levelOf(shared, float64(shared)/float64(min(nOld, nNew)))
	f.is("level", level, subject)
	for _, i := range onlyOld {
		for _, j := range onlyNew {
			p.slots(f, i, j, level)
		}
	}
	if level == "near" || level == "mid" {
		p.hunks(f, level)
	}
	p.likeness(f, before, after, onlyOld, onlyNew, firstOld, firstNew, level)
	f.cues("new", p.new, p.inOld, level)
	f.cues("old", p.old, p.inNew, level)
	p.subjects(f, level)
	if strings.Contains(after, "?") {
		f.is("asks")
	}
	return f.list
}

// content returns the number of content words, and the first.
func content(all []token) (n, first int) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].content() {
			n, first = n+1, i
		}
	}
	return n, first
}

// overlap adds how many words both statements have, of how many, and returns their number.
func (p *pairOf) overlap(f *features, nOld, nNew int) (shared int) {
	names, values := 0, 0
	for i := range p.old {
		if t := &p.old[i]; t.content() && p.inNew[i] >= 0 {
			shared++
			switch {
			case t.kind == name:
				names++
			case t.value():
				values++
			}
		}
	}
	rOld, rNew := float64(shared)/float64(nOld), float64(shared)/float64(nNew)
	f.is("shared", bucket(shared))
	f.is("rOld", fifths(rOld))
	f.is("rNew", fifths(rNew))
	f.is("rMax", fifths(max(rOld, rNew)))
	f.is("rBoth", fifths(rOld), fifths(rNew))
	f.is("sharedNames", bucket(names))
	f.is("sharedValues", bucket(values))
	f.is("lenOld", bucket(nOld/2))
	f.is("lenNew", bucket(nNew/2))
	return shared
}

// levelOf returns how near two statements are that share so many words. most is the larger of their parts of shared words.
func levelOf(shared int, most float64) string {
	switch {
	case most >= 0.6:
		return "near"
	case shared >= 2 || most >= 0.4:
		return "mid"
	case shared == 0:
		return "none"
	}
	return "far"
}

// sharedSubject says in which statements the first content word is one that both have.
func (p *pairOf) sharedSubject(firstOld, firstNew int) string {
	old, fresh := p.inNew[firstOld] >= 0, p.inOld[firstNew] >= 0
	switch {
	case old && fresh && p.inNew[firstOld] == firstNew:
		return "equal"
	case old && fresh:
		return "both"
	case old:
		return "old"
	case fresh:
		return "new"
	}
	return "none"
}

// exchanges adds what kinds of words only one of the statements has, and returns these words. sh is the number of shared
// words.
func (p *pairOf) exchanges(f *features, sh, subject string) (onlyOld, onlyNew []int) {
	count := func(all []token, in []int) (kinds map[kind]int, list []int) {
		kinds = map[kind]int{}
		for i := range all {
			if all[i].content() && in[i] < 0 {
				kinds[all[i].kind]++
				list = append(list, i)
			}
		}
		return kinds, list
	}
	kOld, onlyOld := count(p.old, p.inNew)
	kNew, onlyNew := count(p.new, p.inOld)
	for _, k := range []kind{name, number, ident, month, plain, unspaced} {
		f.is("only", string(k), bucket(kOld[k]), bucket(kNew[k]))
		if kOld[k] > 0 && kNew[k] > 0 {
			f.is("exchange", string(k), sh)
			f.is("exchange", string(k), subject)
		}
	}
	if len(onlyOld) == 0 {
		f.is("adds", sh)
	}
	if len(onlyNew) == 0 {
		f.is("says less", sh)
	}
	return onlyOld, onlyNew
}

// slots adds whether word i of the old statement and word j of the new one are in the same place: beside the same word,
// or after the same preposition.
func (p *pairOf) slots(f *features, i, j int, level string) {
	a, b := &p.old[i], &p.new[j]
	if sibling(a, b) {
		f.is("sibling")
		f.is("sibling", third(i, len(p.old)), third(j, len(p.new)))
	}
	if i > 0 && j > 0 && p.inNew[i-1] == j-1 {
		l := p.old[i-1]
		f.is("slot<", string(a.kind), string(b.kind))
		if l.empty {
			f.is("slot<", l.form)
			f.is("slot<", l.form, string(a.kind), string(b.kind))
		}
		f.is("slot<", third(i, len(p.old)), third(j, len(p.new)))
	}
	if i+1 < len(p.old) && j+1 < len(p.new) && p.inNew[i+1] == j+1 {
		r := p.old[i+1]
		f.is("slot>", string(a.kind), string(b.kind))
		if r.empty {
			f.is("slot>", r.form)
		}
		f.is("slot>", third(i, len(p.old)), third(j, len(p.new)))
	}
	if x, y := precedingWord(p.old, i), precedingWord(p.new, j); x != "" && x == y {
		f.is("prep", x)
		f.is("prep", x, string(a.kind), string(b.kind))
		f.is("prep", x, level)
	}
}

// cues adds the words of a statement, by how similar the two statements are. in says which words the other one has.
func (f *features) cues(whose string, all []token, in []int, level string) {
	prev := "^"
	for i := range all {
		t := &all[i]
		form := t.word()
		both := "own"
		if in[i] >= 0 {
			both = "both"
		}
		if both == "own" || t.empty {
			f.is(whose, form, level)
			f.is(whose, form)
		}
		f.is(whose, both, prev, form)
		f.is(whose, level, prev, form)
		if t.value() && in[i] >= 0 {
			f.is(whose, "said before", prev, form)
			if whose == "new" {
				f.is("names old value", level)
			}
		}
		prev = form
	}
}

// subjects adds whether both statements have the same subject, as far as that can be determined.
func (p *pairOf) subjects(f *features, level string) {
	a, likelyA, ok := subjectSpan(p.old)
	b, likelyB, also := subjectSpan(p.new)
	if !ok || !also {
		return
	}
	shared := 0
	for i := a.from; i < a.to; i++ {
		if j := p.inNew[i]; j >= b.from && j < b.to {
			shared++
		}
	}
	alike := "none"
	switch n, m := a.to-a.from, b.to-b.from; {
	case shared == n && shared == m:
		alike = "equal"
	case shared == n || shared == m:
		alike = "within"
	case shared > 0:
		alike = "some"
	}
	sure := "unsure"
	if min(likelyA, likelyB) > 0.4 {
		sure = "sure"
	}
	f.is("about", alike)
	f.is("about", alike, sure)
	f.is("about", alike, level)
	elsewhere := func(s span, in []int) bool { return in[s.to-1] >= 0 }
	if shared == 0 {
		f.is("about", fmt.Sprint(elsewhere(a, p.inNew), elsewhere(b, p.inOld)), level)
	}
}

// precedingWord returns the function word before a token, with at most one other token between; "" if
// there is none.
func precedingWord(all []token, i int) string {
	for k := i - 1; k >= max(0, i-2); k-- {
		if all[k].empty {
			return all[k].form
		}
		if all[k].kind == mark {
			return ""
		}
	}
	return ""
}

// third returns the third of a statement that contains token i.
func third(i, n int) string {
	switch {
	case i*3 < n:
		return "begin"
	case i*3 < 2*n:
		return "mid"
	}
	return "end"
}

// likeness adds the similarity of the words that are not common, by the built-in embedding table.
func (p *pairOf) likeness(f *features, before, after string, onlyOld, onlyNew []int, firstOld, firstNew int, level string) {
	m, err := builtin.Open()
	if err != nil {
		return
	}
	texts := []string{before, after}
	add := func(all []token, list []int) {
		var b strings.Builder
		for _, i := range list {
			b.WriteString(all[i].form + " ")
		}
		texts = append(texts, b.String())
	}
	add(p.old, onlyOld)
	add(p.new, onlyNew)
	texts = append(texts, p.old[firstOld].form, p.new[firstNew].form)
	for _, i := range onlyOld {
		texts = append(texts, p.old[i].form)
	}
	for _, i := range onlyNew {
		texts = append(texts, p.new[i].form)
	}
	v, err := m.Embed(context.Background(), texts)
	if err != nil {
		return
	}
	whole := dot(v[0], v[1])
	f.is("whole", fifths(whole*2))
	f.is("whole", fifths(whole*2), level)
	f.add(float32(whole), "whole=")
	if len(onlyOld) > 0 && len(onlyNew) > 0 {
		rest := dot(v[2], v[3])
		f.is("rest", fifths(rest*2))
		f.add(float32(rest), "rest=")
		f.add(float32(rest), "rest=", level)
	}
	head := dot(v[4], v[5])
	f.is("head", fifths(head*2))
	f.add(float32(head), "head=")
	a, b := v[6:6+len(onlyOld)], v[6+len(onlyOld):]
	akin, akinSum := 0, 0.0
	for i := range a {
		best := 0.0
		for j := range b {
			best = max(best, dot(a[i], b[j]))
		}
		akinSum += best
		if best > 0.5 {
			akin++
			f.is("akin", string(p.old[onlyOld[i]].kind))
		}
	}
	f.is("akin", bucket(akin), level)
	if len(a) > 0 {
		f.add(float32(akinSum/float64(len(a))), "akin=")
	}
}

func dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0 // no word of one is in the table
	}
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// weigh adds the weight of the words that both have. A token with a longer vector in the built-in
// table says more about the topic of a text.
func (p *pairOf) weigh(f *features) {
	m, err := builtin.Open()
	if err != nil {
		return
	}
	row := make([]float32, m.Dim())
	weight := func(t *token) float64 {
		if !t.content() {
			return 0
		}
		id, known := m.Vocabulary().ID(t.form)
		if !known {
			return 1.5
		}
		m.Row(row, id)
		return math.Sqrt(dot(row, row))
	}
	both, most, old, fresh := 0.0, 0.0, 0.0, 0.0
	for i := range p.old {
		w := weight(&p.old[i])
		if old += w; p.inNew[i] >= 0 {
			both, most = both+w, max(most, w)
		}
	}
	for i := range p.new {
		fresh += weight(&p.new[i])
	}
	f.add(float32(both), "weight")
	f.is("weight", fifths(both))
	f.is("weight most", fifths(most*2))
	f.is("weight old", fifths(both/max(old, 1e-6)))
	f.is("weight new", fifths(both/max(fresh, 1e-6)))
}

// hunks adds the differences between the aligned statements: which words are in the same place, in
// which order, and after which words.
func (p *pairOf) hunks(f *features, level string) {
	n, m := len(p.old), len(p.new)
	table := p.commonLengths()
	aligned := func(i, j int) bool {
		return i < n && j < m && p.old[i].kind != mark && same(&p.old[i], &p.new[j]) && table[i*(m+1)+j] == table[(i+1)*(m+1)+j+1]+1
	}
	var shape strings.Builder
	exchanges, anchor, side := 0, "^", "before" // the first function word that both have
	for i, j := 0, 0; i < n || j < m; {
		if aligned(i, j) {
			if anchor = p.old[i].form; p.old[i].empty {
				side = "behind"
			}
			i, j = i+1, j+1
			continue
		}
		i0, j0 := i, j
		for (i < n || j < m) && !aligned(i, j) {
			if j < m && (i == n || table[i*(m+1)+j+1] >= table[(i+1)*(m+1)+j]) {
				j++
			} else {
				i++
			}
		}
		a, b := kindOf(p.old[i0:i]), kindOf(p.new[j0:j])
		if a == "" && b == "" {
			continue
		}
		if a != "" && b != "" && a != "-" && b != "-" {
			exchanges++
			f.is("hunk", a, b, anchor)
			f.is("hunk", a, b, side, level)
		}
		if shape.Len() < 24 {
			shape.WriteString(a + ">" + b + " ")
		}
	}
	f.is("exchanges", bucket(exchanges), level)
	f.is("shape", shape.String())
	f.is("shape", level, shape.String())
}

// commonLengths returns the lengths of the longest common subsequences of old[i:] and new[j:], at i*(len(new)+1)+j.
func (p *pairOf) commonLengths() []uint8 {
	n, m := len(p.old), len(p.new)
	table := make([]uint8, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			k := i*(m+1) + j
			if p.old[i].kind != mark && same(&p.old[i], &p.new[j]) {
				table[k] = table[k+m+2] + 1
			} else {
				table[k] = max(table[k+m+1], table[k+1])
			}
		}
	}
	return table
}

// kindOf returns the kind of the last content word that is not plain. Without one, it is the kind of the first token, or
// "-" if that is no content word. It is "" for an empty list.
func kindOf(list []token) string {
	best := ""
	for i := range list {
		if t := &list[i]; t.content() && (best == "" || t.kind != plain) {
			best = string(t.kind)
		} else if best == "" {
			best = "-"
		}
	}
	return best
}
