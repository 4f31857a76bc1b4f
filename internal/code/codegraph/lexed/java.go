package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// packageAndImports reads what stands at the head of a file of Java.
func (c *classReader) packageAndImports() {
	i := 0
	for i < len(c.toks) {
		start := i
		_, at := c.annotations(i)
		switch {
		case c.is(at, "package"):
			end := c.lost(at, len(c.toks)) - 1
			c.scope = c.dottedPath(at+1, end)
			if c.scope != "" {
				c.file.Within = c.keep(codegraph.ID(codegraph.KindPackage, c.scope))
				c.addScope(c.scope)
			}
			c.mute(at, end)
			i = end + 1
		case c.is(i, "import"):
			end := c.lost(i, len(c.toks)) - 1
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

// importJava reads one import. The package is what stands before the first part that
// begins in upper case.
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
	c.mute(i, end)
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
		local := last(q)
		n := name{qualified: c.keep(q)}
		if libraryJava(q) {
			n.qualified = ""
		}
		c.names[c.keep(local)] = n
		pkg = parentModule(q)
	}
	for part := last(pkg); static && upper(part) || upper(part) && pkg != part; part = last(pkg) {
		if pkg = parentModule(pkg); pkg == "" {
			break
		}
		static = false
	}
	imp := codegraph.Import{Path: c.keep(q), Line: line}
	if pkg != "" && !module {
		imp.Target = c.keep(codegraph.ID(codegraph.KindPackage, pkg))
	}
	c.file.Imports = append(c.file.Imports, imp)
}

// libraryJava reports whether a name belongs to what comes with Java.
func libraryJava(q string) bool {
	return strings.HasPrefix(q, "java.") || strings.HasPrefix(q, "javax.") || strings.HasPrefix(q, "jdk.") || strings.HasPrefix(q, "sun.")
}
