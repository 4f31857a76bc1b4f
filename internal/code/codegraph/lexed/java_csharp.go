package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// usings reads the using directives at the beginning of a file. Those within namespaces are read by namespace.
func (c *classReader) usings() {
	for i := 0; i < len(c.toks); c.start = i {
		switch {
		case c.is(i, "extern") && c.is(i+1, "alias"):
			i = c.statementEnd(i, len(c.toks))
		case c.is(i, "global") && c.is(i+1, "using"):
			i++
		case c.is(i, "using") && c.op(i+1) != '(' && !(c.kind(i+1) == word && c.kind(i+2) == word && !c.is(i+1, "static") && !c.is(i+1, "unsafe")):
			i = c.using(i)
		default:
			return
		}
	}
}

// using reads "using A.B;", "using static A.B.C;" and "using X = A.B.C;".
func (c *classReader) using(i int) int {
	end := c.find(i, len(c.toks), ';', '{')
	k, alias := i+1, ""
	static := c.is(k, "static")
	if static {
		k++
	}
	if c.op(k+1) == '=' {
		alias = c.text(k)
		k += 2
	}
	q := c.pathText(k, end)
	c.markNotUse(i, end)
	if q == "" {
		return end + 1
	}
	imp := codegraph.Import{Path: c.intern(q), Name: c.intern(alias), Line: c.line(i)}
	ns := q
	if static || alias != "" {
		ns = parentModule(q)
	}
	if ns != "" {
		imp.Target = c.intern(codegraph.ID(codegraph.KindNamespace, ns))
	}
	c.file.Imports = append(c.file.Imports, imp)
	switch {
	case alias != "":
		c.names[c.intern(alias)] = name{qualified: c.intern(q)}
	case q == "System" || hasPrefix(q, "System.", "Microsoft."):
	default:
		c.addScope(q)
	}
	return end + 1
}

// pathText returns the dotted name that begins at i.
func (c *classReader) pathText(i, end int) string {
	var b strings.Builder
	for i < end {
		switch {
		case c.kind(i) == word:
			b.WriteString(c.text(i))
		case c.op(i) == '.':
			b.WriteByte('.')
		case c.op(i) == opPath && b.String() == "global":
			b.Reset()
		default:
			return strings.Trim(b.String(), ".")
		}
		i++
	}
	return strings.Trim(b.String(), ".")
}

// oneNamespace makes a file's only namespace its File.Within. If there are several, each one is declared.
func (c *classReader) oneNamespace() {
	found, many := "", false
	for i := c.start; i < len(c.toks); i++ {
		if c.is(i, "namespace") && c.kind(i+1) == word && c.op(i-1) != '.' {
			q := c.pathText(i+1, min(len(c.toks), i+64))
			many = many || found != "" && q != found
			found = q
		}
	}
	if found == "" || many {
		return
	}
	c.file.Within = c.intern(codegraph.ID(codegraph.KindNamespace, found))
	c.addNamespace(found)
}

// addNamespace adds a namespace and those that enclose it as scopes.
func (c *classReader) addNamespace(ns string) {
	scopes := c.file.Scopes
	c.file.Scopes = nil
	for ; ns != ""; ns = parentModule(ns) {
		c.addScope(ns)
	}
	for _, s := range scopes {
		c.addScope(s)
	}
}

// namespace reads "namespace A.B {" and "namespace A.B;".
func (c *classReader) namespace(i, end int, l level) int {
	ns := c.pathText(i+1, end)
	open := c.find(i+1, end, '{', ';')
	c.markNotUse(i, min(open, end))
	inner := level{parent: l.parent, scope: joinDotted(l.scope, ns)}
	from, stop := open+1, end
	if c.op(open) == '{' {
		stop = min(c.match(open), end)
		c.mark(open, container)
	}
	if c.file.Within == "" && ns != "" {
		inner.parent = c.declare(declaration{kind: codegraph.KindNamespace, name: lastPart(ns), within: joinDotted(l.scope, parentModule(ns)), parent: l.parent, first: i, head: i, stop: open, last: stop, exported: true})
		inner.kind = codegraph.KindNamespace
		c.addNamespace(inner.scope)
	} else if c.scope == "" {
		c.scope = inner.scope
	}
	for from < stop && c.is(from, "using") {
		from = c.using(from)
	}
	c.body(from, stop, inner)
	return stop + 1
}

// delegate declares a delegate, which is the type of a function.
func (c *classReader) delegate(i, end int, h heading, l level) int {
	open := i + 1
	for open < end && c.op(open) != ';' && (c.op(open) != '(' || c.kind(open-1) != word && c.op(open-1) != '>') {
		open = c.past(open, len(c.toks))
	}
	if c.op(open) != '(' {
		return open + 1
	}
	at := open - 1
	if c.op(at) == '>' {
		at = c.angleBack(at) - 1
	}
	stop := c.statementEnd(open, end)
	if c.kind(at) == word {
		n := c.declareAt(at, declaration{kind: codegraph.KindType, within: l.scope, parent: l.parent, first: h.first, head: min(h.head, i), stop: stop - 1,
			last: stop - 1, exported: c.visible(h, l)})
		c.typeParameters(at+1, i, stop-1)
		c.parameterNames(open, int(c.places[n].last))
	}
	return stop
}

// property declares a property, an event or an indexer whose accessors begin at i.
func (c *classReader) property(at, i, end int, h heading, l level) int {
	last := c.bodyEnd(i, end)
	if c.op(i) != opArrow && c.op(last+1) == '=' {
		last = c.statementEnd(last+1, end) - 1
	}
	if l.parent >= 0 {
		d := declaration{kind: codegraph.KindProperty, name: c.text(at), within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: i,
			last: min(last, end-1), exported: c.visible(h, l)}
		if d.name == "this" {
			d.name = "this[]"
		}
		c.mark(at, notUse)
		n := c.declare(d)
		if c.op(at+1) == '[' {
			c.parameterNames(at+1, int(c.places[n].last))
		}
	}
	c.bodies = append(c.bodies, span{i, last})
	return last + 1
}

// operator declares "operator +", with that name.
func (c *classReader) operator(i, end int, h heading, l level) int {
	open := i + 1
	for open < end && (c.op(open) != '(' || open == i+1 && c.op(open+1) == ')') {
		open++
	}
	if open >= end {
		return end
	}
	stop := c.find(c.match(open)+1, end, '{', ';', opArrow)
	last := c.bodyEnd(stop, end)
	if l.parent >= 0 {
		n := c.declare(declaration{kind: codegraph.KindMethod, name: "operator " + c.signature(i+1, open), within: l.scope, parent: l.parent, first: h.first,
			head: h.head, stop: stop, last: min(last, end-1), exported: c.visible(h, l)})
		c.parameterNames(open, int(c.places[n].last))
		c.bodies = append(c.bodies, span{stop, last})
	}
	return last + 1
}

// packageAndImports reads the package and the imports at the beginning of a file of Java.
func (c *classReader) packageAndImports() {
	for i := 0; i < len(c.toks); c.start = i {
		at := i
		for c.op(at) == '@' && c.kind(at+1) == word && !c.is(at+1, "interface") {
			_, at = c.annotation(at)
		}
		switch {
		case c.is(at, "package"):
			i = c.skipItem(at, len(c.toks))
			if c.scope = c.dottedPath(at+1, i-1); c.scope != "" {
				c.file.Within = c.intern(codegraph.ID(codegraph.KindPackage, c.scope))
				c.addScope(c.scope)
			}
			c.markNotUse(at, i-1)
		case c.is(i, "import"):
			i = c.skipItem(i, len(c.toks))
			c.importJava(at, i-1)
		case c.op(i) == ';':
			i++
		default:
			return
		}
	}
}

func (c *classReader) dottedPath(i, end int) string {
	var b strings.Builder
	for ; i < end; i++ {
		if c.kind(i) == word || c.op(i) == '.' || c.op(i) == '*' {
			b.WriteString(c.text(i))
		}
	}
	return b.String()
}

// importJava reads one import. Its package ends before the first part that begins in upper case.
func (c *classReader) importJava(i, end int) {
	k := i + 1
	static, module := c.is(k, "static"), c.is(k, "module") && c.kind(k+1) == word
	if static || module {
		k++
	}
	q := c.dottedPath(k, end)
	c.markNotUse(i, end)
	if q == "" {
		return
	}
	pkg := q
	if all, ok := strings.CutSuffix(q, ".*"); ok {
		pkg = all
		if !libraryJava(all) {
			c.addScope(all)
		}
	} else if !module {
		n := name{qualified: c.intern(q)}
		if libraryJava(q) {
			n.qualified = ""
		}
		c.names[c.intern(lastPart(q))] = n
		pkg = parentModule(q)
	}
	for part := lastPart(pkg); static && upper(part) || upper(part) && pkg != part; part = lastPart(pkg) {
		if pkg = parentModule(pkg); pkg == "" {
			break
		}
		static = false
	}
	imp := codegraph.Import{Path: c.intern(q), Line: c.line(i)}
	if pkg != "" && !module {
		imp.Target = c.intern(codegraph.ID(codegraph.KindPackage, pkg))
	}
	c.file.Imports = append(c.file.Imports, imp)
}

// libraryJava reports whether a name belongs to the libraries that come with Java.
func libraryJava(q string) bool {
	return hasPrefix(q, "java.", "javax.", "jdk.", "sun.")
}
