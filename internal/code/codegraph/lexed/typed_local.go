package lexed

// typedLocals binds the local names of bodies in languages that write the type before the name: "Type name", parameters
// of lambdas, and further names after commas.
func (r *reader) typedLocals(bodies []span) {
	for _, b := range bodies {
		if b.last > b.first {
			r.bodyLocals(b.first, min(b.last, len(r.toks)-1))
		}
	}
}

func (r *reader) bodyLocals(first, end int) {
	var open []int
	for i := first; i <= end; i++ {
		switch o := r.op(i); {
		case opens(o):
			open = append(open, i)
		case closes(o):
			for len(open) > 0 && r.match(open[len(open)-1]) <= i {
				open = open[:len(open)-1]
			}
		case o == opArrow || o == opThinArrow:
			if r.lang.family == cfamily {
				continue
			}
			if r.kind(i-1) == word {
				r.local(i-1, i-1, r.around(open, end))
			} else if r.op(i-1) == ')' && r.toks[i-1].match >= 0 {
				r.arrowParameters(int(r.toks[i-1].match), r.around(open, end))
			}
		case r.kind(i) == word && r.lang.family == csharp && r.op(i+1) == '(' && r.csharpLocal(i, r.block(open, end)):
		case r.kind(i) == word && r.lang.family == java && r.op(i+1) == '(' && r.javaMethod(i, r.block(open, end)):
		case r.kind(i) == word && r.declares(i):
			r.mark(i, notUse)
			last := r.block(open, end)
			r.local(i, i, last)
			r.moreNames(i+1, last)
		}
	}
}

// csharpLocal binds an inner function with its parameters, or "var (a, b)". It reports whether one begins at i.
func (r *reader) csharpLocal(i, last int) bool {
	shut := r.match(i + 1)
	if r.is(i, "var") {
		for k := i + 2; k < shut; k++ {
			r.local(k, i, last)
		}
		return true
	}
	if after := r.op(shut + 1); after != '{' && after != opArrow || !r.name(i) {
		return false
	}
	if p := r.op(i - 1); p != '>' && p != ']' && p != '?' && !r.typeWord(i-1) {
		return false
	}
	r.local(i, i, last)
	r.mark(i, notUse)
	if r.op(shut+1) == '{' {
		last = r.match(shut + 1)
	}
	r.arrowParameters(i+1, last)
	return true
}

// javaMethod binds a method or constructor of a class within a body, such as an anonymous class, with its parameters.
// It reports whether one begins at i.
func (r *reader) javaMethod(i, last int) bool {
	shut := r.match(i + 1)
	open := shut + 1
	if r.is(open, "throws") {
		for open++; r.kind(open) == word || r.op(open) == '.' || r.op(open) == ','; {
			open++
		}
	}
	if r.op(open) != '{' || !r.name(i) || r.is(i-1, "new") || r.op(i-1) == '.' {
		return false
	}
	r.local(i, i, last)
	r.mark(i, notUse)
	r.arrowParameters(i+1, r.match(open))
	return true
}

// around returns the last token of the innermost open bracket, or end.
func (r *reader) around(open []int, end int) int {
	if len(open) == 0 {
		return end
	}
	return r.match(open[len(open)-1])
}

// block returns the last token of the innermost open braces, or end.
func (r *reader) block(open []int, end int) int {
	for n := len(open) - 1; n >= 0 && n >= len(open)-maxBack; n-- {
		if r.op(open[n]) == '{' {
			return r.match(open[n])
		}
	}
	return end
}

// declares reports whether the word at i is a declared name: a type comes before it, and a token that can follow a
// declared name comes after it.
func (r *reader) declares(i int) bool {
	return r.name(i) && i > 0 && r.beforeValue(i) && r.afterType(i)
}

// beforeValue reports whether what follows the word at i can follow a declared name.
func (r *reader) beforeValue(i int) bool {
	switch r.op(i + 1) {
	case '=', ';', ':', ',', ')', '[', '}', opLogic:
		return true
	case '(', '{': // C++: T x(1), T x{1}
		return r.lang.plusplus && (r.op(i-1) == '>' || r.typeWord(i-1))
	}
	return r.is(i+1, "in") || r.is(i+1, "when") || r.is(i+1, "and") || r.is(i+1, "or")
}

// afterType reports whether what is before the word at i can be the end of a type.
func (r *reader) afterType(i int) bool {
	csharp, cfamily := r.lang.family == csharp, r.lang.family == cfamily
	switch p := r.tok(i - 1); {
	case p.kind == word:
		if cfamily && r.op(i-2) == '.' {
			return false
		}
		w := r.text(i - 1)
		return !r.lang.keywords[w] && r.op(i-2) != opThinArrow || typeKeywords[w]
	case p.op == '>':
		return r.beforeTypes(i - 1)
	case p.op == ']':
		return r.arrayType(i - 1)
	case p.op == '?':
		return csharp && r.kind(i-2) == word && (typeKeywords[r.text(i-2)] || upper(r.text(i-2))) && r.op(i+1) != ':'
	case p.op == '}': // is { Ok: true } name
		after := r.op(i + 1)
		return csharp && !r.toks[i].first() && (after == ')' || after == opLogic || after == ',')
	case p.op == '*' || p.op == '&' || p.op == opLogic:
		return cfamily && r.pointer(i-1)
	}
	return r.op(i-1) == opSpread
}

// typeWord reports whether the token at i is a word that can be a type.
func (r *reader) typeWord(i int) bool {
	return r.name(i) || r.kind(i) == word && typeKeywords[r.text(i)]
}

// arrayType reports whether the "]" at i ends the type of an array: "int[]", in C# also "int[,]".
func (r *reader) arrayType(i int) bool {
	open := int(r.toks[i].match)
	if open < 0 || open != i-1 && (r.lang.family != csharp || r.op(i-1) != ',') {
		return false
	}
	element := r.op(open - 1)
	return r.kind(open-1) == word || element == '>' || closes(element)
}

var typeKeywords = words(`int long short byte char boolean bool float double void var auto string object decimal dynamic uint ulong
	ushort sbyte nint nuint unsigned signed const final size_t out ref in wchar_t char8_t char16_t char32_t _Bool`)

// beforeTypes reports whether the ">" at i ends a list of types after a name.
func (r *reader) beforeTypes(i int) bool {
	k := r.angleBack(i)
	return k > 0 && r.kind(k-1) == word
}

// angleBack finds the "<" for the ">" at i, at most 100 tokens back. It returns -1 for none.
func (r *reader) angleBack(i int) int {
	depth := 0
	for k, n := i, 0; k >= 0 && n < 100; k, n = k-1, n+1 {
		switch r.op(k) {
		case '>':
			depth++
		case '<':
			if depth--; depth == 0 {
				return k
			}
		case ';', '{', '}':
			return -1
		}
	}
	return -1
}

// pointer reports whether the star at i belongs to a type: it follows the type at the beginning of a statement or
// parameter.
func (r *reader) pointer(i int) bool {
	for n := 0; n < 4 && (r.op(i) == '*' || r.op(i) == '&' || r.op(i) == opLogic || r.is(i, "const")); n++ {
		i--
	}
	if r.op(i) == '>' {
		return r.beforeTypes(i)
	}
	if r.kind(i) != word {
		return false
	}
	if w := r.text(i); r.lang.keywords[w] {
		return typeKeywords[w]
	}
	for r.op(i-1) == opPath {
		i -= 2
	}
	switch r.op(i - 1) {
	case ';', '{', '}', '(', ',':
		return r.op(i-1) != '(' && r.op(i-1) != ',' || r.op(i-1) == '(' && r.is(i-2, "for")
	}
	if r.kind(i-1) != word {
		return r.op(i-1) == ':' || r.op(i-1) == ')' && r.toks[i].first()
	}
	switch r.text(i - 1) {
	case "struct", "union", "enum", "const", "static", "volatile", "register", "class", "typename", "extern":
		return true
	}
	return false
}

// moreNames binds the further names of a declaration: b and c in "int a = 1, b, *c[2]".
func (r *reader) moreNames(i, last int) {
	for n := 0; i <= last && n < 400; n++ {
		switch o := r.op(i); {
		case o == ';' || closes(o) || o == ':' || r.kind(i) == word && r.is(i, "in"):
			return
		case o == ',':
			i++
			for r.op(i) == '*' || r.op(i) == '&' || r.is(i, "const") {
				i++
			}
			if o := r.op(i + 1); !r.name(i) || o != '=' && o != ',' && o != ';' && o != '[' && o != '(' && o != '{' {
				return
			}
			r.local(i, i, last)
			r.mark(i, notUse)
		}
		i = r.skip(i)
	}
}

// arrowParameters binds "(a, b)" before an arrow.
func (r *reader) arrowParameters(open, last int) {
	r.list(open+1, r.match(open), func(i, end int) {
		if end > i {
			r.local(end-1, open, last)
			r.mark(end-1, notUse)
		}
	})
}
