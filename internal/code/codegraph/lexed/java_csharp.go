package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// usings reads the using directives at the beginning of a file. Those within namespaces are read by namespace.
func (c *classReader) usings() {
	i := 0
	for i < len(c.toks) {
		switch {
		case c.is(i, "extern") && c.is(i+1, "alias"):
			i = c.statementEnd(i, len(c.toks))
		case c.is(i, "global") && c.is(i+1, "using"):
			i++
		case c.is(i, "using") && c.op(i+1) != '(' && !(c.kind(i+1) == word && c.kind(i+2) == word && !c.is(i+1, "static") && !c.is(i+1, "unsafe")):
			i = c.using(i)
		default:
			c.start = i
			return
		}
	}
	c.start = i
}

// using reads "using A.B;", "using static A.B.C;" and "using X = A.B.C;".
func (c *classReader) using(i int) int {
	line := c.line(i)
	end := i
	for end < len(c.toks) && c.op(end) != ';' && c.op(end) != '{' {
		end = c.skip(end)
	}
	k, static, alias := i+1, false, ""
	if c.is(k, "static") {
		static = true
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
	imp := codegraph.Import{Path: c.intern(q), Name: c.intern(alias), Line: line}
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
	case q == "System" || strings.HasPrefix(q, "System.") || strings.HasPrefix(q, "Microsoft."):
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
	open := i + 1
	for open < end && c.op(open) != '{' && c.op(open) != ';' {
		open++
	}
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
		if c.op(open) == '<' {
			if shut := c.angle(open); shut > 0 {
				open = shut + 1
				continue
			}
		}
		open = c.skip(open)
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
		c.mark(at, notUse)
		n := c.declare(declaration{kind: codegraph.KindType, name: c.text(at), within: l.scope, parent: l.parent, first: h.first, head: min(h.head, i), stop: stop - 1, last: stop - 1, exported: c.visible(h, l)})
		if c.op(at+1) == '<' {
			c.typeParameters(at+1, i, stop-1)
		}
		c.parameterNames(open, int(c.places[n].last))
	}
	return stop
}

// property declares a property, an event or an indexer whose accessors begin at i.
func (c *classReader) property(at, i, end int, h heading, l level) int {
	stop := i
	lastTok := c.match(i)
	if c.op(i) == opArrow {
		lastTok = c.statementEnd(i, end) - 1
	} else if c.op(lastTok+1) == '=' {
		lastTok = c.statementEnd(lastTok+1, end) - 1
	}
	name := c.text(at)
	if name == "this" {
		name = "this[]"
	}
	if l.parent < 0 {
		c.bodies = append(c.bodies, span{i, lastTok})
		return lastTok + 1
	}
	c.mark(at, notUse)
	n := c.declare(declaration{kind: codegraph.KindProperty, name: name, within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: stop, last: min(lastTok, end-1), exported: c.visible(h, l)})
	if c.op(at+1) == '[' {
		c.parameterNames(at+1, int(c.places[n].last))
	}
	c.bodies = append(c.bodies, span{i, lastTok})
	return lastTok + 1
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
	sign := c.signature(i+1, open)
	stop := c.match(open) + 1
	for stop < end && c.op(stop) != '{' && c.op(stop) != ';' && c.op(stop) != opArrow {
		stop = c.skip(stop)
	}
	lastTok := c.match(stop)
	if c.op(stop) != '{' {
		lastTok = c.statementEnd(stop, end) - 1
	}
	if l.parent >= 0 {
		n := c.declare(declaration{kind: codegraph.KindMethod, name: "operator " + sign, within: l.scope, parent: l.parent, first: h.first, head: h.head, stop: stop, last: min(lastTok, end-1), exported: c.visible(h, l)})
		c.parameterNames(open, int(c.places[n].last))
		c.bodies = append(c.bodies, span{stop, lastTok})
	}
	return lastTok + 1
}

// packageAndImports reads the package and the imports at the beginning of a file of Java.
func (c *classReader) packageAndImports() {
	i := 0
	for i < len(c.toks) {
		start := i
		_, at := c.annotations(i)
		switch {
		case c.is(at, "package"):
			end := c.skipUnknown(at, len(c.toks)) - 1
			c.scope = c.dottedPath(at+1, end)
			if c.scope != "" {
				c.file.Within = c.intern(codegraph.ID(codegraph.KindPackage, c.scope))
				c.addScope(c.scope)
			}
			c.markNotUse(at, end)
			i = end + 1
		case c.is(i, "import"):
			end := c.skipUnknown(i, len(c.toks)) - 1
			c.importJava(i, end)
			i = end + 1
		case c.op(i) == ';':
			i++
		default:
			c.start = start
			return
		}
	}
	c.start = i
}

// annotations skips "@Name(args)".
func (c *classReader) annotations(i int) (bool, int) {
	from := i
	for c.op(i) == '@' && c.kind(i+1) == word && !c.is(i+1, "interface") {
		for i += 2; c.op(i) == '.'; {
			i += 2
		}
		if c.op(i) == '(' {
			i = c.match(i) + 1
		}
	}
	return i > from, i
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
	line, static, module := c.line(i), false, false
	k := i + 1
	switch {
	case c.is(k, "static"):
		static = true
		k++
	case c.is(k, "module") && c.kind(k+1) == word:
		module = true
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
		local := lastPart(q)
		n := name{qualified: c.intern(q)}
		if libraryJava(q) {
			n.qualified = ""
		}
		c.names[c.intern(local)] = n
		pkg = parentModule(q)
	}
	for part := lastPart(pkg); static && upper(part) || upper(part) && pkg != part; part = lastPart(pkg) {
		if pkg = parentModule(pkg); pkg == "" {
			break
		}
		static = false
	}
	imp := codegraph.Import{Path: c.intern(q), Line: line}
	if pkg != "" && !module {
		imp.Target = c.intern(codegraph.ID(codegraph.KindPackage, pkg))
	}
	c.file.Imports = append(c.file.Imports, imp)
}

// libraryJava reports whether a name belongs to the libraries that come with Java.
func libraryJava(q string) bool {
	return strings.HasPrefix(q, "java.") || strings.HasPrefix(q, "javax.") || strings.HasPrefix(q, "jdk.") || strings.HasPrefix(q, "sun.")
}
