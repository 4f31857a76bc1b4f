package lexed

import (
	"cmp"
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// typeDecl reads a struct, an enum or a union.
func (c *rustReader) typeDecl(i, end int, d declaration) int {
	at, enum := i+1, c.is(i, "enum")
	stop := c.headEnd(at+1, end)
	d.kind, d.stop, d.last = codegraph.KindType, stop, c.match(stop)
	n := c.declareAt(at, d)
	p := c.file.Decls[n]
	c.typeParameters(at+1, at+1, d.last)
	if c.op(stop) != '{' {
		return stop + 1
	}
	c.mark(stop, container)
	c.list(stop+1, min(c.match(stop), end), func(i, end int) {
		first := i
		for c.op(i) == '#' && c.op(i+1) == '[' {
			c.markNotUse(i, c.match(i+1))
			i = c.match(i+1) + 1
		}
		head := i
		i, public := c.public(i, enum)
		if c.kind(i) != word || i >= end {
			return
		}
		for k := i; k < end && enum; k++ { // the names of a variant's fields
			if c.kind(k) == word && c.op(k+1) == ':' {
				c.mark(k, notUse)
			}
		}
		c.declareAt(i, declaration{kind: codegraph.KindProperty, within: p.Qualified, parent: n, first: first, head: head, stop: end, last: end - 1, exported: public && p.Exported})
	})
	return d.last + 1
}

func (c *rustReader) trait(i, end int, d declaration) int {
	at := i + 1
	if c.kind(at) != word {
		return at
	}
	stop := c.headEnd(at+1, end)
	d.kind, d.stop, d.last = codegraph.KindInterface, stop, c.match(stop)
	n := c.declareAt(at, d)
	c.typeParameters(at+1, at+1, d.last)
	if k := c.afterTypes(at + 1); c.op(k) == ':' {
		c.bounds(n, k+1, stop)
	}
	if c.op(stop) == '{' {
		c.mark(stop, container)
		c.items(stop+1, min(d.last, end), rustLevel{parent: n, scope: c.file.Decls[n].Qualified, member: true, public: true})
	}
	return d.last + 1
}

// bounds records the supertraits of a trait.
func (c *rustReader) bounds(n, i, stop int) {
	for i < stop && !c.is(i, "where") {
		if c.name(i) && (c.op(i-1) == ':' || c.op(i-1) == '+') {
			c.base(n, codegraph.Inherits, i, stop)
		}
		if c.op(i) == '<' {
			i = max(c.angle(i), i)
		}
		i = c.skip(i)
	}
}

func (c *rustReader) alias(i, end int, d declaration, l rustLevel) int {
	stop := c.headEnd(i, end)
	if c.kind(i+1) == word {
		d.kind, d.stop, d.last = codegraph.KindType, stop, stop
		c.owned(c.declareAt(i+1, d), l)
		c.typeParameters(i+2, i+2, stop)
	}
	return stop + 1
}

// value reads a constant or a static.
func (c *rustReader) value(i, end int, d declaration, l rustLevel) int {
	at := i + 1
	if c.is(at, "mut") || c.is(at, "ref") {
		at++
	}
	stop := c.find(at, end, ';')
	if c.kind(at) == word && !c.is(at, "_") {
		d.kind, d.stop, d.last = codegraph.KindVariable, stop, min(stop, end-1)
		if l.member {
			d.kind = codegraph.KindProperty
		}
		for k := at; k < stop && k < at+64; k++ {
			if c.op(k) == '=' {
				d.stop = k
				break
			}
		}
		c.owned(c.declareAt(at, d), l)
		c.bodies = append(c.bodies, span{at, d.last})
	}
	return stop + 1
}

// macro reads "macro_rules! name { … }". It skips the body, which is not code of this file.
func (c *rustReader) macro(i, end int, d declaration) int {
	if c.op(i+1) != '!' || c.kind(i+2) != word {
		return c.skipItem(i, end)
	}
	d.kind, d.stop, d.last = codegraph.KindFunction, i+3, c.match(i+3)
	d.exported = strings.Contains(c.signature(d.first, i), "macro_export")
	c.markNotUse(i, d.last)
	c.declareAt(i+2, d)
	return d.last + 1
}

// useTree reads a use declaration: "use a::{b, c::{self, d as e}, f::*};".
func (c *rustReader) useTree(i, end int, scope string, public bool) int {
	stop := c.find(i, end, ';', '}')
	c.markNotUse(i, min(stop, end))
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
			c.noteGlobImport(path, scope, c.line(b.from))
		case len(path) > 0:
			alias := ""
			if c.is(k, "as") && k < b.to {
				alias = c.text(k + 1)
			}
			c.noteImportedName(path, alias, scope, c.line(b.from), public)
		}
	}
	return stop + 1
}

// maxBranches is the maximum number of names that one use declaration imports.
const maxBranches = 2000

// addAlias records a name that a use declaration gives to something in the file's module. Other modules can reach it
// there.
func (c *rustReader) addAlias(local, target string) {
	if local != target && joinDotted(c.scope, local) != target {
		c.file.Aliases = append(c.file.Aliases, codegraph.Alias{Name: c.intern(local), Target: c.intern(target)})
	}
}

// noteGlobImport records "use a::*".
func (c *rustReader) noteGlobImport(path []string, scope string, line int) {
	if len(path) == 0 {
		return
	}
	mod, ours := c.absolute(scope, path)
	if ours && scope == c.scope {
		c.addAlias("*", mod)
	}
	c.file.Imports = append(c.file.Imports, codegraph.Import{Path: c.intern(strings.Join(path, "::") + "::*"), Name: "*", Target: c.intern(codegraph.ID(codegraph.KindPackage, mod)), Line: line})
	if ours {
		c.addScope(mod)
	}
}

// noteImportedName records one name that a use declaration imports.
func (c *rustReader) noteImportedName(path []string, alias, scope string, line int, public bool) {
	written := strings.Join(path, "::")
	if path[len(path)-1] == "self" && len(path) > 1 {
		path = path[:len(path)-1]
	}
	local := cmp.Or(alias, path[len(path)-1])
	q, ours := c.absolute(scope, path)
	imp := codegraph.Import{Path: c.intern(written), Name: c.intern(alias), Line: line}
	module := c.set.rust.modules[q] || len(path) == 1 && ours || !c.set.rust.known && lower(lastPart(q)) && len(path) < 3
	target := q
	if !module && len(path) > 1 {
		target = parentModule(q)
		for upper(lastPart(target)) && strings.Contains(target, ".") { // a variant of an enum
			target = parentModule(target)
		}
	}
	imp.Target = c.intern(codegraph.ID(codegraph.KindPackage, target))
	c.file.Imports = append(c.file.Imports, imp)
	if local == "_" {
		return
	}
	if !ours {
		c.names[c.intern(local)] = name{}
		return
	}
	c.names[c.intern(local)] = name{qualified: c.intern(q), module: module}
	if scope == c.scope {
		c.addAlias(local, q)
	}
	if public && !module {
		c.addScope(target)
	}
}

// absolute returns the full name of a path. The path may begin with a module that this file declares. ours is false for
// a path in a library.
func (c *rustReader) absolute(scope string, path []string) (q string, ours bool) {
	if n, ok := c.names[path[0]]; ok && n.module {
		return joinDotted(n.qualified, strings.Join(path[1:], ".")), true
	}
	if n, ok := c.declared[joinDotted(scope, path[0])]; ok && len(path) > 1 {
		return joinDotted(c.file.Decls[n].Qualified, strings.Join(path[1:], ".")), true
	}
	return c.set.rust.absolute(scope, path)
}

// externCrate reads "extern crate a as b;".
func (c *rustReader) externCrate(i, end int) int {
	stop := c.headEnd(i, end)
	c.markNotUse(i, stop)
	imp := codegraph.Import{Path: c.intern(c.text(i + 2)), Target: c.intern(codegraph.ID(codegraph.KindPackage, c.text(i+2))), Line: c.line(i)}
	local := c.text(i + 2)
	if c.is(i+3, "as") {
		local = c.text(i + 4)
		imp.Name = c.intern(local)
	}
	if c.set.rust.crates[c.text(i+2)] {
		c.addAlias(local, c.text(i+2))
		c.names[c.intern(local)] = name{qualified: c.intern(c.text(i + 2)), module: true}
	}
	c.file.Imports = append(c.file.Imports, imp)
	return stop + 1
}

// resolveRust resolves a path of Rust. Results are as in resolve.
func (s *search) resolveRust(i, end int) (n string, qualified, ok bool) {
	var path []string
	for k := i; k <= end; k += 2 {
		path = append(path, s.text(k))
	}
	first, rest := path[0], strings.Join(path[1:], ".")
	if first == "crate" || first == "super" || first == "self" {
		q, ours := s.set.rust.absolute(s.moduleAround(), path)
		if imp, ok := s.names[lastPart(q)]; ok && parentModule(q) == s.scope {
			return imp.qualified, true, imp.qualified != "" && !imp.module
		}
		return q, true, ours
	}
	if imp, ok := s.names[first]; ok {
		if imp.qualified == "" || imp.module && rest == "" {
			return "", false, false
		}
		return joinDotted(imp.qualified, rest), true, true
	}
	if q, ok := s.lookup(first); ok {
		return joinDotted(q, rest), true, true
	}
	if len(path) > 1 {
		if q, ours := s.set.rust.absolute(s.scope, path); ours && s.set.rust.crates[first] {
			return q, true, true
		}
	}
	if (len(s.file.Scopes) > 0 || rest == "" && s.op(end+1) == '!') && !s.lang.builtin[first] { // exported macros are known everywhere
		return joinDotted(first, rest), false, true
	}
	return "", false, false
}

// moduleAround returns the module that contains the present token. It may be a module within the file.
func (s *search) moduleAround() string {
	if d := s.enclosing(codegraph.KindPackage); d >= 0 {
		return s.file.Decls[d].Qualified
	}
	return s.scope
}

// rustPaths holds the crates of a repository and their modules.
type rustPaths struct {
	known   bool
	names   map[string]string // names of crates by folder
	crates  map[string]bool
	roots   map[string]string // names of crates by root file, for those that Cargo.toml names
	modules map[string]bool
}

func newRustPaths(list []string, read func(string) string) *rustPaths {
	p := &rustPaths{names: map[string]string{}, crates: map[string]bool{}, roots: map[string]string{}, modules: map[string]bool{}}
	for _, f := range list {
		if path.Base(f) == "Cargo.toml" {
			p.manifest(path.Dir(f), read(f))
		}
	}
	for _, f := range list {
		if path.Ext(f) == ".rs" {
			p.known = true
			p.modules[p.module(f)] = true
		}
	}
	return p
}

// cargoLine matches the head of a section of Cargo.toml, and the keys that tell crates apart.
var cargoLine = lazyregexp.New(`(?m)^\s*(?:\[+\s*([\w.-]+)\s*\]+|(name|path|autotests)\s*=\s*"?([^"\s#]+))`)

// manifest reads the Cargo.toml of a folder: the names of its crates, and the root files that it gives them.
func (p *rustPaths) manifest(dir, text string) {
	type target struct{ section, name, path string }
	var own target
	var targets []target
	autotests := true
	for _, m := range cargoLine.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			targets = append(targets, target{section: m[1]})
		}
		if len(targets) == 0 {
			continue
		}
		switch t := &targets[len(targets)-1]; m[2] {
		case "name":
			t.name = m[3]
		case "path":
			t.path = path.Join(dir, m[3])
		case "autotests":
			autotests = m[3] != "false"
		}
	}
	for _, t := range targets {
		if t.section == "package" || t.section == "lib" && t.name != "" {
			own.name = t.name
		}
	}
	own.name = strings.ReplaceAll(cmp.Or(own.name, path.Base(dir)), "-", "_")
	if own.name != "." {
		p.names[dir] = own.name
		p.crates[own.name] = true
	}
	inDir := map[string]int{}
	for _, t := range targets {
		if t.section == "lib" || t.section == "bin" || t.section == "test" {
			inDir[path.Dir(t.path)]++
		}
	}
	for _, t := range targets {
		crate, folder := strings.ReplaceAll(t.name, "-", "_"), path.Dir(t.path)
		switch t.section {
		case "lib":
			crate = own.name
		case "bin":
			if strings.HasPrefix(t.path, path.Join(dir, "src")+"/") {
				continue // it shares its modules with the library
			}
		case "test":
			if autotests { // each file is a crate
				continue
			}
		default:
			continue
		}
		if t.path == "" || crate == "" {
			continue
		}
		p.roots[t.path] = crate
		if inDir[folder] == 1 && p.names[folder] == "" && path.Base(folder) != "src" {
			p.names[folder] = crate
		}
	}
}

// module returns the name of the module in a file: the crate, then the folders and the file below src.
func (p *rustPaths) module(file string) string {
	if crate := p.roots[file]; crate != "" {
		return crate
	}
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	crate, at := "crate", 0
	for n := len(parts) - 1; n >= 0; n-- {
		dir := strings.Join(parts[:n], "/")
		dir = cmp.Or(dir, ".")
		if name, ok := p.names[dir]; ok {
			crate, at = name, n
			break
		}
	}
	if at == 0 && crate == "crate" {
		for n := len(parts) - 2; n >= 0; n-- {
			if parts[n] == "src" {
				at = n
				if n > 0 {
					crate = strings.ReplaceAll(parts[n-1], "-", "_")
				}
				break
			}
		}
	}
	rest := parts[at:]
	if len(rest) > 1 && rest[0] == "src" {
		rest = rest[1:]
		if rest[0] == "bin" && len(rest) > 1 { // each binary is a crate of its own
			crate, rest = rest[1], rest[2:]
		}
	} else if len(rest) > 1 && (rest[0] == "tests" || rest[0] == "examples" || rest[0] == "benches") {
		crate, rest = crate+"."+rest[0], rest[1:]
	}
	if n := len(rest); n > 0 && (rest[n-1] == "mod" || n == 1 && (rest[0] == "lib" || rest[0] == "main")) {
		rest = rest[:n-1]
	}
	return joinDotted(crate, strings.Join(rest, "."))
}

// absolute returns the full name of a path used in the module scope. ours is false for a path in a library.
func (p *rustPaths) absolute(scope string, parts []string) (q string, ours bool) {
	crate, _, _ := strings.Cut(scope, ".")
	for _, kind := range []string{".tests", ".examples", ".benches"} {
		if rest, ok := strings.CutPrefix(scope, crate+kind+"."); ok { // a file next to src is a crate
			name, _, _ := strings.Cut(rest, ".")
			crate += kind + "." + name
			break
		}
	}
	base, rest := scope, parts[1:]
	switch first := joinDotted(scope, parts[0]); {
	case parts[0] == "crate":
		base = crate
	case parts[0] == "self":
	case parts[0] == "super":
		base = parentModule(base)
		for len(rest) > 0 && rest[0] == "super" {
			base, rest = parentModule(base), rest[1:]
		}
	case p.modules[first]:
		base = first
	case p.crates[parts[0]]:
		base = parts[0]
	default:
		return strings.Join(parts, "."), false
	}
	return joinDotted(base, strings.Join(rest, ".")), true
}
