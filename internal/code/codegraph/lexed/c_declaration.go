package lexed

import (
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// declaration reads a function, a variable, a member or a record.
func (c *cReader) declaration(i, end, first int, types []int, l cLevel) int {
	if k := c.recordIn(i, end); k >= 0 {
		if _, _, body := c.recordBodyAt(k, end); body > 0 {
			return c.record(k, end, first, types, l)
		}
		if c.op(k+2) == ';' || c.scopedEnum(k) && c.op(k+3) == ';' || c.op(k+2) == '<' && c.op(c.angle(k+2)+1) == ';' {
			stop := c.statementEnd(k, end) // no body: the record is only named
			c.markNotUse(first, stop)
			return stop
		}
	}
	static := false
	for k := i; k < end; k = c.past(k, end) {
		switch o := c.op(k); {
		case c.is(k, "static"):
			static = true
		case c.is(k, "operator") && c.plusplus:
			return c.operator(k, i, end, first, types, l, static)
		case o == '(':
			if c.callable(k, i) {
				if next, ok := c.function(k, i, end, first, types, l, static); ok {
					return next
				}
			}
			if k == i { // "(name)(args)"
				return c.semicolonOrBody(k, end)
			}
			if at := c.inParens(k); at > 0 {
				return c.pointerVariable(at, k, i, end, first, l, static)
			}
		case closes(o):
			return k + 1
		case o == '=' || o == ';' || o == ',' || o == ':' || o == '[' && c.op(k+1) != '[':
			if k == i {
				return c.semicolonOrBody(k+1, end)
			}
			stop := c.variableEnd(k, end)
			if c.typeBefore(i, k) {
				c.variables(i, i, stop, first, l)
			}
			c.typeParameters(types, stop)
			return stop + 1
		case o == '{':
			if !c.bracedValue(k, i) {
				return c.match(k) + 1
			}
			stop := c.variableEnd(k, end)
			c.variables(i, i, stop, first, l)
			return stop + 1
		}
	}
	return end
}

// recordIn returns the word "struct", "union", "enum" or "class" in the first words of the declaration at i, behind
// modifiers and attributes; -1 if there is none.
func (c *cReader) recordIn(i, end int) int {
	for n := 0; i < end && n < 8; n++ {
		if c.recordWord(i) {
			return i
		}
		switch c.op(i) {
		case '[':
		case '(':
			if c.op(i-1) != ')' && !attributeWord(c, i-1) && !c.lang.keywords[c.text(i-1)] {
				return -1
			}
		default:
			if c.kind(i) != word {
				return -1
			}
		}
		i = c.skip(i)
	}
	return -1
}

// bracedValue reports whether the brace at k opens the value of the first variable of the declaration at i: "T x{1};".
func (c *cReader) bracedValue(k, i int) bool {
	after := c.op(c.match(k) + 1)
	return c.plusplus && k-1 > i && c.name(k-1) && (after == ';' || after == ',')
}

// callable reports whether the parenthesis at k may open the parameters of a function whose declaration begins at i.
func (c *cReader) callable(k, i int) bool {
	if c.kind(k-1) != word && c.op(k-1) != '>' || k == i {
		return false
	}
	w := c.text(k - 1)
	switch w {
	case "__attribute__", "__declspec", "alignas", "decltype", "noexcept", "throw", "requires", "explicit", "asm", "__asm__", "typeof", "__typeof__", "_Alignas", "sizeof", "if", "while", "for", "switch", "return", "defined":
		return false
	}
	if c.lang.keywords[w] && c.kind(k-1) == word {
		return false
	}
	after := c.match(k) + 1
	if c.op(after) == '(' && c.inParens(k) > 0 { // a pointer to a function
		return false
	}
	if c.kind(after) == word && !functionTail[c.text(after)] && !allUpper(c.text(after)) && !strings.HasPrefix(c.text(after), "__") {
		return c.oldStyle(k, after, i) // else a macro before the name: "API(int) f(void)"
	}
	return !(c.op(after) == '(' && c.op(k+1) != '*' && c.kind(after+1) == 0)
}

var functionTail = words(`const volatile noexcept override final throw try requires mutable asm __asm__ __attribute__ and`)

// path reads "A::B<T>::name" backwards from its last word, at. It returns the first token and the names before the last
// one.
func (c *cReader) path(at, from int) (first int, names []string) {
	first = at
	if c.op(first-1) == '~' {
		first--
	}
	for first-2 >= from && c.op(first-1) == opPath {
		k := first - 2
		if c.op(k) == '>' {
			k = c.angleBack(k) - 1
		}
		if k < from || c.kind(k) != word {
			break
		}
		names = append([]string{c.text(k)}, names...)
		first = k
	}
	return first, names
}

// function declares the function whose parameters open at k. ok is false for a macro call.
func (c *cReader) function(k, i, end, first int, types []int, l cLevel, static bool) (next int, ok bool) {
	at := k - 1
	if c.op(at) == '>' {
		if at = c.angleBack(at) - 1; at < i || c.kind(at) != word {
			return 0, false
		}
	}
	pathFirst, names := c.path(at, i)
	name := c.text(at)
	destructor := c.op(at-1) == '~'
	if destructor {
		name = "~" + name
	}
	constructor := destructor || name == l.class || len(names) > 0 && names[len(names)-1] == name
	stop := c.functionEnd(c.match(k)+1, end)
	body := c.op(stop) == '{' && stop < end
	if pathFirst == i && !constructor { // no type before the name
		switch {
		case testMacros[name] && body:
			return c.macroTest(k, stop, first, l), true
		case allUpper(name) || !body || l.class != "" && !c.is(i, "operator"):
			return c.afterMacroCall(name, k, stop, end), true
		}
	}
	kind := codegraph.KindFunction
	if l.class != "" || constructor {
		kind = codegraph.KindMethod
	}
	d := declaration{kind: kind, name: name, within: joinDotted(l.scope, strings.Join(names, ".")), parent: l.parent, first: first, head: i, stop: c.signatureEnd(k, stop),
		last: c.match(stop), exported: c.visible(l) && (!static || l.class != "" || c.header())}
	if stop >= end {
		d.last = end - 1
	}
	c.markNotUse(pathFirst, at+1)
	last := c.declareFunction(d, names, types, k)
	if body {
		c.bodies = append(c.bodies, span{stop, last})
		if c.match(k)+1 < stop {
			c.bodies = append(c.bodies, span{c.match(k) + 1, stop})
		}
	}
	return last + 1, true
}

// afterMacroCall returns the token after the call of a macro with the arguments at k. Its body or semicolon may be at stop.
func (c *cReader) afterMacroCall(name string, k, stop, end int) int {
	after := c.match(k) + 1
	switch c.op(stop) {
	case '{':
		if stop < end {
			return min(c.match(stop)+1, end)
		}
	case ';':
		nextLine := allUpper(name) && c.kind(after) == word && c.toks[after].first() // a declaration begins there
		if !nextLine {
			return min(c.match(stop)+1, end)
		}
	}
	return after
}

// signatureEnd returns the end of a signature without initializers and old-style parameter declarations. The parameters
// open at open.
func (c *cReader) signatureEnd(open, stop int) int {
	return min(c.find(c.match(open)+1, stop, ':', ';'), stop)
}

// declareFunction declares a function with its parameters, and returns its last token. With names in front of its own,
// it is a member of a class.
func (c *cReader) declareFunction(d declaration, names []string, types []int, open int) (last int) {
	if len(names) > 0 && upper(names[len(names)-1]) {
		d.kind = codegraph.KindMethod
	}
	n := c.documented(d, d.last)
	if len(names) > 0 {
		if t, ok := c.declared[d.within]; ok && c.file.Decls[t].Kind == codegraph.KindType {
			c.file.Decls[n].Kind = codegraph.KindMethod
		}
		c.outside = append(c.outside, n)
	}
	last = int(c.places[n].last)
	c.typeParameters(types, last)
	c.parameterNames(open, last)
	return last
}

// documented declares d with the comment before it, or with the one behind the token last.
func (c *cReader) documented(d declaration, last int) int {
	if d.doc = c.doc(d.first, d.head); d.doc == "" {
		d.doc = c.trailing(last)
	}
	return c.declare(d)
}

var testMacros = words(`TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P TEST_CASE SCENARIO BOOST_AUTO_TEST_CASE BOOST_FIXTURE_TEST_CASE
	TEST_METHOD BENCHMARK_F`)

// macroTest declares "TEST(Suite, Name) {".
func (c *cReader) macroTest(k, stop, first int, l cLevel) int {
	var parts []string
	c.list(k+1, c.match(k), func(i, end int) {
		s := c.signature(i, end)
		if c.kind(i) == text {
			s = strings.ReplaceAll(unquote(s), ".", " ")
		}
		if s != "" && len(parts) < 2 && !strings.HasPrefix(s, "[") {
			parts = append(parts, s)
		}
	})
	c.markNotUse(k-1, c.match(k))
	if len(parts) > 0 {
		n := c.declare(declaration{kind: codegraph.KindFunction, name: strings.ReplaceAll(strings.Join(parts, "_"), ".", "_"), within: l.scope, parent: l.parent, first: first, head: first, stop: stop, last: c.match(stop), test: true})
		c.bodies = append(c.bodies, span{stop, int(c.places[n].last)})
	}
	return c.match(stop) + 1
}

// typeBefore reports whether there is more than one name between i and at, that is, a type before a name.
func (c *cReader) typeBefore(i, at int) bool {
	n := 0
	for k := i; k < at; k = c.skip(k) {
		if c.kind(k) == word && c.op(k+1) != opPath || c.op(k) == '>' {
			n++
		}
	}
	return n > 1
}

// variables declares the names between from and stop. Their declaration begins at head.
func (c *cReader) variables(head, from, stop, first int, l cLevel) {
	static := false
	for k := head; k < from+4 && k < stop; k++ {
		static = static || c.is(k, "static")
	}
	c.list(from, stop, func(i, end int) {
		at := c.declarator(i, c.valueAt(i, end))
		if at < 0 || c.kind(at) != word {
			return
		}
		_, names := c.path(at, i)
		c.mark(at, notUse)
		d := declaration{kind: codegraph.KindVariable, name: c.text(at), within: l.scope, parent: l.parent, first: i, head: i, stop: c.valueAt(i, end), last: end - 1,
			exported: c.visible(l) && (!static || l.class != "")}
		if i == from {
			d.first, d.head = first, head
		}
		d.within = joinDotted(d.within, strings.Join(names, "."))
		if l.class != "" || len(names) > 0 && upper(names[len(names)-1]) {
			d.kind = codegraph.KindProperty
		}
		n := c.documented(d, stop)
		if len(names) > 0 {
			c.outside = append(c.outside, n)
		}
		c.bodies = append(c.bodies, span{at, end - 1})
	})
}

// valueAt returns the token at which the value, size or bit width of a variable begins.
func (c *cReader) valueAt(i, end int) int {
	for k := i; k < end; k = c.skip(k) {
		switch o := c.op(k); o {
		case '=', '{', ':':
			return k
		case '[':
			if c.op(k+1) != '[' && k > i {
				return k
			}
		case '<':
			if shut := c.angle(k); shut > 0 && shut < end {
				k = shut
			}
		}
	}
	return end
}

// pointerVariable declares "int (*name)(int) = f;" or the function "int (*name(int))(int)".
func (c *cReader) pointerVariable(at, k, i, end, first int, l cLevel, static bool) int {
	stop := c.functionEnd(k, end)
	if c.op(stop) != '{' {
		stop = c.variableEnd(k, end)
	}
	c.mark(at, notUse)
	d := declaration{kind: codegraph.KindVariable, name: c.text(at), within: l.scope, parent: l.parent, first: first, head: i, stop: c.valueAt(k+1, stop), last: min(stop, end-1), exported: c.visible(l) && (!static || l.class != "")}
	if l.class != "" {
		d.kind = codegraph.KindProperty
	}
	open := at + 1
	if c.op(open) == ')' && at == k+1 { // int (name)(args)
		open++
	}
	if c.op(open) == '(' && (open < c.match(k) || at == k+1) {
		d.kind = codegraph.KindFunction
		d.last = min(c.match(stop), end-1)
		if c.op(stop) == '{' {
			c.bodies = append(c.bodies, span{stop, d.last})
		}
	}
	n := c.declare(d)
	if d.kind == codegraph.KindFunction {
		c.parameterNames(open, int(c.places[n].last))
	}
	return int(c.places[n].last) + 1
}

// operator declares "operator+", with that name, and conversions: "operator bool".
func (c *cReader) operator(k, i, end, first int, types []int, l cLevel, static bool) int {
	open := k + 1
	for open < end && open < k+12 && (c.op(open) != '(' || open == k+1 && c.op(open+1) == ')') {
		open++
	}
	if c.op(open) != '(' {
		return c.semicolonOrBody(k, end)
	}
	_, names := c.path(k, i)
	stop := c.functionEnd(c.match(open)+1, end)
	d := declaration{kind: codegraph.KindFunction, name: c.signature(k, open), within: joinDotted(l.scope, strings.Join(names, ".")), parent: l.parent, first: first, head: i,
		stop: c.signatureEnd(open, stop), last: min(c.match(stop), end-1), exported: c.visible(l) && (!static || l.class != "")}
	if l.class != "" {
		d.kind = codegraph.KindMethod
	}
	last := c.declareFunction(d, names, types, open)
	if c.op(stop) == '{' && stop < end {
		c.bodies = append(c.bodies, span{stop, last})
	}
	return last + 1
}

// parameterNames binds the names of parameters: the last word of each one that has a type before it.
func (c *cReader) parameterNames(open, last int) {
	if c.op(open) != '(' {
		return
	}
	c.list(open+1, c.match(open), func(i, end int) {
		stop := c.valueAt(i, end)
		at := c.declarator(i, stop)
		if at < 0 {
			return
		}
		if at > i {
			c.local(at, open, last)
			c.mark(at, notUse)
		} else if !c.plusplus && c.kind(c.match(open)+1) == word { // old style
			c.local(at, open, last)
		}
	})
}

// declarator finds the name declared between two tokens without a body: the one in "(*name)", or the last word before a
// bracket or the end.
func (c *cReader) declarator(i, stop int) int {
	at := -1
	for ; i < stop; i = c.skip(i) {
		switch o := c.op(i); {
		case o == '(':
			if k := c.inParens(i); k > 0 {
				return k
			}
			if at >= 0 {
				return at
			}
		case o == '[' || o == ',' || o == '=' || o == ':':
			if at >= 0 {
				return at
			}
		case o == '<':
			if shut := c.angle(i); shut > 0 && shut < stop {
				i = shut
			}
		case c.kind(i) == word && !c.lang.keywords[c.text(i)] && !attributeWord(c, i):
			at = i
		}
	}
	return at
}

// inParens finds the name in "(*name)" or "(Class::*name[2])" at i. It returns -1 if there is none.
func (c *cReader) inParens(i int) int {
	k := i + 1
	if c.name(k) && c.op(k+1) == ')' && c.op(k+2) == '(' { // int (name)(args)
		return k
	}
	for c.name(k) && c.op(k+1) == opPath {
		k += 2
	}
	for c.name(k) && c.op(k+1) == '*' { // (CALLBACK *name)
		k++
	}
	if o := c.op(k); o != '*' && o != '&' && o != '^' && o != opLogic {
		return -1
	}
	for end := c.match(i); k < end; k++ {
		if c.name(k) && !attributeWord(c, k) {
			return k
		}
		if c.op(k) == '(' && c.op(k+1) != '*' {
			return -1
		}
	}
	return -1
}

// attributeWord reports whether the word at i is a macro used as an attribute: in upper case, with arguments.
func attributeWord(c *cReader, i int) bool {
	return c.op(i+1) == '(' && allUpper(c.text(i)) && c.op(i+2) != '*'
}

// allUpper reports whether a name has upper case only, as macros do.
func allUpper(s string) bool {
	return len(s) > 1 && strings.ToUpper(s) == s && strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}
