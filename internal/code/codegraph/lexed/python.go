package lexed

import (
	"github.com/kenlayer/ken/internal/code/codegraph"
)

// python reads Python: statement by statement, by indentation.
func (r *reader) python() {
	mod := r.set.python.module(r.file.Path)
	r.scope, r.module = mod, true
	r.file.Within = codegraph.ID(codegraph.KindPackage, mod)
	p := &pythonReader{reader: r}
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
	blocks  []pyBlock // open definitions, outermost first
	pending int       // the token of the first decorator before a definition, plus one
	test    bool      // a decorator says so
	prop    bool      // a decorator makes a property
	all     map[string]bool
	start   int // of the present statement
	later   []pyLocal
}

// pyBlock is a definition whose body is being read.
type pyBlock struct {
	indent   int32
	decl     int // in File.Decls; -1 for a function in a function
	function bool
	first    int
	globals  map[string]bool
	locals   []int // tokens of names that it binds
}

// pyLocal is a name that one line binds for itself.
type pyLocal struct{ at, first, last int }

// lineEnd goes behind the logical line that begins at i.
func (p *pythonReader) lineEnd(i int) int {
	for i = p.skip(i); i < len(p.toks) && !p.toks[i].first(); {
		i = p.skip(i)
	}
	return i
}

// logicalLine reads one line: it ends what is indented more, and each of its
// statements is read.
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

// close ends the blocks that a line of an indentation is not in.
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

// statement reads one statement, and what stands behind a colon on its line.
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
	p.pending, p.test, p.prop = 0, false, false
}

var compoundWords = words("if elif else for while try except finally with match case")

// softKeyword reports whether "match" or "case" at i begins a block: both are names too.
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

// decorator notes what a decorator says of the definition after it.
func (p *pythonReader) decorator(i, end int) {
	stop := i
	for stop < end && p.op(stop) != '(' {
		stop++
	}
	name := p.text(stop - 1)
	p.prop = p.prop || name == "property" || name == "cached_property" || name == "setter" || name == "deleter" || name == "getter"
	for k := i; k < stop; k++ {
		p.test = p.test || p.text(k) == "pytest" && name != "fixture"
	}
}

// compound reads the head of a block that is no definition, and what stands on its line.
func (p *pythonReader) compound(i, end int) {
	colon := i + 1
	for colon < end && p.op(colon) != ':' {
		if p.is(colon, "lambda") { // it has a colon of its own
			for colon < end && p.op(colon) != ':' {
				colon = p.skip(colon)
			}
			colon++
			continue
		}
		colon = p.skip(colon)
	}
	colon = min(colon, end)
	p.mark(i, muted) // "match" is a name elsewhere
	if p.is(i, "case") {
		p.caseNames(i+1, colon)
	} else {
		p.headNames(i, colon)
	}
	p.pending, p.test, p.prop = 0, false, false
	if colon+1 < end {
		p.inline(colon+1, end)
	}
}

// inline reads a statement on the line of its head. Definitions can't stand there, so
// nothing goes deeper.
func (p *pythonReader) inline(i, end int) {
	switch w := p.text(i); {
	case w == "import" || w == "from":
		p.imports(i, end)
	case !compoundWords[w] && w != "def" && w != "class" && w != "async":
		p.simple(i, end)
	}
}
