package lexed

import (
	"slices"
	"strings"
)

// binding is a name that stands for something of a function's own from one token to
// another.
type binding struct {
	name        string // shares memory with the source
	first, last int32
}

// local binds the word at i from one token to another.
func (r *reader) local(i, first, last int) {
	if r.kind(i) != word || last < first {
		return
	}
	r.bindings = append(r.bindings, binding{r.text(i), int32(first), int32(last)})
}

// unbind takes the last binding back.
func (r *reader) unbind() { r.bindings = r.bindings[:len(r.bindings)-1] }

// locals knows which names are bound at a token, as the tokens are gone through in order.
type locals struct {
	begin, end []binding
	now        map[string]int
}

func newLocals(all []binding) *locals {
	l := &locals{begin: all, end: slices.Clone(all), now: map[string]int{}}
	slices.SortStableFunc(l.begin, func(a, b binding) int { return int(a.first) - int(b.first) })
	slices.SortStableFunc(l.end, func(a, b binding) int { return int(a.last) - int(b.last) })
	return l
}

// advance goes on to token i.
func (l *locals) advance(i int) {
	for len(l.end) > 0 && int(l.end[0].last) < i {
		l.now[l.end[0].name]--
		l.end = l.end[1:]
	}
	for len(l.begin) > 0 && int(l.begin[0].first) <= i {
		l.now[l.begin[0].name]++
		l.begin = l.begin[1:]
	}
}

func (l *locals) has(name string) bool { return l.now[name] > 0 }

// lower reports whether a name begins in lower case.
func lower(s string) bool {
	s = strings.TrimLeft(s, "_$#")
	return s != "" && s[0] >= 'a' && s[0] <= 'z'
}

// upper reports whether a name begins in upper case, as those of types and constants do.
func upper(s string) bool {
	s = strings.TrimLeft(s, "_$")
	return s != "" && s[0] >= 'A' && s[0] <= 'Z'
}
