package structure

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/structure/reading"
)

// Signs are what shows which entities a turn is about.
//
// A name in the text counts in any of its spellings. One that is a common word
// ("go", "set", "main") counts only where it is meant as a name: written as code, as
// a symbol, with a capital inside of a sentence, or with what it is behind it ("the
// go service").
type Signs struct {
	Signals ken.Signals
	Text    string // that names are read from; empty: Signals.Question. Of a long one, the beginning and the end
	Project string // the project's name, or its folder's path
	Scopes  []ken.Scope
	// Carried are entities from the session's earlier turns and its checkpoint,
	// strongest first, as Focus names them.
	Carried []string
	// Named are further names of what the turn names, in any spelling, and Beside is
	// what hangs together with it; see there. Graph.Focal has no use for Beside.
	Named  []string
	Beside []Beside
}

// Origin is what makes an entity focal.
type Origin string

// Origins, strongest first.
const (
	FromCode    Origin = "code"    // the turn names it, as code or a symbol
	FromText    Origin = "text"    // the turn names it
	FromSession Origin = "session" // an earlier turn of the session did
	FromScope   Origin = "scope"   // it is what the turn's scope is called
	FromProject Origin = "project" // it is what the project is called
)

// Named reports whether the turn itself names what is of this origin.
func (o Origin) Named() bool { return o == FromCode || o == FromText }

// rank orders origins, 0 is the strongest.
func (o Origin) rank() int {
	switch o {
	case FromCode:
		return 0
	case FromText:
		return 1
	case FromSession:
		return 2
	case FromScope:
		return 3
	}
	return 4
}

// Near is how near an entity of this origin is to what the turn is about, 0..1. The
// figures say no more than their order.
func (o Origin) Near() float64 {
	switch {
	case o.Named():
		return 1
	case o == FromSession:
		return 0.6
	}
	return 0.4
}

// Focus is an entity that a turn is about.
type Focus struct {
	Name  string   // as analysis.Entity spells it; of several names the one that the others are aliases of
	Names []string // all its names, Name first
	From  Origin
	Said  string // the name by which it was found, spelled the same way
}

// mention is a name that something in the signs may be meant by.
type mention struct {
	name  string
	from  Origin
	words int  // more is surer
	at    int  // earlier is stronger
	typed bool // only what stands behind it can tell that it is a name
}

// better orders mentions.
func (m *mention) better(o *mention) bool {
	if a, b := m.from.rank(), o.from.rank(); a != b {
		return a < b
	}
	if m.words != o.words {
		return m.words > o.words
	}
	return m.at < o.at
}

// mentions collects what may be names, each once.
type mentions struct {
	list []mention
	at   map[string]int
	// heads are, by common word, what stands behind it: it is a name if that tells what
	// it names.
	heads map[string][]string
}

func (ms *mentions) add(m mention) {
	if m.name == "" {
		return
	}
	if i, ok := ms.at[m.name]; ok {
		if m.better(&ms.list[i]) {
			m.typed = m.typed && ms.list[i].typed
			ms.list[i] = m
		} else if !m.typed {
			ms.list[i].typed = false
		}
		return
	}
	ms.at[m.name] = len(ms.list)
	ms.list = append(ms.list, m)
}

// spelled adds a name and its variants. A common word needs to be marked as a name.
func (ms *mentions) spelled(raw string, from Origin, at int, marked bool) {
	whole := analysis.Entity(raw)
	if whole == "" {
		return
	}
	if marked || !reading.Common(whole) {
		ms.add(mention{name: whole, from: from, words: 1, at: at})
	}
	if !parted(raw) {
		if other := reading.OtherNumber(whole); other != "" && (marked || !reading.Common(whole)) { // an invoice is one of the invoices
			ms.add(mention{name: other, from: from, words: 1, at: at})
		}
		return
	}
	for _, v := range reading.Variants(raw) { // none of them is common
		ms.add(mention{name: v, from: from, words: 1, at: at})
	}
}

// parted reports what has variants: an identifier, a path, several words.
func parted(raw string) bool {
	for i := range len(raw) {
		switch c := raw[i]; {
		case c >= 'A' && c <= 'Z' && i > 0, c == '.', c == '/', c == '_', c == '-', c == '(', c == ' ':
			return true
		}
	}
	return false
}

// typed notes a common word with another behind it.
func (ms *mentions) typed(name, head string, at int) {
	ms.add(mention{name: name, from: FromText, words: 1, at: at, typed: true})
	ms.heads[name] = append(ms.heads[name], head)
}

// means reports whether a mention is of a name, if there is such a name.
func (ms *mentions) means(m *mention) bool {
	if !m.typed {
		return true
	}
	const name = "payments" // any that is not common
	return slices.ContainsFunc(ms.heads[m.name], func(head string) bool {
		return slices.Contains(reading.Variants(name+" "+head), name)
	})
}

// mentionsOf reads all signs.
func mentionsOf(s *Signs) *mentions {
	ms := &mentions{at: map[string]int{}, heads: map[string][]string{}}
	for i, sym := range s.Signals.Symbols {
		ms.spelled(sym, FromCode, i, true)
	}
	text := s.Text
	if text == "" {
		text = s.Signals.Question
	}
	n := ms.text(text)
	for _, list := range [][]string{s.Signals.Entities, s.Signals.Keywords} {
		for i, name := range list {
			ms.spelled(name, FromText, n+i, false)
		}
	}
	for i, name := range s.Named {
		ms.add(mention{name: analysis.Entity(name), from: FromCode, words: 1, at: len(s.Signals.Symbols) + i})
	}
	for i, name := range s.Carried {
		ms.add(mention{name: analysis.Entity(name), from: FromSession, words: 1, at: i})
	}
	for i, sc := range s.Scopes {
		ms.add(mention{name: analysis.Entity(sc.ID), from: FromScope, words: 2, at: i})
		if sc.Type == ken.ScopeProject || sc.Type == ken.ScopeRepo {
			ms.spelled(base(sc.ID), FromScope, i, true)
		}
	}
	ms.spelled(base(s.Project), FromProject, 0, false)
	return ms
}

// base is the last part of a path, or a name as it is.
func base(p string) string {
	p = strings.TrimRight(strings.ReplaceAll(p, "\\", "/"), "/")
	if p == "" {
		return ""
	}
	return strings.TrimSuffix(path.Base(p), ".git")
}
