package lexed

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// script reads JavaScript and TypeScript.
func (r *reader) script() {
	r.scope = unit(r.file.Path)
	s := &scriptReader{reader: r, exports: map[string]bool{}}
	r.module = s.isModule()
	s.block(0, len(r.toks), scriptContext{parent: -1, scope: r.scope, exported: r.module})
	s.exportNames()
	s.bind()
	s.aliases()
}

// unit returns the path of a file without its extension. It qualifies declarations in languages without packages. A
// declaration file (".d.ts") has the same unit as the file that it describes.
func unit(file string) string {
	u := strings.TrimSuffix(file, path.Ext(file))
	switch path.Ext(file) {
	case ".ts", ".mts", ".cts":
		u = strings.TrimSuffix(u, ".d")
	}
	return u
}

type scriptReader struct {
	*reader
	exports     map[string]bool // declared names in export lists
	exportPairs [][2]string     // exported names, each with its name in the file
}

// scriptContext is the context of declarations: what encloses them.
type scriptContext struct {
	parent   int
	scope    string
	exported bool // declarations here can be exported; false within something that is not exported
	all      bool // everything declared here is exported: within "declare" or in a declaration file
}

// isModule reports whether the file imports or exports anything. If so, its names are not global.
func (s *scriptReader) isModule() bool {
	for i, t := range s.toks {
		if t.kind != word {
			continue
		}
		switch w := s.text(i); {
		case (w == "import" || w == "export") && t.first(),
			w == "require" && s.op(i+1) == '(' && s.kind(i+2) == text,
			(w == "module" || w == "exports") && s.op(i+1) == '.':
			return true
		}
	}
	return false
}

// block reads statements.
func (s *scriptReader) block(i, end int, a scriptContext) {
	s.nested(i, end, func(i int) int { return s.statement(i, end, a) })
}

func (s *scriptReader) statement(i, end int, a scriptContext) int {
	first := i
	i = s.decorators(i, end)
	head, exported, deflt := i, a.all, false
	if s.is(i, "export") {
		next, done := s.export(i, end)
		if done {
			return next
		}
		exported, deflt = true, s.is(i+1, "default")
		i = s.decorators(next, end)
	}
	if a.parent >= 0 && !a.exported {
		exported = false
	}
	d := declaration{within: a.scope, parent: a.parent, first: first, head: head, exported: exported}
	return s.exportable(i, end, a, d, deflt)
}

// exportable reads a declaration that may follow "export".
func (s *scriptReader) exportable(i, end int, a scriptContext, d declaration, deflt bool) int {
	for i < end && s.kind(i) == word {
		switch w := s.text(i); w {
		case "declare", "abstract", "async":
			if !s.wordBeside(i) {
				return s.expression(i, end, a, d, deflt)
			}
			a.all = a.all || w == "declare" && !s.module
			i++
			continue
		case "function":
			return s.function(i, end, d, deflt)
		case "class":
			if deflt || s.name(i+1) {
				return s.class(i, end, d, deflt)
			}
		case "const", "let", "var", "using":
			if w == "const" && s.is(i+1, "enum") {
				i++
				continue
			}
			if s.kind(i+1) == word || w != "using" && opens(s.op(i+1)) {
				return s.variables(i, end, d)
			}
		case "import":
			if s.op(i+1) != '(' && s.op(i+1) != '.' {
				return s.imports(i, end)
			}
		case "if", "for", "while", "switch", "try", "do", "return", "throw":
			return s.control(i, end)
		default:
			if next, ok := s.typeDeclaration(i, end, a, d); ok {
				return next
			}
		}
		break
	}
	if s.op(i) == ';' {
		return i + 1
	}
	return s.expression(i, end, a, d, deflt)
}

// typeDeclaration reads what only TypeScript declares. ok is false if the word at i has another meaning there.
func (s *scriptReader) typeDeclaration(i, end int, a scriptContext, d declaration) (next int, ok bool) {
	switch s.text(i) {
	case "interface":
		if s.wordBeside(i) {
			return s.iface(i, end, d), true
		}
	case "enum":
		if s.kind(i+1) == word {
			return s.enum(i, end, d), true
		}
	case "type":
		if s.wordBeside(i) && (s.op(i+2) == '=' || s.op(i+2) == '<') {
			return s.alias(i, end, d), true
		}
	case "namespace", "module", "global":
		return s.namespace(i, end, a, d)
	}
	return 0, false
}

// wordBeside reports whether a word follows the token at i on the same line.
func (s *scriptReader) wordBeside(i int) bool { return s.kind(i+1) == word && !s.toks[i+1].first() }

// control skips a statement that declares nothing at this level.
func (s *scriptReader) control(i, end int) int {
	i++
	for i < end && s.op(i) != '{' && s.op(i) != ';' {
		if s.toks[i].first() && s.kind(i) == word && s.op(i-1) == ')' {
			return i
		}
		i = s.skip(i)
	}
	if s.op(i) == '{' {
		return s.match(i) + 1
	}
	return i + 1
}

// decorators skips "@name.of(args)".
func (s *scriptReader) decorators(i, end int) int {
	for i < end && s.op(i) == '@' {
		if i++; s.op(i) != '(' {
			for i++; s.op(i) == '.'; {
				i += 2
			}
		}
		if s.op(i) == '(' {
			i = s.skip(i)
		}
	}
	return i
}

// expressionEnd returns the end of an expression or a type. It ends at a semicolon, at the end of the block, at a comma
// if comma is set, or before a line that does not continue it.
func (s *scriptReader) expressionEnd(i, end int, comma bool) int {
	for from := i; i < end; {
		o := s.op(i)
		if o == ';' || closes(o) || comma && o == ',' || i > from && s.toks[i].first() && !s.continues(i) {
			return i
		}
		if shut := s.afterTypes(i) - 1; comma && shut > i && shut < end && s.typesEnd(shut) {
			i = shut
		}
		i = s.skip(i)
	}
	return end
}

// typeEnd returns the end of a type outside of brackets: one of the marks, the end of the statement or block, or a line
// that does not continue it.
func (s *scriptReader) typeEnd(i, end int, marks ...op) int {
	for from := i; i < end; i = s.past(i, len(s.toks)) {
		if o := s.op(i); o == ';' || closes(o) || slices.Contains(marks, o) || i > from && s.toks[i].first() && !s.continues(i) {
			return i
		}
	}
	return end
}

// typesEnd reports by the token after ">" whether "<…>" is a list of types and not two comparisons.
func (s *scriptReader) typesEnd(shut int) bool {
	switch s.op(shut + 1) {
	case '(', ')', '>', ',', ';', '=', ']', '}', '|', '&', '{', '[', '.', ':', opArrow:
		return true
	}
	return s.kind(shut+1) == 0 || s.toks[min(shut+1, len(s.toks)-1)].first() || s.is(shut+1, "extends")
}

// continues reports whether the line that begins at i continues the previous line.
func (s *scriptReader) continues(i int) bool {
	switch p := s.toks[i-1]; {
	case p.op == '!':
		return false
	case p.kind == punct && p.op != ')' && p.op != ']' && p.op != '}' && p.op != opStep && p.op != '>',
		p.kind == word && unfinishedWords[s.text(i-1)] && s.op(i-2) != '.' && s.op(i-2) != ':':
		return true
	}
	switch o := s.op(i); o {
	case '@', '#', '{', '!', '~', opStep:
		return o == '{' && s.op(i-1) == opArrow
	}
	if o := s.op(i + 1); s.kind(i) == word {
		return continuingWords[s.text(i)] && o != ':' && o != '(' && o != '=' && o != '?'
	}
	return s.kind(i) == punct
}

var (
	unfinishedWords = words(`typeof new await extends keyof readonly is infer in as satisfies instanceof of return delete case asserts
		unique async implements`)
	continuingWords = words("in of instanceof as satisfies extends is")
)

// imports reads an import statement.
func (s *scriptReader) imports(i, end int) int {
	start := i
	if i++; s.is(i, "type") && (s.kind(i+1) == word && !s.is(i+1, "from") || s.op(i+1) == '{' || s.op(i+1) == '*') {
		i++
	}
	if s.kind(i) == text {
		s.from(start, i, nil)
		return s.attributes(start, i+1, end)
	}
	if s.kind(i) == word && s.op(i+1) == '=' { // import x = require("y"), import x = A.B
		local := s.text(i)
		if s.is(i+2, "require") && s.kind(i+4) == text {
			s.from(start, i+4, []imported{{local: local, all: true}})
			return s.attributes(start, i+6, end)
		}
		next := s.expressionEnd(i+2, end, false)
		s.markNotUse(start, i+2)
		return next
	}
	var names []imported
	for i < end && s.kind(i) != text && s.op(i) != ';' {
		switch {
		case s.is(i, "from"):
			if s.kind(i+1) == text {
				s.from(start, i+1, names)
				return s.attributes(start, i+2, end)
			}
		case s.op(i) == '*' && s.is(i+1, "as"):
			names = append(names, imported{local: s.text(i + 2), all: true})
			i += 2
		case s.op(i) == '{':
			names = append(names, s.named(i+1, s.match(i))...)
			i = s.match(i)
		case s.kind(i) == word:
			names = append(names, imported{local: s.text(i), isDefault: true})
		case s.op(i) != ',':
			return i
		}
		i++
	}
	return i
}

// attributes skips "with { type: 'json' }" and marks the statement as no use.
func (s *scriptReader) attributes(start, i, end int) int {
	if (s.is(i, "with") || s.is(i, "assert")) && s.op(i+1) == '{' {
		i = s.match(i+1) + 1
	}
	s.markNotUse(start, min(i, end))
	return i
}

// imported is a name imported from another file.
type imported struct {
	name, local    string
	all, isDefault bool
}

// named reads "a, b as c, type d".
func (s *scriptReader) named(i, end int) (out []imported) {
	s.list(i, end, func(i, end int) {
		if s.is(i, "type") && i+1 < end && s.kind(i+1) == word && !(s.is(i+1, "as") && i+3 > end) {
			i++
		}
		n := imported{name: strings.Trim(s.text(i), `"'`)}
		n.local = n.name
		if s.is(i+1, "as") || s.op(i+1) == ':' { // the colon occurs in a pattern with require
			n.local = s.text(i + 2)
		}
		n.isDefault = n.name == "default"
		out = append(out, n)
	})
	return out
}

// from records an import from the file named by the string at i.
func (s *scriptReader) from(start, i int, names []imported) {
	spec := unquote(s.text(i))
	if spec == "" {
		return
	}
	target, scope := s.set.scripts.resolve(s.file.Path, spec)
	imp := codegraph.Import{Path: s.intern(spec), Target: target, Line: s.line(start)}
	if len(names) == 1 && names[0].all {
		imp.Name = s.intern(names[0].local)
	}
	s.file.Imports = append(s.file.Imports, imp)
	for _, n := range names {
		var as name
		switch {
		case n.local == "":
			continue
		case scope == "":
		case n.all:
			as = name{qualified: scope, module: true}
		case n.isDefault:
			as = name{viaScopes: true, value: s.intern(scope + ".default")}
			s.addScope(scope)
		default:
			as.qualified = s.intern(scope + "." + n.name)
		}
		s.names[s.intern(n.local)] = as
	}
}

// export reads what follows "export" if it is not a declaration. done is false for a declaration, which begins at next.
func (s *scriptReader) export(i, end int) (next int, done bool) {
	start := i
	i++
	switch {
	case s.is(i, "default"):
		return i + 1, false
	case s.op(i) == '=':
		if s.name(i + 1) {
			s.exportName(s.text(i + 1))
			s.exportAs("default", s.text(i+1))
		}
		return s.expressionEnd(i+1, end, false), true
	case s.is(i, "as") && s.is(i+1, "namespace"):
		s.markNotUse(start, i+3)
		return i + 3, true
	case s.is(i, "type") && (s.op(i+1) == '{' || s.op(i+1) == '*'):
		i++
	}
	switch s.op(i) {
	case '*':
		as := "*"
		if i++; s.is(i, "as") {
			as = s.text(i + 1)
			i += 2
		}
		if s.is(i, "from") && s.kind(i+1) == text {
			s.from(start, i+1, nil)
			if _, scope := s.set.scripts.resolve(s.file.Path, unquote(s.text(i+1))); scope != "" {
				s.addScope(scope)
				s.addAlias(as, scope)
			}
			i += 2
		}
		return s.attributes(start, i, end), true
	case '{':
		names := s.named(i+1, s.match(i))
		i = s.match(i) + 1
		if s.is(i, "from") && s.kind(i+1) == text {
			s.reexport(start, i+1, names)
			return s.attributes(start, i+2, end), true
		}
		for _, n := range names {
			s.exportName(n.name)
			s.exportAs(n.local, n.name)
		}
		s.markNotUse(start, i)
		return i, true
	}
	return i, false
}

// reexport records names that the file re-exports. The scope makes them known to files that import this one.
func (s *scriptReader) reexport(start, i int, names []imported) {
	s.from(start, i, nil)
	_, scope := s.set.scripts.resolve(s.file.Path, unquote(s.text(i)))
	if scope == "" {
		return
	}
	s.addScope(scope)
	for _, n := range names {
		s.addAlias(n.local, scope+"."+n.name)
		if !n.isDefault {
			s.use(-1, codegraph.References, scope+"."+n.name, true, s.line(start))
		}
	}
}

// addAlias records an alias in this module for something declared elsewhere.
func (s *scriptReader) addAlias(local, target string) {
	if local != "" && joinDotted(s.scope, local) != target {
		s.file.Aliases = append(s.file.Aliases, codegraph.Alias{Name: s.intern(local), Target: s.intern(target)})
	}
}

// exportAs records that the module exports the file's name under the name local.
func (s *scriptReader) exportAs(local, name string) {
	s.exportPairs = append(s.exportPairs, [2]string{local, name})
}

// aliases adds the aliases for the exports recorded by exportAs. It runs when all names are known.
func (s *scriptReader) aliases() {
	for _, h := range s.exportPairs {
		imp, imported := s.names[h[1]]
		switch _, ok := s.declared[joinDotted(s.scope, h[1])]; {
		case imp.value != "":
			s.addAlias(h[0], imp.value)
		case imported && imp.qualified != "":
			s.addAlias(h[0], imp.qualified)
		case ok:
			s.addAlias(h[0], joinDotted(s.scope, h[1]))
		}
	}
}

func (s *scriptReader) exportName(n string) { s.exports[n] = true }

// exportNames marks the declarations in export lists as exported.
func (s *scriptReader) exportNames() {
	for i := range s.file.Decls {
		d := &s.file.Decls[i]
		named := d.Parent < 0 && s.exports[d.Name] && d.Qualified == joinDotted(s.scope, d.Name)
		member := d.Parent >= 0 && s.exports[s.file.Decls[d.Parent].Name] && s.file.Decls[d.Parent].Exported
		d.Exported = d.Exported || named || member && !strings.HasPrefix(d.Name, "#") && !strings.HasPrefix(d.Signature, "private ")
	}
}

// require reads "require('x')" at i. It returns the token of the string.
func (s *scriptReader) require(i int) (str int, ok bool) {
	if s.is(i, "require") && s.op(i+1) == '(' && s.kind(i+2) == text && s.op(i+3) == ')' {
		return i + 2, true
	}
	return 0, false
}

// unquote removes the quotes of a string. It does not replace escapes.
func unquote(s string) string {
	if len(s) < 2 || s[0] != s[len(s)-1] {
		return ""
	}
	return s[1 : len(s)-1]
}

// addScope adds a scope in which bare names are looked up.
func (r *reader) addScope(scope string) {
	if len(r.file.Scopes) < maxScopes && !slices.Contains(r.file.Scopes, scope) {
		r.file.Scopes = append(r.file.Scopes, r.intern(scope))
	}
}

// maxScopes is the maximum number of scopes of one file.
const maxScopes = 64
