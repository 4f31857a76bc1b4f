package lexed

// pair gives brackets their partners, and reports the line of the first one that has
// none, or 0. Where the brackets do not fit, it tries again by the layout: a brace closes
// what begins on a line of its indentation, and a declaration at the left margin closes
// all but namespaces.
func pair(toks []token, src string, lang *language) (line int) {
	line = pairStrictly(toks, lang, src)
	if line == 0 || lang.family == python {
		return line
	}
	pairByLayout(toks, src, lang)
	return line
}

func pairStrictly(toks []token, lang *language, src string) (bad int) {
	var open []int
	fault := func(i int) {
		if bad == 0 {
			bad = int(toks[i].line)
		}
	}
	for i := range toks {
		t := &toks[i]
		switch {
		case opens(t.op):
			open = append(open, i)
		case closes(t.op):
			n := len(open) - 1
			for n >= 0 && n > len(open)-maxBack && partner(toks[open[n]].op) != t.op && toks[open[n]].op != '{' {
				n--
			}
			if n < 0 || partner(toks[open[n]].op) != t.op {
				fault(i)
				continue
			}
			if n < len(open)-1 {
				fault(i)
			}
			open = closeAll(toks, open, n+1, i-1)
			toks[open[n]].match, t.match = int32(i), int32(open[n])
			open = open[:n]
		case lang.family == python && len(open) > 0 && t.first() && t.kind == word && pythonStart(toks, i, src):
			fault(i)
			open = closeAll(toks, open, 0, i-1)
		}
	}
	if len(open) > 0 {
		fault(open[0])
		closeAll(toks, open, 0, len(toks)-1)
	}
	return bad
}

// closeAll ends the brackets from n on at the token last.
func closeAll(toks []token, open []int, n, last int) []int {
	for _, i := range open[n:] {
		toks[i].match = int32(max(last, i))
	}
	return open[:n]
}

// pythonStart reports whether a statement begins that can't stand in brackets.
func pythonStart(toks []token, i int, src string) bool {
	switch w := src[toks[i].start:toks[i].end]; w {
	case "def", "class", "import":
		return i+1 < len(toks) && toks[i+1].kind == word
	case "async":
		return i+1 < len(toks) && src[toks[i+1].start:toks[i+1].end] == "def"
	}
	return false
}

// maxBack is how many open brackets are looked at for a partner, so that the time is
// linear.
const maxBack = 64

func pairByLayout(toks []token, src string, lang *language) {
	var open []int
	indent := make([]int32, len(toks)) // of the line that a token is on
	now := int32(0)
	for i := range toks {
		toks[i].match = -1
		if toks[i].first() {
			now = toks[i].indent
		}
		indent[i] = now
	}
	for i := range toks {
		t := &toks[i]
		switch {
		case opens(t.op):
			open = append(open, i)
		case t.op == '}':
			n := partnerByLayout(toks, open, indent, i)
			if n < 0 {
				continue
			}
			open = closeAll(toks, open, n+1, i-1)
			toks[open[n]].match, t.match = int32(i), int32(open[n])
			open = open[:n]
		case t.op == ')' || t.op == ']':
			if n := len(open) - 1; n >= 0 && partner(toks[open[n]].op) == t.op {
				toks[open[n]].match, t.match = int32(i), int32(open[n])
				open = open[:n]
			}
		case t.indent == 0 && t.kind == word && len(open) > 0 && atMargin(toks, i, src, lang):
			n := 0
			for n < len(open) && n < maxBack && namespaceBrace(toks, open[n], src) {
				n++
			}
			open = closeAll(toks, open, n, i-1)
		}
	}
	closeAll(toks, open, 0, len(toks)-1)
}

// partnerByLayout finds what the brace at i closes: the innermost open brace, unless
// the brace begins its line and a brace further out begins at its indentation.
func partnerByLayout(toks []token, open []int, indent []int32, i int) int {
	top := -1
	for n := len(open) - 1; n >= max(0, len(open)-maxBack); n-- {
		if toks[open[n]].op != '{' {
			continue
		}
		if top < 0 {
			top = n
		}
		if !toks[i].first() || indent[open[n]] == toks[i].indent {
			return n
		}
	}
	if top >= 0 && toks[i].first() && indent[open[top]] < toks[i].indent && toks[open[top]].line != toks[i].line {
		return -1 // one too many, inside of what is open
	}
	return top
}

// namespaceBrace reports whether a brace opens what declarations at the left margin
// stand in.
func namespaceBrace(toks []token, i int, src string) bool {
	if toks[i].op != '{' {
		return false
	}
	for k := i - 1; k >= max(0, i-8); k-- {
		switch w := src[toks[k].start:toks[k].end]; {
		case w == "namespace" || w == "extern" || w == "mod" || w == "module":
			return true
		case toks[k].kind == punct && toks[k].op != opPath && toks[k].op != '.':
			return false
		}
	}
	return false
}

// atMargin reports whether a declaration begins at a word at the left margin.
func atMargin(toks []token, i int, src string, lang *language) bool {
	w := src[toks[i].start:toks[i].end]
	if marginWords[w] {
		return true
	}
	if lang.family != cfamily || i+1 >= len(toks) || toks[i+1].kind != word && toks[i+1].op != '*' {
		return false
	}
	return i > 0 && (toks[i-1].op == '}' || toks[i-1].op == ';') && (!lang.keywords[w] || cBuiltin[w])
}

var marginWords = words(`function class interface export import enum abstract const let var type declare namespace module
	public private protected internal static final sealed partial record struct union trait impl fn pub mod use
	template typedef extern inline using package async unsafe`)
