package repository

import "strings"

// globMatch matches one segment of a path byte by byte, as git does: * ? [a-z]
// [!a] [[:digit:]] and a backslash before a character that stands for itself.
func globMatch(pat, s string) bool {
	p, i, star, resume := 0, 0, -1, 0
	for i < len(s) {
		if p < len(pat) && pat[p] == '*' {
			p++
			star, resume = p, i
			continue
		}
		if n, ok := matchOne(pat[p:], s[i]); ok {
			p += n
			i++
			continue
		}
		if star < 0 {
			return false
		}
		resume++
		p, i = star, resume
	}
	return strings.Trim(pat[p:], "*") == ""
}

// matchOne matches the first item of a pattern, which is not a star, with one
// byte, and returns the item's length.
func matchOne(pat string, c byte) (n int, ok bool) {
	switch {
	case pat == "":
		return 0, false
	case pat[0] == '?':
		return 1, true
	case pat[0] == '[':
		return matchClass(pat, c)
	case pat[0] == '\\' && len(pat) > 1:
		return 2, pat[1] == c
	case pat[0] == '\\':
		return 1, false // nothing to stand for: matches nothing
	}
	return 1, pat[0] == c
}

// matchClass matches a bracket expression; one that is not closed matches
// nothing.
func matchClass(pat string, c byte) (n int, ok bool) {
	i, negated, in := 1, false, false
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		negated = true
		i++
	}
	for first := true; i < len(pat); first = false {
		if pat[i] == ']' && !first {
			return i + 1, in != negated
		}
		if name, rest, found := strings.Cut(pat[i:], ":]"); found && strings.HasPrefix(name, "[:") {
			in = in || namedClass(name[2:], c)
			i = len(pat) - len(rest)
			continue
		}
		lo, size := classByte(pat[i:])
		i += size
		hi := lo
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			hi, size = classByte(pat[i+1:])
			i += 1 + size
		}
		in = in || lo <= c && c <= hi
	}
	return 0, false
}

func classByte(pat string) (c byte, size int) {
	if pat[0] == '\\' && len(pat) > 1 {
		return pat[1], 2
	}
	return pat[0], 1
}

func namedClass(name string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return graph && !lower && !upper && !digit
	case "graph":
		return graph
	case "print":
		return graph || c == ' '
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	}
	return false
}
