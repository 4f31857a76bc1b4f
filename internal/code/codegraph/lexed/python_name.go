package lexed

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// simple reads an assignment, or another statement without a block.
func (p *pythonReader) simple(i, end int) {
	p.within(i, end)
	p.start, p.until = i, end-1
	defer func() { p.until = 0 }()
	if p.kind(i) == word && p.op(i+1) == ':' && i+2 < end { // x: T = …
		p.target(i, end)
		p.valueType(i, i+2, p.find(i+2, end, '='), true)
		return
	}
	if p.is(i, "return") || p.is(i, "yield") {
		if b := p.top(); b != nil && b.function && b.decl >= 0 && !b.annotated {
			p.declType(b.decl, i+1, end, false)
		}
	}
	if p.is(i, "self") || p.is(i, "cls") {
		p.attribute(i, end)
	}
	from := i
	for k := i; k < end && !p.is(k, "lambda"); { // its parameters may have default values
		switch p.op(k) {
		case ':': // the annotation of an attribute or an element
			k = end
		case '=':
			p.targets(from, k, end)
			if from+1 == k {
				p.valueType(from, k+1, end, false)
			}
			from = k + 1
		case opAssign:
			if p.inFunction() {
				p.targets(from, k, end)
			}
			from = k + 1
		}
		k = p.skip(k)
	}
	if p.is(i, "__all__") && len(p.blocks) == 0 {
		p.exportList(i, end)
	}
}

// valueType records the type of the name at i, a local or a declared one. The tokens from first to end are an
// expression or an annotation.
func (p *pythonReader) valueType(i, first, end int, annotation bool) {
	if p.kind(i) != word || end <= first {
		return
	}
	if p.inFunction() {
		p.typedLocal(typing{at: end - 1, first: first, end: end, annotation: annotation, name: p.text(i), decl: -1})
		return
	}
	_, scope := p.around()
	if at, ok := p.declared[joinDotted(scope, p.text(i))]; ok {
		p.declType(at, first, end, annotation)
	}
}

// typedLocal records the type of a name of the enclosing function.
func (p *pythonReader) typedLocal(t typing) {
	if b := p.function(); b != nil {
		b.typings = append(b.typings, len(p.typings))
		p.typings = append(p.typings, t)
	}
}

// function returns the innermost function around the present statement; nil for none.
func (p *pythonReader) function() *pyBlock {
	for n := len(p.blocks) - 1; n >= 0; n-- {
		if p.blocks[n].function {
			return &p.blocks[n]
		}
	}
	return nil
}

// conftest returns the module with pytest's fixtures for a folder: that of the nearest enclosing folder with a
// conftest.py; "" for none.
func (p *pythonReader) conftest(dir string) string {
	for range 32 {
		f := path.Join(dir, "conftest.py")
		if m := p.set.python.module(f); p.set.python.modules[m] == f {
			return m
		}
		if dir == "." || dir == "/" || dir == "" {
			break
		}
		dir = path.Dir(dir)
	}
	return ""
}

// narrowed records the types that "isinstance(x, T)" between i and end gives to names.
func (p *pythonReader) narrowed(i, end int) {
	for ; i < end; i++ {
		if p.is(i, "isinstance") && p.op(i+1) == '(' && p.kind(i+2) == word && p.op(i+3) == ',' && p.op(i-1) != '.' {
			shut := p.match(i + 1)
			p.typedLocal(typing{at: shut, first: i + 4, end: shut, annotation: true, weak: true, name: p.text(i + 2), decl: -1})
		}
	}
}

// targets binds or declares the names on the left of an assignment. It also enters the brackets of tuples. It skips
// those of an index or a call.
func (p *pythonReader) targets(i, stop, end int) {
	for k := i; k < stop; k++ {
		switch o := p.op(k); {
		case opens(o):
			if k > i && (p.kind(k-1) == word || closes(p.op(k-1))) || o == '{' {
				k = p.match(k)
			}
		case p.kind(k) == word && p.op(k-1) != '.' || p.kind(k) == word && k == i:
			if o := p.op(k + 1); (k+1 >= stop || o != '.' && o != '(' && o != '[') && !p.lang.keywords[p.text(k)] {
				p.target(k, end)
			}
		}
	}
}

// target binds a name within a function, and declares it elsewhere.
func (p *pythonReader) target(at, end int) {
	if p.inFunction() {
		p.bindLocal(at)
	} else {
		p.variable(at, p.start, end, codegraph.KindVariable)
	}
}

// variable declares a name of a module or class, unless it is declared already.
func (p *pythonReader) variable(at, head, end int, kind codegraph.Kind) {
	parent, scope := p.around()
	name := p.text(at)
	if _, ok := p.declared[joinDotted(scope, name)]; ok {
		return
	}
	first := at
	switch {
	case kind == codegraph.KindType:
		first = head
	case parent >= 0:
		kind = codegraph.KindProperty
	}
	p.declareAt(at, declaration{kind: kind, within: scope, parent: parent, first: first, head: head, stop: end, last: end - 1, exported: p.public(name, parent)})
}

// attribute declares "self.x = …" in a method as a property of its class.
func (p *pythonReader) attribute(i, end int) {
	if p.op(i+1) != '.' || p.kind(i+2) != word || p.op(i+3) != '=' && p.op(i+3) != ':' || i+3 >= end || len(p.blocks) < 2 {
		return
	}
	b, c := p.blocks[len(p.blocks)-1], p.blocks[len(p.blocks)-2]
	if !b.function || b.decl < 0 || c.function || c.decl < 0 {
		return
	}
	d := p.file.Decls[c.decl]
	name := p.text(i + 2)
	first, stop, annotated := i+4, end, p.op(i+3) == ':'
	for k := first; k < stop && annotated; k = p.skip(k) {
		if p.op(k) == '=' {
			stop = k
		}
	}
	if at, ok := p.declared[joinDotted(d.Qualified, name)]; ok {
		if p.file.Decls[at].Kind == codegraph.KindProperty {
			p.declType(at, first, stop, annotated)
		}
		return
	}
	if m := p.file.Decls[b.decl].Name; p.places[c.decl].derived && m != "__init__" && !strings.HasPrefix(strings.ToLower(m), "setup") {
		return // most likely an inherited attribute
	}
	at := p.declareAt(i+2, declaration{kind: codegraph.KindProperty, within: d.Qualified, parent: c.decl, first: i + 2, head: i, stop: end, last: i + 2, exported: p.public(name, c.decl)})
	p.declType(at, first, stop, annotated)
}

// bindLocal binds a name for the enclosing function.
func (p *pythonReader) bindLocal(at int) {
	if b := p.function(); b != nil {
		b.locals = append(b.locals, at)
		p.typedLocal(typing{at: max(at, p.until), name: p.text(at), decl: -1}) // the value of an assignment may use it
	}
}

// parameters binds the parameters of the function whose block is open. With fixtures set, the type of a parameter
// without other information is that of the pytest fixture with its name.
func (p *pythonReader) parameters(i, end int, fixtures bool) {
	p.list(i, end, func(i, end int) {
		star := p.op(i) == '*'
		for p.op(i) == '*' && i < end {
			i++
		}
		if p.kind(i) != word || i >= end {
			return
		}
		p.bindLocal(i)
		p.mark(i, notUse)
		t := typing{at: i, name: p.text(i), decl: -1}
		switch {
		case star:
			return
		case p.op(i+1) == ':':
			t.first, t.end, t.annotation = i+2, p.find(i+2, end, '='), true
		case fixtures && i+1 == end:
			t.path = p.intern(joinDotted(cmp.Or(p.conftest(path.Dir(p.file.Path)), p.scope), p.text(i)))
		default:
			return
		}
		p.typedLocal(t)
	})
}

// headNames binds the names in the head of a block: "for x in", "with a as b", "except E as e".
func (p *pythonReader) headNames(i, end int) {
	p.within(i+1, end)
	p.narrowed(i+1, end)
	switch p.text(i) {
	case "for":
		stop := i + 1
		for stop < end && !p.is(stop, "in") {
			stop = p.skip(stop)
		}
		if p.inFunction() {
			p.targets(i+1, stop, end)
		} else {
			p.lineNames(i+1, stop, i, end)
		}
	case "with", "except":
		for k := i + 1; k < end; k++ {
			if p.is(k, "as") && p.inFunction() {
				stop := k + 1
				for stop < end && p.op(stop) != ',' && !closes(p.op(stop)) {
					stop = p.skip(stop)
				}
				p.targets(k+1, stop, end)
				if stop == k+2 {
					first := k
					for first > i+1 && p.op(first-1) != ',' {
						if closes(p.op(first-1)) && p.toks[first-1].match >= 0 {
							first = int(p.toks[first-1].match)
							continue
						}
						if opens(p.op(first - 1)) {
							break
						}
						first--
					}
					t := typing{at: k + 1, first: first, end: k, annotation: p.is(i, "except"), name: p.text(k + 1), decl: -1}
					switch {
					case p.is(i-1, "async"):
						t.member = "__aenter__"
					case p.is(i, "with"):
						t.member = "__enter__"
					}
					p.typedLocal(t)
				}
			}
		}
	}
}

// caseNames binds the names in a pattern: lower-case words that are not keys, calls or paths.
func (p *pythonReader) caseNames(i, end int) {
	for ; i < end; i++ {
		if p.is(i, "if") {
			return
		}
		if p.name(i) && lower(p.text(i)) && p.op(i-1) != '.' && p.op(i+1) != '.' && p.op(i+1) != '(' && p.op(i+1) != '=' && p.inFunction() {
			p.bindLocal(i)
		}
	}
}

// within finds the names that expressions bind: in comprehensions, lambdas and ":=".
func (p *pythonReader) within(i, end int) {
	for k := i; k < end; k++ {
		if p.kind(k) != word {
			continue
		}
		switch {
		case p.op(k+1) == opWalrus && p.inFunction():
			p.bindLocal(k)
		case p.is(k, "for") && k > i:
			stop := k + 1
			for stop < end && !p.is(stop, "in") {
				stop = p.skip(stop)
			}
			p.lineNames(k+1, stop, i, end)
		case p.is(k, "lambda"):
			due := true
			for k++; k < end && p.op(k) != ':'; k = p.skip(k) {
				if due && p.kind(k) == word {
					p.local(k, k, end-1)
					p.mark(k, notUse)
				}
				due = p.op(k) == ',' || due && p.op(k) == '*'
			}
		}
	}
}

// lineNames binds names within one line.
func (p *pythonReader) lineNames(i, stop, first, end int) {
	for k := i; k < stop; k++ {
		if p.name(k) && p.op(k-1) != '.' && p.op(k+1) != '.' {
			p.lineLocals = append(p.lineLocals, binding{p.text(k), int32(first), int32(end - 1)})
		}
	}
}

// exportList reads "__all__ = [...]".
func (p *pythonReader) exportList(i, end int) {
	for ; i < end; i++ {
		if p.kind(i) == text {
			p.all[strings.Trim(p.text(i), `"'`)] = true
		}
	}
}

// finish binds the names of single lines and applies __all__. Both need the whole file.
func (p *pythonReader) finish() {
	p.bindings = append(p.bindings, p.lineLocals...)
	if len(p.all) == 0 {
		return
	}
	for i := range p.file.Decls {
		if d := &p.file.Decls[i]; d.Parent < 0 {
			d.Exported = p.all[d.Name]
		} else if !p.file.Decls[d.Parent].Exported {
			d.Exported = false
		}
	}
}

// pythonPaths resolves the names of modules in a repository.
type pythonPaths struct {
	known    bool
	packages map[string]bool   // folders with an __init__.py
	holds    map[string]bool   // folders that hold a file themselves
	modules  map[string]string // files by module name
	roots    map[string]bool   // first parts of module names
	suffixes map[string]string // full names by their ends; "" for an ambiguous end
}

func newPythonPaths(list []string) *pythonPaths {
	p := &pythonPaths{packages: map[string]bool{}, holds: map[string]bool{}, modules: map[string]string{}, roots: map[string]bool{}, suffixes: map[string]string{}}
	for _, f := range list {
		p.holds[path.Dir(f)] = true
		if b := path.Base(f); b == "__init__.py" || b == "__init__.pyi" {
			p.packages[path.Dir(f)] = true
		}
	}
	for _, f := range list {
		if l := byPath(f); l == nil || l.family != python {
			continue
		}
		p.known = true
		m := p.module(f)
		if _, ok := p.modules[m]; !ok {
			p.modules[m] = f
		}
		root, _, _ := strings.Cut(m, ".")
		p.roots[root] = true
		if dir, _ := p.outermost(path.Dir(f)); !p.packages[path.Dir(f)] {
			p.addSuffixes(m, 8)
		} else if root, around := p.namespace(dir); !sourceRoots[path.Base(root)] {
			p.addSuffixes(m, len(around)) // these folders are perhaps no part of the name
		}
		for d := parentModule(m); d != ""; d = parentModule(d) { // folders are packages too
			if _, ok := p.modules[d]; ok {
				break
			}
			p.modules[d] = ""
		}
	}
	return p
}

// module returns the name of the module in a file. It begins at the outermost folder that is a package, or at the
// namespace packages around it. If no folder is a package, it begins at the root or at a folder "src" or "lib".
func (p *pythonPaths) module(file string) string {
	dir, base := path.Dir(file), path.Base(file)
	stem := strings.TrimSuffix(base, path.Ext(base))
	var parts []string
	if p.packages[dir] {
		dir, parts = p.outermost(dir)
		_, around := p.namespace(dir)
		parts = append(around, parts...)
	} else if dir != "." {
		parts = strings.Split(dir, "/")
		for len(parts) > 0 && (parts[0] == "src" || parts[0] == "lib" || parts[0] == ".") {
			parts = parts[1:]
		}
	}
	if stem != "__init__" {
		parts = append(parts, stem)
	}
	if len(parts) == 0 {
		return "__init__"
	}
	return strings.Join(parts, ".")
}

// outermost returns the folder around the packages that enclose dir, and their names.
func (p *pythonPaths) outermost(dir string) (root string, parts []string) {
	for p.packages[dir] && dir != "." {
		parts = append(parts, path.Base(dir))
		dir = path.Dir(dir)
	}
	slices.Reverse(parts)
	return dir, parts
}

// namespace returns the names of the namespace packages around a package, and the folder that contains them. dir is the
// folder that contains the package. A namespace package is a folder that holds nothing but folders. The root has files,
// such as a pyproject.toml, or is named as one for sources.
func (p *pythonPaths) namespace(dir string) (root string, parts []string) {
	for dir != "." && dir != "/" && !p.holds[dir] && !sourceRoots[path.Base(dir)] {
		parts = append(parts, path.Base(dir))
		dir = path.Dir(dir)
	}
	slices.Reverse(parts)
	return dir, parts
}

// sourceRoots are names of folders from which imports begin.
var sourceRoots = map[string]bool{"src": true, "lib": true, "python": true}

// isModule reports whether a name is that of a module in the repository.
func (p *pythonPaths) isModule(name string) bool {
	_, ok := p.modules[name]
	return ok
}

// resolve finds the module to which a name refers in a file: by its full name, in the file's folder, or by the end of a
// full name whose folders are not packages. ours is false for a module of a library.
func (p *pythonPaths) resolve(file, name string) (module string, ours bool) {
	if !p.known || p.isModule(name) {
		return name, true
	}
	if beside := joinDotted(parentModule(p.module(file)), name); p.isModule(beside) {
		return beside, true
	}
	if full := p.suffixes[name]; full != "" {
		return full, true
	}
	root, _, _ := strings.Cut(name, ".")
	return name, p.roots[root]
}

// addSuffixes records the ends of a module's name, without up to most parts.
func (p *pythonPaths) addSuffixes(m string, most int) {
	_, tail, ok := strings.Cut(m, ".")
	for n := 0; n < most && ok; n++ {
		if old, ok := p.suffixes[tail]; ok && old != m {
			p.suffixes[tail] = "" // ambiguous
		} else {
			p.suffixes[tail] = m
		}
		_, tail, ok = strings.Cut(tail, ".")
	}
}
