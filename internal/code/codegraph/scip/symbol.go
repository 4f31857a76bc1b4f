package scip

import "strings"

// suffix is the kind of a descriptor; its value is the character that ends it.
type suffix byte

const (
	namespace     suffix = '/'
	typeName      suffix = '#'
	term          suffix = '.'
	meta          suffix = ':'
	macro         suffix = '!'
	method        suffix = '('
	parameter     suffix = ')'
	typeParameter suffix = ']'
)

// descriptor is one element of a symbol's path.
type descriptor struct {
	name   string
	suffix suffix
}

// symbol holds the parts of a SCIP symbol:
//
//	scheme manager package version descriptors
//
// A space within one of the first four parts is doubled, and "." stands for an empty second, third or fourth part.
type symbol struct {
	scheme, manager, pkg, version string
	descriptors                   []descriptor
}

// parse parses a symbol. ok is false for an invalid symbol and for one that is local to its document.
func parse(s string) (out symbol, ok bool) {
	if strings.HasPrefix(s, "local ") {
		return out, false
	}
	for _, to := range []*string{&out.scheme, &out.manager, &out.pkg, &out.version} {
		if *to, s, ok = word(s); !ok {
			return symbol{}, false
		}
	}
	for s != "" {
		var d descriptor
		if d, s, ok = next(s); !ok {
			return symbol{}, false
		}
		out.descriptors = append(out.descriptors, d)
	}
	return out, len(out.descriptors) > 0
}

// word reads the text up to a single space.
func word(s string) (w, rest string, ok bool) {
	if w, rest, ok = until(s, ' '); w == "." {
		w = ""
	}
	return w, rest, ok
}

// until reads the text up to a single end. In the text, ends are doubled.
func until(s string, end byte) (text, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != end {
			continue
		}
		if i+1 == len(s) || s[i+1] != end {
			return strings.ReplaceAll(s[:i], string([]byte{end, end}), string(end)), s[i+1:], true
		}
		i++
	}
	return "", "", false
}

// next reads a descriptor.
func next(s string) (d descriptor, rest string, ok bool) {
	switch s[0] {
	case '(', '[':
		closing := map[byte]string{'(': ")", '[': "]"}[s[0]]
		if d.name, s, ok = name(s[1:]); !ok || !strings.HasPrefix(s, closing) {
			return d, "", false
		}
		d.suffix = suffix(closing[0])
		return d, s[1:], true
	}
	if d.name, s, ok = name(s); !ok || s == "" {
		return d, "", false
	}
	d.suffix, s = suffix(s[0]), s[1:]
	switch d.suffix {
	case namespace, typeName, term, meta, macro:
		return d, s, true
	case method: // there may be a disambiguator in between
		if i := strings.Index(s, ")."); i >= 0 && !strings.ContainsAny(s[:i], "`(# /") {
			return d, s[i+2:], true
		}
	}
	return d, "", false
}

// name reads an identifier: without quotes, or between backticks with doubled backticks in it.
func name(s string) (n, rest string, ok bool) {
	if !strings.HasPrefix(s, "`") {
		i := strings.IndexFunc(s, func(r rune) bool { return !simple(r) })
		if i <= 0 {
			return "", "", false
		}
		return s[:i], s[i:], true
	}
	n, rest, ok = until(s[1:], '`')
	return n, rest, ok && n != ""
}

func simple(r rune) bool {
	return r == '_' || r == '+' || r == '-' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}
