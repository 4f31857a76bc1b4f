package lexed

import (
	"path"
	"strings"
)

// script reads JavaScript and TypeScript.
func (r *reader) script() {
	r.scope = unit(r.file.Path)
	s := &scriptReader{reader: r}
	r.module = s.isModule()
	s.block(0, len(r.toks), around{parent: -1, scope: r.scope, exported: r.module})
	s.exportNames()
	s.bind()
}

// unit is the path of a file without its extension, which qualifies what a file of a
// language without packages declares. A file of declarations alone (".d.ts") goes with
// the one that it declares.
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
	exports map[string]bool // declared names that a list exports
	depth   int
}

// around is what declarations stand in.
type around struct {
	parent   int
	scope    string
	exported bool // what is here can be exported: false in what is not itself
	all      bool // all that is declared here is exported: "declare", a file of declarations
}

// isModule reports whether the file imports or exports, so that its names are its own.
func (s *scriptReader) isModule() bool {
	for i := range s.toks {
		switch s.kind(i) {
		case word:
		default:
			continue
		}
		switch s.text(i) {
		case "import", "export":
			if s.toks[i].first() {
				return true
			}
		case "require":
			if s.op(i+1) == '(' && s.kind(i+2) == text {
				return true
			}
		case "module", "exports":
			if s.op(i+1) == '.' {
				return true
			}
		}
	}
	return false
}

// block reads statements.
func (s *scriptReader) block(i, end int, a around) {
	if s.depth++; s.depth > maxDepth {
		s.depth--
		return
	}
	for i < end {
		next := s.statement(i, end, a)
		i = max(next, i+1)
	}
	s.depth--
}

func (s *scriptReader) statement(i, end int, a around) int {
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

// exportable reads what may follow "export".
func (s *scriptReader) exportable(i, end int, a around, d declaration, deflt bool) int {
	for i < end && s.kind(i) == word {
		switch w := s.text(i); w {
		case "declare", "abstract", "async":
			if s.kind(i+1) != word || s.toks[i+1].first() {
				return s.expression(i, end, a, d, deflt)
			}
			a.all = a.all || w == "declare" && !s.isModuleFile()
			i++
			continue
		case "function":
			return s.function(i, end, d, deflt)
		case "class":
			if deflt || s.name(i+1) {
				return s.class(i, end, d, deflt)
			}
		case "interface":
			if s.kind(i+1) == word && !s.toks[i+1].first() {
				return s.iface(i, end, d)
			}
		case "enum":
			if s.kind(i+1) == word {
				return s.enum(i, end, d)
			}
		case "type":
			if s.kind(i+1) == word && !s.toks[i+1].first() && (s.op(i+2) == '=' || s.op(i+2) == '<') {
				return s.alias(i, end, d)
			}
		case "namespace", "module", "global":
			if next, ok := s.namespace(i, end, a, d); ok {
				return next
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
		}
		break
	}
	if s.op(i) == ';' {
		return i + 1
	}
	return s.expression(i, end, a, d, deflt)
}

func (s *scriptReader) isModuleFile() bool { return s.module }

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
		i++
		if s.op(i) == '(' {
			i = s.skip(i)
			continue
		}
		i++
		for s.op(i) == '.' {
			i += 2
		}
		if s.op(i) == '(' {
			i = s.skip(i)
		}
	}
	return i
}

// expressionEnd goes to the end of an expression or of a type: behind it stands a
// semicolon, the end of the block, a comma if comma is set, or a line that does not go
// on with it.
func (s *scriptReader) expressionEnd(i, end int, comma bool) int {
	for from := i; i < end; {
		o := s.op(i)
		if o == ';' || closes(o) || comma && o == ',' {
			return i
		}
		if i > from && s.toks[i].first() && !s.continues(i) {
			return i
		}
		if o == '<' && comma {
			if shut := s.angle(i); shut > 0 && shut < end && s.typesEnd(shut) {
				i = shut + 1
				continue
			}
		}
		i = s.skip(i)
	}
	return end
}

// typesEnd tells a list of types from two comparisons by what follows it.
func (s *scriptReader) typesEnd(shut int) bool {
	switch s.op(shut + 1) {
	case '(', ')', '>', ',', ';', '=', ']', '}', '|', '&', '{', '[', '.', ':', opArrow:
		return true
	}
	return s.kind(shut+1) == 0 || s.toks[min(shut+1, len(s.toks)-1)].first() || s.is(shut+1, "extends")
}

// continues reports whether the line that begins at i goes on with the one before.
func (s *scriptReader) continues(i int) bool {
	switch p := s.toks[i-1]; p.kind {
	case punct:
		switch p.op {
		case ')', ']', '}', opStep, '>':
		case '!':
			return false
		default:
			return true
		}
	case word:
		switch s.text(i - 1) {
		case "typeof", "new", "await", "extends", "keyof", "readonly", "is", "infer", "in", "as", "satisfies", "instanceof", "of", "return", "delete", "case", "asserts", "unique", "async", "implements":
			if s.op(i-2) != '.' && s.op(i-2) != ':' {
				return true
			}
		}
	}
	switch t := s.toks[i]; t.kind {
	case punct:
		switch t.op {
		case '@', '#', '{', '!', '~', opStep:
			return t.op == '{' && s.op(i-1) == opArrow
		}
		return true
	case word:
		switch s.text(i) {
		case "in", "of", "instanceof", "as", "satisfies", "extends", "is":
			return s.op(i+1) != ':' && s.op(i+1) != '(' && s.op(i+1) != '=' && s.op(i+1) != '?'
		}
	}
	return false
}
