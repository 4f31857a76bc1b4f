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
	p := &pythonReader{reader: r, all: map[string]bool{}}
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
	blocks     []pyBlock  // open definitions, outermost first
	decorators decorators // of the next definition
	all        map[string]bool
	start      int       // first token of the present statement
	until      int       // its last token, if it has no block
	lineLocals []binding // names that are bound only within one line; added when the whole file is known
}

// decorators holds what the decorators before a definition say about it.
type decorators struct {
	first   int  // number of the first one's token, plus one; 0 for none
	test    bool // it is a test
	prop    bool // it is a property
	fixture bool // it is a fixture of pytest
}

// pyBlock is a definition whose body is being read.
type pyBlock struct {
	indent    int32
	decl      int // index in File.Decls; -1 for a function within a function
	function  bool
	annotated bool // its result type is declared
	first     int
	globals   map[string]bool
	locals    []int // tokens of the names that it binds
	typings   []int // indices in reader.typings of the types of its locals
}

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
		stop := min(p.find(i, end, ';'), end)
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
		if p.decorators.first == 0 {
			p.decorators.first = i + 1
		}
		p.decorator(i+1, end)
		return
	case w == "async" && p.is(i+1, "def") && end > i+1:
		p.definition(i, i+1, end)
	case w == "async" && end > i+1:
		p.compound(i+1, end)
	case w == "def" && p.kind(i+1) == word:
		p.definition(i, i, end)
	case w == "class" && p.kind(i+1) == word:
		p.class(i, end)
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
	case w == "type" && p.kind(i+1) == word && !p.inFunction():
		p.variable(i+1, i, end, codegraph.KindType)
	default:
		p.simple(i, end)
	}
	p.decorators = decorators{}
}

var compoundWords = words("if elif else for while try except finally with match case")

// softKeyword reports whether "match" or "case" at i begins a block. Both words can also be names.
func (p *pythonReader) softKeyword(i, end int) bool {
	switch o := p.op(i + 1); o {
	case '=', ':', '.', ',', ')', ']', opAssign:
		return false
	}
	colon := p.find(i+1, end, ':', '=')
	return p.op(colon) == ':' && colon < end
}

// decorator records what a decorator says about the next definition.
func (p *pythonReader) decorator(i, end int) {
	stop := i
	for stop < end && p.op(stop) != '(' {
		stop++
	}
	name, d := p.text(stop-1), &p.decorators
	d.prop = d.prop || name == "property" || name == "cached_property" || name == "setter" || name == "deleter" || name == "getter"
	d.fixture = d.fixture || name == "fixture"
	for k := i; k < stop; k++ {
		d.test = d.test || p.text(k) == "pytest" && name != "fixture"
	}
}

// compound reads the head of a block other than a definition, and the statement on its line, if any.
func (p *pythonReader) compound(i, end int) {
	colon := i + 1
	for colon < end && p.op(colon) != ':' {
		if p.is(colon, "lambda") { // it has its own colon
			colon = p.find(colon, end, ':')
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
	p.inline(colon+1, end)
}

// inline reads a statement on the line of a block's head, if there is one. Definitions are not allowed there, so this
// does not recurse.
func (p *pythonReader) inline(i, end int) {
	switch w := p.text(i); {
	case i >= end:
	case w == "import" || w == "from":
		p.imports(i, end)
	case !compoundWords[w] && w != "def" && w != "class" && w != "async":
		p.simple(i, end)
	}
}

// definition reads a function.
func (p *pythonReader) definition(head, i, end int) {
	at, by := i+1, p.decorators
	open := at + 1
	if p.op(open) == '[' { // types
		open = p.match(open) + 1
	}
	colon := min(p.find(open, end, ':'), end)
	d := declaration{kind: codegraph.KindFunction, name: p.text(at), head: head, stop: colon, last: end - 1, test: by.test}
	b, inner := p.begin(at, &d)
	if !inner {
		d.test = d.test || p.namesTest(d.name, d.parent)
		if d.parent >= 0 {
			d.kind = codegraph.KindMethod
			if by.prop {
				d.kind = codegraph.KindProperty
			}
		}
		b.decl = p.declare(d)
		if arrow := p.match(open) + 1; p.op(open) == '(' && p.op(arrow) == opThinArrow {
			b.annotated = true
			if d.parent >= 0 && p.op(open+2) == ':' && arrow+2 == colon && p.text(open+3) == p.text(arrow+1) { // (self: T) -> T
				p.typings = append(p.typings, typing{at: arrow, path: p.file.Decls[d.parent].Qualified, decl: b.decl})
			}
			p.declType(b.decl, arrow+1, colon, true)
		}
	}
	b.function = true
	p.blocks = append(p.blocks, b)
	if p.op(open) == '(' {
		p.parameters(open+1, p.match(open), by.fixture || by.test || strings.HasPrefix(d.name, "test"))
	}
	p.inline(colon+1, end)
}

// begin begins the definition d, whose name is at a token. inner reports whether it is within a function: its name is
// bound there. A function is not declared then.
func (p *pythonReader) begin(at int, d *declaration) (b pyBlock, inner bool) {
	d.first = d.head
	if p.decorators.first > 0 {
		d.first = p.decorators.first - 1
	}
	b = pyBlock{indent: p.toks[d.head].indent, decl: -1, first: d.first}
	if b.indent < 0 {
		b.indent = 1 << 20
	}
	p.mark(at, notUse)
	if inner = p.inFunction(); inner {
		p.bindLocal(at)
	}
	d.parent, d.within = p.around()
	d.exported, d.doc = !inner && p.public(d.name, d.parent), p.docstring(d.stop, d.last+1)
	return b, inner
}

func (p *pythonReader) public(name string, parent int) bool {
	return p.exported(parent) && (!strings.HasPrefix(name, "_") || strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__"))
}

// around returns the innermost declaration that contains the present statement, and its qualified name.
func (p *pythonReader) around() (parent int, scope string) {
	for n := len(p.blocks) - 1; n >= 0; n-- {
		if d := p.blocks[n].decl; d >= 0 {
			return d, p.file.Decls[d].Qualified
		}
	}
	return -1, p.scope
}

// docstring returns the first sentence of the string after a heading.
func (p *pythonReader) docstring(colon, end int) string {
	if colon+1 < end || p.kind(end) != text || !p.toks[end].first() {
		return ""
	}
	s := strings.Trim(strings.TrimLeft(p.text(end), "rRuUbB"), `"'`)
	return sentence(strings.Split(s[:min(len(s), 4096)], "\n"))
}

// class reads a class.
func (p *pythonReader) class(i, end int) {
	open := i + 2
	if p.op(open) == '[' {
		open = p.match(open) + 1
	}
	colon := open
	if p.op(open) == '(' {
		colon = p.match(open) + 1
	}
	colon = min(colon, end)
	d := declaration{kind: codegraph.KindType, name: p.text(i + 1), head: i, stop: colon, last: end - 1}
	b, inner := p.begin(i+1, &d)
	for k := open + 1; k < colon-1 && p.op(open) == '('; k++ {
		if p.is(k, "Protocol") {
			d.kind = codegraph.KindInterface
		}
	}
	d.test = !inner && (strings.HasPrefix(d.name, "Test") || hasSuffix(d.name, "Test", "Tests", "TestCase"))
	b.decl = p.declare(d)
	if inner {
		p.typedLocal(typing{at: i + 1, name: p.text(i + 1), path: p.file.Decls[b.decl].Qualified, decl: -1})
	}
	if p.op(open) == '(' {
		p.list(open+1, p.match(open), func(i, end int) {
			if p.op(i+1) != '=' {
				p.base(b.decl, codegraph.Inherits, i, end)
			}
		})
	}
	p.blocks = append(p.blocks, b)
	p.inline(colon+1, end)
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
			n := name{}
			if ours {
				p.alias(local, full)
				n = name{qualified: p.intern(full), module: true}
			}
			p.names[p.intern(local)] = n
			p.file.Imports = append(p.file.Imports, imp)
		})
		return
	}
	dots := 0
	for i++; p.op(i) == '.' || p.op(i) == opRange || p.op(i) == opSpread; i++ {
		dots += len(p.text(i))
	}
	mod, next := p.dottedName(i, end)
	written, ours := strings.Repeat(".", dots)+mod, true
	if dots > 0 {
		mod = p.relative(dots, mod)
	}
	if mod == "" || !p.is(next, "import") {
		return
	}
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
		q := p.intern(joinDotted(mod, member))
		n := name{qualified: q, module: p.set.python.isModule(q)}
		switch {
		case n.module:
			imp := codegraph.Import{Path: p.intern(strings.TrimSuffix(written, ".") + "." + member), Target: p.packageID(q), Line: line}
			if strings.HasSuffix(written, ".") {
				imp.Path = p.intern(written + member)
			}
			if local != member {
				imp.Name = p.intern(local)
			}
			p.file.Imports = append(p.file.Imports, imp)
			p.alias(local, q)
		case ours:
			p.alias(local, q)
			if path.Base(p.file.Path) == "__init__.py" { // it re-exports the module
				p.addScope(mod)
			}
		default:
			n.qualified = ""
		}
		whole = whole || !n.module
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
	for ; i < end && p.name(i); i++ {
		parts = append(parts, p.text(i))
		if i++; p.op(i) != '.' {
			break
		}
	}
	return strings.Join(parts, "."), i
}

// relative resolves the name of a module that begins with dots.
func (p *pythonReader) relative(dots int, mod string) string {
	base := p.scope
	if stem := path.Base(p.file.Path); stem == "__init__.py" || stem == "__init__.pyi" {
		dots--
	}
	for ; dots > 0; dots-- {
		base = parentModule(base)
	}
	return joinDotted(base, mod)
}

func parentModule(m string) string { return m[:max(strings.LastIndexByte(m, '.'), 0)] }

// namesTest reports whether a function is a test by its name. pytest and unittest find methods only in test classes, so
// Flask.test_client is not a test.
func (p *pythonReader) namesTest(name string, parent int) bool {
	return (strings.HasPrefix(name, "test_") || name == "test") && (parent < 0 || p.places[parent].test)
}
