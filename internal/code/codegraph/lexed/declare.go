package lexed

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// declaration is what a reader found. Places are tokens.
type declaration struct {
	kind     codegraph.Kind
	name     string
	within   string // the scope that qualifies it
	parent   int
	first    int // with its annotations
	head     int // without
	stop     int // where its heading ends: the signature is up to here, without this one
	last     int
	exported bool
	test     bool
	doc      string // if its comment stands elsewhere
}

const (
	maxSignature = 200 // bytes
	maxDoc       = 200
)

// declare adds a declaration and returns its place in File.Decls.
func (r *reader) declare(d declaration) int {
	d.last = min(max(d.last, d.head), len(r.toks)-1)
	if d.doc == "" {
		d.doc = r.doc(d.first, d.head)
	}
	line := r.line(d.head)
	q := join(d.within, d.name)
	decl := codegraph.Decl{
		Kind: d.kind, Name: r.keep(d.name), Qualified: r.keep(q), Parent: d.parent,
		Line: line, End: max(line, r.endLine(d.last)), Exported: d.exported,
		Signature: r.signature(d.head, d.stop), Doc: d.doc,
	}
	n := len(r.file.Decls)
	r.file.Decls = append(r.file.Decls, decl)
	r.places = append(r.places, place{first: int32(d.first), last: int32(d.last), test: d.test})
	if _, ok := r.declared[decl.Qualified]; !ok {
		r.declared[decl.Qualified] = n
	}
	return n
}

// signature writes the tokens from i up to stop on one line.
func (r *reader) signature(i, stop int) string {
	var b strings.Builder
	end := int32(-1)
	for ; i < stop && i < len(r.toks) && b.Len() <= maxSignature; i++ {
		t := r.toks[i]
		if end >= 0 && t.start > end && b.Len() > 0 {
			b.WriteByte(' ')
		}
		s := r.src[t.start:t.end]
		if t.kind == text {
			s = strings.Join(strings.Fields(s[:min(len(s), maxSignature)]), " ")
		}
		b.WriteString(s)
		end = t.end
	}
	return clip(strings.ToValidUTF8(b.String(), "\uFFFD"), maxSignature)
}

// clip cuts a text to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ") + "…"
}

// exported reports whether a declaration can be seen from outside, for its members.
func (r *reader) exported(i int) bool { return i < 0 || r.file.Decls[i].Exported }

// base notes that a declaration inherits from, or implements, the type at i.
func (r *reader) base(from int, kind codegraph.EdgeKind, i, end int) {
	if i >= end || r.kind(i) != word {
		return
	}
	path := i
	for path+2 < end && (r.op(path+1) == '.' || r.op(path+1) == opPath) && r.kind(path+2) == word {
		path += 2
	}
	r.mute(i, path+1)
	if from >= 0 {
		r.places[from].bases = append(r.places[from].bases, r.keep(r.text(path)))
	}
	r.own = append(r.own, ownUse{from: from, kind: kind, first: i, last: path})
}

// list calls f with each part of a list between i and end that commas separate, outside
// of brackets and of lists of types.
func (r *reader) list(i, end int, f func(i, end int)) {
	from := i
	for i < end {
		switch r.op(i) {
		case ',':
			f(from, i)
			i++
			from = i
			continue
		case '<':
			if shut := r.angle(i); shut > 0 && shut < end {
				i = shut + 1
				continue
			}
		}
		i = r.skip(i)
	}
	if from < end {
		f(from, min(i, end))
	}
}
