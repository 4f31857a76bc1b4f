package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// useTree reads a tree of uses: "use a::{b, c::{self, d as e}, f::*};".
func (c *rustReader) useTree(i, end int, scope string, public bool) int {
	stop := i
	for stop < end && c.op(stop) != ';' && c.op(stop) != '}' {
		stop = c.skip(stop)
	}
	c.mute(i, min(stop, end))
	type branch struct {
		prefix   []string
		from, to int
	}
	work := []branch{{nil, i + 1, min(stop, end)}}
	for n := 0; len(work) > 0 && n < maxBranches; n++ {
		b := work[0]
		work = work[1:]
		path := b.prefix[:len(b.prefix):len(b.prefix)]
		k := b.from
		if c.op(k) == opPath {
			k++
		}
		for k < b.to && c.kind(k) == word && len(path) < 64 {
			path = append(path, c.text(k))
			k++
			if c.op(k) != opPath {
				break
			}
			k++
		}
		switch {
		case c.op(k) == '{' && k < b.to:
			c.list(k+1, c.match(k), func(i, end int) { work = append(work, branch{path, i, end}) })
		case c.op(k) == '*' && k < b.to:
			c.glob(path, scope, c.line(b.from))
		case len(path) > 0:
			alias := ""
			if c.is(k, "as") && k < b.to {
				alias = c.text(k + 1)
			}
			c.used(path, alias, scope, c.line(b.from), public)
		}
	}
	return stop + 1
}

// maxBranches is how many names one use may bring.
const maxBranches = 2000

// glob notes "use a::*".
func (c *rustReader) glob(path []string, scope string, line int) {
	if len(path) == 0 {
		return
	}
	mod, ours := c.absolute(scope, path)
	c.file.Imports = append(c.file.Imports, codegraph.Import{Path: c.keep(strings.Join(path, "::") + "::*"), Name: "*", Target: c.keep(codegraph.ID(codegraph.KindPackage, mod)), Line: line})
	if ours {
		c.addScope(mod)
	}
}

// used notes one name that a use brings.
func (c *rustReader) used(path []string, alias, scope string, line int, public bool) {
	written := strings.Join(path, "::")
	if path[len(path)-1] == "self" && len(path) > 1 {
		path = path[:len(path)-1]
	}
	local := path[len(path)-1]
	if alias != "" {
		local = alias
	}
	q, ours := c.absolute(scope, path)
	imp := codegraph.Import{Path: c.keep(written), Name: c.keep(alias), Line: line}
	module := c.set.rust.isModule(q) || len(path) == 1 && ours || !c.set.rust.known && lower(last(q)) && len(path) < 3
	target := q
	if !module && len(path) > 1 {
		target = parentModule(q)
		for upper(last(target)) && strings.Contains(target, ".") { // a variant of an enum
			target = parentModule(target)
		}
	}
	imp.Target = c.keep(codegraph.ID(codegraph.KindPackage, target))
	c.file.Imports = append(c.file.Imports, imp)
	if local == "_" {
		return
	}
	n := name{}
	if ours {
		n = name{qualified: c.keep(q), module: module}
		if public && !module {
			c.addScope(target)
		}
	}
	c.names[c.keep(local)] = n
}

// absolute makes a full name of a path, which may begin with a module that this file
// declares.
func (c *rustReader) absolute(scope string, path []string) (q string, ours bool) {
	if n, ok := c.names[path[0]]; ok && n.module {
		return join(n.qualified, strings.Join(path[1:], ".")), true
	}
	if n, ok := c.declared[join(scope, path[0])]; ok && len(path) > 1 {
		return join(c.file.Decls[n].Qualified, strings.Join(path[1:], ".")), true
	}
	return c.set.rust.absolute(scope, path)
}

// externCrate reads "extern crate a as b;".
func (c *rustReader) externCrate(i, end int) int {
	stop := c.headEnd(i, end)
	c.mute(i, stop)
	imp := codegraph.Import{Path: c.keep(c.text(i + 2)), Target: c.keep(codegraph.ID(codegraph.KindPackage, c.text(i+2))), Line: c.line(i)}
	if c.is(i+3, "as") {
		imp.Name = c.keep(c.text(i + 4))
	}
	c.file.Imports = append(c.file.Imports, imp)
	return stop + 1
}

// resolveRust says what a path of Rust is.
func (s *search) resolveRust(i, end int) (n string, qualified, ok bool) {
	var path []string
	for k := i; k <= end; k += 2 {
		path = append(path, s.text(k))
	}
	first, rest := path[0], strings.Join(path[1:], ".")
	switch first {
	case "crate", "super", "self":
		q, ours := s.set.rust.absolute(s.moduleAround(), path)
		if imp, ok := s.names[last(q)]; ok && parentModule(q) == s.scope {
			return imp.qualified, true, imp.qualified != "" && !imp.module
		}
		return q, true, ours
	}
	if imp, ok := s.names[first]; ok {
		if imp.qualified == "" || imp.module && rest == "" {
			return "", false, false
		}
		return join(imp.qualified, rest), true, true
	}
	if q, ok := s.lookup(first); ok {
		return join(q, rest), true, true
	}
	if len(path) > 1 {
		if q, ours := s.set.rust.absolute(s.scope, path); ours && s.set.rust.crates[first] {
			return q, true, true
		}
	}
	if len(s.file.Scopes) > 0 && !s.lang.builtin[first] {
		return join(first, rest), false, true
	}
	return "", false, false
}

// moduleAround is the module that the present place is in, which may be one in the file.
func (s *search) moduleAround() string {
	for n, d := 0, s.owner; d >= 0 && n < maxDepth; n++ {
		if s.file.Decls[d].Kind == codegraph.KindPackage {
			return s.file.Decls[d].Qualified
		}
		d = s.file.Decls[d].Parent
	}
	return s.scope
}
