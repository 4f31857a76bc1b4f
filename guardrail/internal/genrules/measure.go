package main

import "regexp/syntax"

// measure sets how long a match can be, in bytes, and how long the shortest is if
// no match has white space in it: text that breaks off sooner need not be tried.
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

// width is the fewest and the most bytes that a node matches, -1 without a limit,
// and whether none of them is white space.
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
	for _, s := range re.Sub { // concatenations and groups; nothing for what is empty
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
