package main

import "regexp/syntax"

// measure sets the maximum length of a match in bytes, and the minimum length if
// no match contains white space. Text that ends earlier need not be tried.
func (r *rule) measure() error {
	re, err := syntax.Parse(r.pattern, syntax.Perl)
	if err != nil {
		return err
	}
	least, most, solid := width(re)
	r.max, r.min = max(most, 0), 0
	if solid {
		r.min = least
	}
	return nil
}

// width returns the minimum and maximum number of bytes that a node matches, -1
// for no limit. solid is true if none of them can be white space.
func width(re *syntax.Regexp) (least, most int, solid bool) {
	switch re.Op {
	case syntax.OpLiteral:
		n := len(string(re.Rune))
		solid = true
		for _, r := range re.Rune {
			solid = solid && r > ' '
		}
		return n, n, solid
	case syntax.OpCharClass:
		set, only := members(re)
		if !only {
			return 1, 4, false
		}
		return 1, 1, set == "" || set[0] > ' '
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, 4, false
	case syntax.OpStar:
		_, _, solid = width(re.Sub[0])
		return 0, -1, solid
	case syntax.OpPlus:
		least, _, solid = width(re.Sub[0])
		return least, -1, solid
	case syntax.OpQuest:
		_, most, solid = width(re.Sub[0])
		return 0, most, solid
	case syntax.OpRepeat:
		least, most, solid = width(re.Sub[0])
		if re.Max < 0 || most < 0 {
			return least * re.Min, -1, solid
		}
		return least * re.Min, most * re.Max, solid
	case syntax.OpAlternate:
		solid = true
		for i, s := range re.Sub {
			l, m, ok := width(s)
			if solid = solid && ok; i == 0 {
				least, most = l, m
				continue
			}
			if least = min(least, l); m < 0 || most < 0 {
				most = -1
			} else {
				most = max(most, m)
			}
		}
		return least, most, solid
	}
	solid = true
	for _, s := range re.Sub { // concatenations and groups; no effect on empty ones
		l, m, ok := width(s)
		solid = solid && ok
		if least += l; m < 0 || most < 0 {
			most = -1
		} else {
			most += m
		}
	}
	return least, most, solid
}
