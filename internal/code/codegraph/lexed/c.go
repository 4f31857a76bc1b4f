package lexed

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// c reads C and C++.
func (r *reader) c() {
	r.scope = unit(r.file.Path)
	c := &cReader{reader: r, plusplus: r.lang.plusplus}
	c.preprocessor()
	c.items(0, len(r.toks), cLevel{parent: -1, scope: r.scope, public: true})
	c.assignParents()
	c.includeScopes()
	r.typedLocals(c.bodies)
}

type cReader struct {
	*reader
	plusplus   bool
	bodies     []span
	namespaces []string // opened or named by a using directive, without the file's path
	includes   []string // scopes of the included files
	outside    []int    // members that are defined outside their class
}

// cLevel is the context of declarations: what encloses them.
type cLevel struct {
	parent int
	scope  string
	class  string // name of the enclosing class; its constructors have the same name
	public bool
	hidden bool // declarations here are not visible outside the file
}

func (c *cReader) items(i, end int, l cLevel) {
	c.nested(i, end, func(i int) int {
		if l.class != "" {
			if next, public, ok := c.label(i); ok {
				l.public = public
				return next
			}
		}
		return c.item(i, end, l)
	})
}

// label reads an access label: "public:", or "public slots:" of Qt.
func (c *cReader) label(i int) (next int, public, ok bool) {
	switch c.text(i) {
	case "public", "protected", "private", "signals", "Q_SIGNALS":
		next = i + 1
		if c.is(next, "slots") || c.is(next, "Q_SLOTS") {
			next++
		}
		return next + 1, !c.is(i, "private"), c.op(next) == ':'
	}
	return 0, false, false
}

// item reads one declaration.
func (c *cReader) item(i, end int, l cLevel) int {
	first := i
	if c.op(i) == ';' || c.op(i) == ',' || closes(c.op(i)) {
		return i + 1
	}
	var types []int
	for c.is(i, "template") && c.op(i+1) == '<' {
		shut := c.angle(i + 1)
		if shut < 0 {
			return i + 2
		}
		types = append(types, i+1)
		if i = shut + 1; c.is(i, "requires") {
			i = c.constraint(i+1, end)
		}
	}
	if c.op(i) == '[' && c.op(i+1) == '[' {
		i = c.match(i) + 1
	}
	switch c.text(i) {
	case "namespace":
		return c.namespace(i, end, l)
	case "inline":
		if c.is(i+1, "namespace") {
			return c.namespace(i+1, end, l)
		}
	case "extern":
		if c.kind(i+1) == text && c.op(i+2) == '{' {
			c.mark(i+2, container)
			c.items(i+3, min(c.match(i+2), end), l)
			return c.match(i+2) + 1
		}
		if c.kind(i+1) == text {
			i += 2
		}
	case "using":
		if c.plusplus {
			next := c.using(i, end, first, l)
			c.typeParameters(types, next-1)
			return next
		}
	case "typedef":
		return c.typedef(i, end, first, l)
	case "static_assert", "_Static_assert":
		return c.statementEnd(i, end)
	case "friend":
		if k := c.find(i, end, ';', '{'); k >= end || c.op(k) == ';' { // without a body
			return c.statementEnd(i, end)
		}
	case "concept":
		next := c.statementEnd(i, end)
		if c.kind(i+1) == word {
			c.declareAt(i+1, declaration{kind: codegraph.KindInterface, within: l.scope, parent: l.parent, first: first, head: first, stop: next - 1, last: next - 1, exported: c.visible(l)})
		}
		c.typeParameters(types, next-1)
		return next
	}
	return c.declaration(i, end, first, types, l)
}

// header reports whether the file is a header, by its extension.
func (c *cReader) header() bool {
	ext := strings.ToLower(path.Ext(c.file.Path))
	return strings.HasPrefix(ext, ".h") || ext == ".inl" || ext == ".ipp" || ext == ".tcc"
}

// constraint skips a requires clause of a template and returns the token after it.
func (c *cReader) constraint(i, end int) int {
	for n := 0; i < end && n < 100; n++ {
		switch {
		case c.op(i) == '(' || c.is(i, "requires"):
			i = c.skip(i)
			if c.op(i) == '{' {
				i = c.skip(i)
			}
		case c.kind(i) == word:
			for c.op(i+1) == opPath {
				i += 2
			}
			i = c.afterTypes(i + 1)
			if c.op(i) == '(' && c.op(i+1) == ')' {
				i += 2
			}
		}
		if c.op(i) != opLogic {
			return i
		}
		i++
	}
	return i
}

// namespace reads "namespace a::b {". The contents of a namespace without a name are not visible outside the file.
func (c *cReader) namespace(i, end int, l cLevel) int {
	k := i + 1
	var names []int
	for k < end && c.op(k) != '{' && c.op(k) != ';' && c.op(k) != '=' {
		if c.kind(k) == word && !c.is(k, "inline") && !c.lang.keywords[c.text(k)] && c.op(k+1) != '(' {
			names = append(names, k)
		}
		k = c.skip(k)
	}
	c.markNotUse(i, min(k, end))
	if c.op(k) != '{' || k >= end {
		return c.statementEnd(k, end)
	}
	c.mark(k, container)
	inner := l
	inner.hidden = l.hidden || len(names) == 0
	for _, at := range names {
		n := c.declare(declaration{kind: codegraph.KindNamespace, name: c.text(at), within: inner.scope, parent: inner.parent, first: i, head: i, stop: k, last: c.match(k), exported: !l.hidden})
		inner.parent, inner.scope = n, c.file.Decls[n].Qualified
	}
	if len(names) > 0 {
		c.addNamespace(strings.TrimPrefix(strings.TrimPrefix(inner.scope, c.scope), "."))
	}
	c.items(k+1, min(c.match(k), end), inner)
	return c.match(k) + 1
}

func (c *cReader) addNamespace(ns string) {
	if len(c.namespaces) < 8 && !slices.Contains(c.namespaces, ns) {
		c.namespaces = append(c.namespaces, ns)
	}
}

// using reads "using namespace a;", "using a::b;" and "using A = B;".
func (c *cReader) using(i, end, first int, l cLevel) int {
	stop := c.statementEnd(i, end) - 1
	switch {
	case c.is(i+1, "namespace"):
		var parts []string
		for k := i + 2; k < stop; k++ {
			if c.kind(k) == word {
				parts = append(parts, c.text(k))
			}
		}
		c.markNotUse(i, stop)
		if len(parts) > 0 && parts[0] != "std" {
			c.addNamespace(strings.Join(parts, "."))
		}
	case c.kind(i+1) == word && (c.op(i+2) == '=' || c.op(i+2) == '['):
		c.declareAt(i+1, declaration{kind: codegraph.KindType, within: l.scope, parent: l.parent, first: first, head: i, stop: stop, last: stop, exported: c.visible(l)})
	}
	return stop + 1
}

func (c *cReader) visible(l cLevel) bool { return l.public && !l.hidden && c.exported(l.parent) }

// preprocessor reads includes and macros.
func (c *cReader) preprocessor() {
	for _, d := range c.dirs {
		switch d.name {
		case "include", "import", "include_next":
			c.include(d)
		case "define":
			c.define(d)
		}
	}
}

// include records an included file. One in angle brackets belongs to the repository if exactly one file's path ends
// with it.
func (c *cReader) include(d directive) {
	angle := strings.HasPrefix(d.rest, "<")
	end := strings.IndexAny(d.rest[min(1, len(d.rest)):], "\">")
	if !angle && !strings.HasPrefix(d.rest, `"`) || end <= 0 {
		return
	}
	spec := d.rest[1 : end+1]
	imp := codegraph.Import{Path: c.intern(spec), Line: int(d.line)}
	if file, ok := c.set.header(c.file.Path, spec, angle); ok {
		imp.Target = c.intern(codegraph.ID(codegraph.KindFile, file))
		c.includes = append(c.includes, unit(file))
	}
	c.file.Imports = append(c.file.Imports, imp)
}

// define declares a macro: a function if it takes arguments, else a variable. Include guards are left out.
func (c *cReader) define(d directive) {
	name, function, body := splitMacro(d.rest)
	if name == "" || body == "" && !function {
		return
	}
	q := joinDotted(c.scope, name)
	if _, ok := c.declared[q]; ok {
		return
	}
	decl := codegraph.Decl{Kind: codegraph.KindVariable, Name: c.intern(name), Qualified: c.intern(q), Parent: -1, Line: int(d.line), End: int(d.line), Exported: true}
	if function {
		decl.Kind = codegraph.KindFunction
	}
	decl.End += strings.Count(d.rest, "\n")
	head := strings.NewReplacer("\\\n", " ", "\\\r\n", " ").Replace(d.rest[:min(len(d.rest), 2*maxSignature)])
	head = strings.Join(strings.Fields(head), " ")
	decl.Signature = clip(strings.ToValidUTF8("#define "+head, "\uFFFD"), maxSignature)
	if d.note >= 0 && d.note < len(c.comments) {
		note := c.comments[d.note]
		decl.Doc = sentence(strings.Split(c.src[note.start:min(note.end, note.start+4096)], "\n"))
	}
	c.declared[decl.Qualified] = len(c.file.Decls)
	c.file.Decls = append(c.file.Decls, decl)
	c.places = append(c.places, place{first: -1, last: -1})
}

// includeScopes adds scopes for the declarations of the included files, within the namespaces that this file opens or
// uses.
func (c *cReader) includeScopes() {
	within := func(scope string) {
		for _, ns := range c.namespaces {
			for ; ns != ""; ns = parentModule(ns) {
				c.addScope(joinDotted(scope, ns))
			}
		}
	}
	within(c.scope)
	for _, inc := range c.includes {
		if inc != c.scope {
			c.addScope(inc)
		}
	}
	for _, inc := range c.includes {
		within(inc)
	}
}

// header finds an included file: in the folder of the including file, from the root, or by the end of its path, where
// the file with the most folders in common comes first.
func (s *Set) header(from, spec string, angle bool) (string, bool) {
	spec = path.Clean(spec)
	if !s.known {
		return path.Join(path.Dir(from), spec), !angle && !strings.HasPrefix(path.Join(path.Dir(from), spec), "..")
	}
	if beside := path.Join(path.Dir(from), spec); !angle && s.files[beside] {
		return beside, true
	}
	tail := spec
	for strings.HasPrefix(tail, "../") {
		tail = tail[3:]
	}
	if angle && !strings.Contains(tail, "/") {
		return "", false
	}
	best, score, same := "", -1, 0
	for n, f := range s.headers[path.Base(tail)] {
		if n == 1000 || f != tail && !strings.HasSuffix(f, "/"+tail) {
			continue
		}
		same++
		if sc := sharedFolders(f, from); sc > score || sc == score && (len(f) < len(best) || len(f) == len(best) && f < best) {
			best, score = f, sc
		}
	}
	return best, best != "" && (!angle || same == 1)
}

// sharedFolders counts the leading folders that two paths have in common.
func sharedFolders(a, b string) int {
	n := 0
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == '/' {
			n++
		}
	}
	return n
}

// semicolonOrBody skips something that is not a declaration: up to a semicolon or a body.
func (c *cReader) semicolonOrBody(i, end int) int {
	return min(c.match(c.find(i, end, ';', '{', ')', ']', '}'))+1, end)
}

// variableEnd returns the semicolon that ends a declaration, or the brace that ends its block.
func (c *cReader) variableEnd(i, end int) int { return min(c.find(i, end, ';', '}'), end) }

// oldStyle reports whether the parenthesis at k opens a parameter list in the old style: "int f(a, b) int a; {".
func (c *cReader) oldStyle(k, after, i int) bool {
	if c.plusplus && !strings.HasSuffix(c.file.Path, ".h") || k-1 == i && !lower(c.text(i)) {
		return false
	}
	for n := k + 1; n < c.match(k); n++ {
		if c.kind(n) != word && c.op(n) != ',' || c.kind(n) == word && c.kind(n+1) == word {
			return false
		}
	}
	return c.oldBody(after, len(c.toks))
}

// oldBody reports whether a body comes after parameter declarations in the old style, which begin at i.
func (c *cReader) oldBody(i, end int) bool {
	n := c.find(i, min(i+200, end), '{', '(', '=', '}')
	return n < min(i+200, end) && c.op(n) == '{' && c.op(n-1) == ';'
}

// functionEnd returns the body or the semicolon after the parameters of a function. It skips qualifiers, a trailing
// return type, initializers, and parameter declarations in the old style.
func (c *cReader) functionEnd(i, end int) int {
	colon := false
	for i < end {
		switch o := c.op(i); {
		case o == ':':
			colon = true
		case o == '{':
			if !colon || !(c.kind(i-1) == word || c.op(i-1) == '>') { // "a{1}" initializes
				return i
			}
			if after := c.op(c.match(i) + 1); after != ',' && after != '{' && after != opSpread {
				return i
			}
		case o == '}' || o == ';' && !c.oldParameters(i, end):
			return i
		case o == ',' && !colon && c.kind(i-1) != word: // "int f(void), g;"
			return c.variableEnd(i, end)
		}
		i = c.past(i, end)
	}
	return end
}

// oldParameters reports whether the semicolon at i ends a parameter declaration in the old style.
func (c *cReader) oldParameters(i, end int) bool {
	before := c.kind(i-2) == word || c.op(i-2) == '*' || c.op(i-2) == ',' || c.op(i-1) == ']'
	named := c.kind(i-1) == word && !functionTail[c.text(i-1)] && !allUpper(c.text(i-1)) || c.op(i-1) == ']'
	return named && before && c.oldBody(i+1, end)
}
