package lexed

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// python reads a file of Python statement by statement, using the indentation.
func (r *reader) python() {
	mod := r.set.python.module(r.file.Path)
	r.scope, r.module = mod, true
	r.file.Within = codegraph.ID(codegraph.KindPackage, mod)
	p := &pythonReader{reader: r}
	if up := p.conftest(path.Dir(path.Dir(r.file.Path))); up != "" && path.Base(r.file.Path) == "conftest.py" {
		p.alias("*", up)
	}
	for i := 0; i < len(r.toks); {
		end := p.lineEnd(i)
		p.logicalLine(i, end)
		i = end
	}
	p.close(-1, len(r.toks)-1)
	p.finish()
}

type pythonReader struct {
	*reader
	blocks     []pyBlock // open definitions, outermost first
	pending    int       // number of the first decorator's token before a definition, plus one; 0 for none
	test       bool      // a decorator marks the definition as a test
	prop       bool      // a decorator makes a property
	all        map[string]bool
	start      int // first token of the present statement
	until      int // its last token, if it has no block
	lineLocals []pyLocal
	fixture    bool // a decorator makes it a fixture of pytest
}

// pyBlock is a definition whose body is being read.
type pyBlock struct {
	indent   int32
	decl     int // index in File.Decls; -1 for a function within a function
	function bool
	first    int
	globals  map[string]bool
	locals   []int // tokens of the names that it binds
	typings  []int // indices in reader.typings of the types of its locals
}

// pyLocal is a name that is bound only within one line.
type pyLocal struct{ at, first, last int }

// lineEnd returns the token after the logical line that begins at i.
func (p *pythonReader) lineEnd(i int) int {
	for i = p.skip(i); i < len(p.toks) && !p.toks[i].first(); {
		i = p.skip(i)
	}
	return i
}

// logicalLine reads one logical line: it closes the blocks that end before it and reads each of its statements.
func (p *pythonReader) logicalLine(i, end int) {
	p.close(p.toks[i].indent, i-1)
	for i < end {
		stop := i
		for stop < end && p.op(stop) != ';' {
			stop = p.skip(stop)
		}
		stop = min(stop, end)
		if stop > i {
			p.statement(i, stop)
		}
		i = stop + 1
	}
}

// close closes the blocks that do not contain a line with this indentation.
func (p *pythonReader) close(indent int32, last int) {
	for n := len(p.blocks) - 1; n >= 0 && p.blocks[n].indent >= indent; n-- {
		b := p.blocks[n]
		if b.decl >= 0 {
			p.places[b.decl].last = int32(max(last, int(p.places[b.decl].last)))
			d := &p.file.Decls[b.decl]
			d.End = max(d.Line, p.endLine(int(p.places[b.decl].last)))
		}
		for _, at := range b.locals {
			if !b.globals[p.text(at)] {
				p.local(at, b.first, last)
			}
		}
		for _, at := range b.typings {
			p.typings[at].last = last
		}
		p.blocks = p.blocks[:n]
	}
}

func (p *pythonReader) top() *pyBlock {
	if len(p.blocks) == 0 {
		return nil
	}
	return &p.blocks[len(p.blocks)-1]
}

// inFunction reports whether the present statement is in a function.
func (p *pythonReader) inFunction() bool {
	b := p.top()
	return b != nil && b.function
}

// statement reads one statement, and what follows a colon on its line.
func (p *pythonReader) statement(i, end int) {
	switch w := p.text(i); {
	case p.op(i) == '@':
		if p.pending == 0 {
			p.pending = i + 1
		}
		p.decorator(i+1, end)
		return
	case w == "async" && end > i+1:
		if p.is(i+1, "def") {
			p.definition(i, i+1, end)
			return
		}
		p.compound(i+1, end)
		return
	case w == "def" && p.kind(i+1) == word:
		p.definition(i, i, end)
		return
	case w == "class" && p.kind(i+1) == word:
		p.class(i, end)
		return
	case w == "import" || w == "from" && p.op(i+1) != '=':
		p.imports(i, end)
	case w == "global" || w == "nonlocal":
		if b := p.top(); b != nil {
			if b.globals == nil {
				b.globals = map[string]bool{}
			}
			for k := i + 1; k < end; k++ {
				b.globals[p.text(k)] = true
			}
		}
	case compoundWords[w] && (w != "match" && w != "case" || p.softKeyword(i, end)):
		p.compound(i, end)
		return
	case w == "type" && p.kind(i+1) == word && !p.inFunction():
		p.variable(i+1, i, end, codegraph.KindType)
	default:
		p.simple(i, end)
	}
	p.pending, p.test, p.prop, p.fixture = 0, false, false, false
}

var compoundWords = words("if elif else for while try except finally with match case")

// softKeyword reports whether "match" or "case" at i begins a block. Both words can also be names.
func (p *pythonReader) softKeyword(i, end int) bool {
	switch o := p.op(i + 1); o {
	case '=', ':', '.', ',', ')', ']', opAssign:
		return false
	}
	colon := i + 1
	for colon < end && p.op(colon) != ':' && p.op(colon) != '=' {
		colon = p.skip(colon)
	}
	return colon > i+1 && p.op(colon) == ':' && colon < end
}

// decorator records what a decorator says about the next definition.
func (p *pythonReader) decorator(i, end int) {
	stop := i
	for stop < end && p.op(stop) != '(' {
		stop++
	}
	name := p.text(stop - 1)
	p.prop = p.prop || name == "property" || name == "cached_property" || name == "setter" || name == "deleter" || name == "getter"
	p.fixture = p.fixture || name == "fixture"
	for k := i; k < stop; k++ {
		p.test = p.test || p.text(k) == "pytest" && name != "fixture"
	}
}

// compound reads the head of a block other than a definition, and the statement on its line, if any.
func (p *pythonReader) compound(i, end int) {
	colon := i + 1
	for colon < end && p.op(colon) != ':' {
		if p.is(colon, "lambda") { // it has its own colon
			for colon < end && p.op(colon) != ':' {
				colon = p.skip(colon)
			}
			colon++
			continue
		}
		colon = p.skip(colon)
	}
	colon = min(colon, end)
	p.mark(i, notUse) // "match" is a name elsewhere
	if p.is(i, "case") {
		p.caseNames(i+1, colon)
	} else {
		p.headNames(i, colon)
	}
	p.pending, p.test, p.prop, p.fixture = 0, false, false, false
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

// inline reads a statement on the line of a block's head. Definitions are not allowed there, so this does not recurse.
func (p *pythonReader) inline(i, end int) {
	switch w := p.text(i); {
	case w == "import" || w == "from":
		p.imports(i, end)
	case !compoundWords[w] && w != "def" && w != "class" && w != "async":
		p.simple(i, end)
	}
}

// definition reads a function.
func (p *pythonReader) definition(head, i, end int) {
	first := head
	if p.pending > 0 {
		first = p.pending - 1
	}
	test, prop, fixture := p.test, p.prop, p.fixture
	p.pending, p.test, p.prop, p.fixture = 0, false, false, false
	nameAt := i + 1
	p.mark(nameAt, notUse)
	open := nameAt + 1
	if p.op(open) == '[' { // types
		open = p.match(open) + 1
	}
	colon := open
	for colon < end && p.op(colon) != ':' {
		colon = p.skip(colon)
	}
	colon = min(colon, end)
	indent := p.toks[head].indent
	if indent < 0 {
		indent = 1 << 20
	}
	b := pyBlock{indent: indent, decl: -1, function: true, first: first}
	fixture = fixture || test || strings.HasPrefix(p.text(nameAt), "test")
	if p.inFunction() {
		p.bindLocal(nameAt)
	} else {
		parent, scope := p.around()
		name := p.text(nameAt)
		d := declaration{kind: codegraph.KindFunction, name: name, within: scope, parent: parent, first: first, head: head, stop: colon, last: end - 1,
			exported: p.public(name, parent), doc: p.docstring(colon, end), test: test || p.namesTest(name, parent)}
		if parent >= 0 {
			d.kind = codegraph.KindMethod
			if prop {
				d.kind = codegraph.KindProperty
			}
		}
		b.decl = p.declare(d)
		if arrow := p.match(open) + 1; p.op(open) == '(' && p.op(arrow) == opThinArrow {
			p.declType(b.decl, arrow+1, colon, true)
		}
	}
	p.blocks = append(p.blocks, b)
	if p.op(open) == '(' {
		p.parameters(open+1, p.match(open), fixture)
	}
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

func (p *pythonReader) public(name string, parent int) bool {
	return p.exported(parent) && (!strings.HasPrefix(name, "_") || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"))
}

// around returns the class that contains the present statement, and its qualified name.
func (p *pythonReader) around() (parent int, scope string) {
	if b := p.top(); b != nil && b.decl >= 0 {
		return b.decl, p.file.Decls[b.decl].Qualified
	}
	return -1, p.scope
}

// docstring returns the first sentence of the string after a heading.
func (p *pythonReader) docstring(colon, end int) string {
	i := colon + 1
	if i < end {
		return ""
	}
	i = end
	if p.kind(i) != text || !p.toks[i].first() {
		return ""
	}
	s := strings.TrimLeft(p.text(i), "rRuUbB")
	s = strings.Trim(s, `"'`)
	return sentence(strings.Split(s[:min(len(s), 4096)], "\n"))
}

// class reads a class.
func (p *pythonReader) class(i, end int) {
	first := i
	if p.pending > 0 {
		first = p.pending - 1
	}
	p.pending, p.test, p.prop, p.fixture = 0, false, false, false
	indent := p.toks[i].indent
	if indent < 0 {
		indent = 1 << 20
	}
	p.mark(i+1, notUse)
	open := i + 2
	if p.op(open) == '[' {
		open = p.match(open) + 1
	}
	colon := open
	if p.op(open) == '(' {
		colon = p.match(open) + 1
	}
	colon = min(colon, end)
	b := pyBlock{indent: indent, decl: -1, first: first}
	if p.inFunction() {
		p.bindLocal(i + 1)
		b.function = true
	} else {
		parent, scope := p.around()
		name := p.text(i + 1)
		d := declaration{kind: codegraph.KindType, name: name, within: scope, parent: parent, first: first, head: i, stop: colon, last: end - 1,
			exported: p.public(name, parent), doc: p.docstring(colon, end)}
		if p.op(open) == '(' && p.protocol(open+1, colon-1) {
			d.kind = codegraph.KindInterface
		}
		d.test = strings.HasPrefix(name, "Test") || strings.HasSuffix(name, "Test") || strings.HasSuffix(name, "Tests") || strings.HasSuffix(name, "TestCase")
		b.decl = p.declare(d)
		if p.op(open) == '(' {
			p.list(open+1, p.match(open), func(i, end int) {
				if p.op(i+1) != '=' {
					p.base(b.decl, codegraph.Inherits, i, end)
				}
			})
		}
	}
	p.blocks = append(p.blocks, b)
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

// protocol reports whether Protocol is one of the bases.
func (p *pythonReader) protocol(i, end int) bool {
	for ; i < end; i++ {
		if p.is(i, "Protocol") {
			return true
		}
	}
	return false
}

// imports reads "import a.b as c" and "from .a import b as c, d".
func (p *pythonReader) imports(i, end int) {
	p.markNotUse(i, end)
	line := p.line(i)
	if p.is(i, "import") {
		p.list(i+1, end, func(i, end int) {
			mod, next := p.dottedName(i, end)
			if mod == "" {
				return
			}
			full, ours := p.set.python.resolve(p.file.Path, mod)
			imp := codegraph.Import{Path: p.intern(mod), Target: p.packageID(full), Line: line}
			local := mod
			if p.is(next, "as") {
				imp.Name = p.intern(p.text(next + 1))
				local = imp.Name
			} else if root, rest, ok := strings.Cut(mod, "."); ok { // the name in the file is the first part
				local, full = root, strings.TrimSuffix(full, "."+rest)
			}
			p.names[p.intern(local)] = name{}
			if ours {
				p.alias(local, full)
				p.names[p.intern(local)] = name{qualified: p.intern(full), module: true}
			}
			p.file.Imports = append(p.file.Imports, imp)
		})
		return
	}
	i++
	dots := 0
	for ; p.op(i) == '.' || p.op(i) == opRange || p.op(i) == opSpread; i++ {
		dots += int(p.toks[i].end - p.toks[i].start)
	}
	mod, next := p.dottedName(i, end)
	if !p.is(next, "import") {
		return
	}
	written := strings.Repeat(".", dots) + mod
	if dots > 0 {
		mod = p.relative(dots, mod)
	}
	if mod == "" {
		return
	}
	ours := true
	if dots == 0 {
		mod, ours = p.set.python.resolve(p.file.Path, mod)
	}
	i = next + 1
	if p.op(i) == '(' {
		end = min(end, p.match(i))
		i++
	}
	if p.op(i) == '*' {
		p.file.Imports = append(p.file.Imports, codegraph.Import{Path: p.intern(written), Name: "*", Target: p.packageID(mod), Line: line})
		if ours {
			p.addScope(mod)
			p.alias("*", mod)
		}
		return
	}
	whole := false
	p.list(i, end, func(i, end int) {
		if p.kind(i) != word {
			return
		}
		member, local := p.text(i), p.text(i)
		if p.is(i+1, "as") && i+2 < end {
			local = p.text(i + 2)
		}
		if p.set.python.isModule(joinDotted(mod, member)) {
			imp := codegraph.Import{Path: p.intern(strings.TrimSuffix(written, ".") + "." + member), Target: p.packageID(joinDotted(mod, member)), Line: line}
			if strings.HasSuffix(written, ".") {
				imp.Path = p.intern(written + member)
			}
			if local != member {
				imp.Name = p.intern(local)
			}
			p.file.Imports = append(p.file.Imports, imp)
			p.names[p.intern(local)] = name{qualified: p.intern(joinDotted(mod, member)), module: true}
			p.alias(local, joinDotted(mod, member))
			return
		}
		whole = true
		n := name{}
		if ours {
			n.qualified = p.intern(joinDotted(mod, member))
			p.alias(local, n.qualified)
			if path.Base(p.file.Path) == "__init__.py" { // it re-exports the module
				p.addScope(mod)
			}
		}
		p.names[p.intern(local)] = n
	})
	if whole {
		p.file.Imports = append(p.file.Imports, codegraph.Import{Path: p.intern(written), Target: p.packageID(mod), Line: line})
	}
}

// alias records a name in the module for something declared elsewhere.
func (p *pythonReader) alias(local, target string) {
	if len(p.blocks) == 0 && joinDotted(p.scope, local) != target {
		p.file.Aliases = append(p.file.Aliases, codegraph.Alias{Name: p.intern(local), Target: p.intern(target)})
	}
}

func (p *pythonReader) packageID(mod string) string {
	return p.intern(codegraph.ID(codegraph.KindPackage, mod))
}

// dottedName reads "a.b.c".
func (p *pythonReader) dottedName(i, end int) (string, int) {
	var parts []string
	for i < end && p.name(i) {
		parts = append(parts, p.text(i))
		i++
		if p.op(i) != '.' {
			break
		}
		i++
	}
	return strings.Join(parts, "."), i
}

// relative resolves the name of a module that begins with dots.
func (p *pythonReader) relative(dots int, mod string) string {
	base := p.scope
	if stem := path.Base(p.file.Path); stem != "__init__.py" && stem != "__init__.pyi" {
		base = parentModule(base)
	}
	for ; dots > 1; dots-- {
		base = parentModule(base)
	}
	return joinDotted(base, mod)
}

func parentModule(m string) string {
	i := strings.LastIndexByte(m, '.')
	if i < 0 {
		return ""
	}
	return m[:i]
}

// namesTest reports whether a function is a test by its name. pytest and unittest find methods only in test classes, so
// Flask.test_client is not a test.
func (p *pythonReader) namesTest(name string, parent int) bool {
	return (strings.HasPrefix(name, "test_") || name == "test") && (parent < 0 || p.places[parent].test)
}
