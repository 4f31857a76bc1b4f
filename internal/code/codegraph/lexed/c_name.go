package lexed

import (
	"strings"
)

// declarator finds the name that a declaration without a body declares between two
// tokens: the one in "(*name)", or the last word before a bracket or the end.
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

// inParens finds the name in "(*name)" or "(Class::*name[2])" at i; -1 if it is none.
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

// attributeWord reports whether the word at i is a macro in the place of an attribute:
// all in upper case, with something in parentheses behind it.
func attributeWord(c *cReader, i int) bool {
	return c.op(i+1) == '(' && allUpper(c.text(i)) && c.op(i+2) != '*'
}

// allUpper reports whether a name is written as macros are.
func allUpper(s string) bool {
	return len(s) > 1 && strings.ToUpper(s) == s && strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}
