package lexed

import (
	"strings"
)

// semicolonOrBody skips what is no declaration.
func (c *cReader) semicolonOrBody(i, end int) int {
	for i < end {
		switch o := c.op(i); {
		case o == ';' || closes(o):
			return i + 1
		case o == '{':
			return c.match(i) + 1
		}
		i = c.skip(i)
	}
	return end
}

// variableEnd goes to the semicolon that ends a declaration.
func (c *cReader) variableEnd(i, end int) int {
	for i < end && c.op(i) != ';' && c.op(i) != '}' {
		i = c.skip(i)
	}
	return min(i, end)
}

// oldStyle reports whether "int f(a, b) int a; {" stands here.
func (c *cReader) oldStyle(k, after, i int) bool {
	if c.plusplus && !strings.HasSuffix(c.file.Path, ".h") || k-1 == i && !lower(c.text(i)) {
		return false
	}
	for n := k + 1; n < c.match(k); n++ {
		if c.kind(n) != word && c.op(n) != ',' || c.kind(n) == word && c.kind(n+1) == word {
			return false
		}
	}
	for n := after; n < after+200 && n < len(c.toks); n = c.skip(n) {
		switch c.op(n) {
		case '{':
			return c.op(n-1) == ';'
		case '(', '=', '}':
			return false
		}
	}
	return false
}

// functionEnd goes from behind the parameters to the body or the semicolon. On the
// way may stand qualifiers, a type after an arrow, initializers, old declarations of
// parameters.
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
		case o == '}':
			return i
		case o == ';':
			if !c.oldParameters(i, end) {
				return i
			}
		case o == '<':
			if shut := c.angle(i); shut > 0 && shut < end {
				i = shut + 1
				continue
			}
		case o == ',' && !colon && c.kind(i-1) != word: // "int f(void), g;"
			return c.variableEnd(i, end)
		}
		i = c.skip(i)
	}
	return end
}

// oldParameters reports whether the semicolon at i ends a parameter in the old style.
func (c *cReader) oldParameters(i, end int) bool {
	if c.op(i-1) == ')' || c.kind(i-1) != word && c.op(i-1) != ']' || functionTail[c.text(i-1)] || allUpper(c.text(i-1)) || c.kind(i-2) != word && c.op(i-2) != '*' && c.op(i-2) != ',' && c.op(i-1) != ']' {
		return false
	}
	for n := i + 1; n < i+200 && n < end; n = c.skip(n) {
		switch c.op(n) {
		case '{':
			return c.op(n-1) == ';'
		case '(', '=', '}':
			return false
		}
	}
	return false
}

// signatureEnd leaves initializers and old parameters out of a signature.
func (c *cReader) signatureEnd(i, stop int) int {
	for k := i; k < stop; k = c.skip(k) {
		if c.op(k) == ':' || c.op(k) == ';' {
			return k
		}
	}
	return stop
}

// nextIsDeclaration reports whether a declaration begins at i, so that what stands
// before it was the call of a macro without a semicolon.
func (c *cReader) nextIsDeclaration(i int) bool { return c.kind(i) == word && c.toks[i].first() }
