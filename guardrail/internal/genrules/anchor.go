package main

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// anchor is a part that every match of an expression, or of one of its branches,
// has at a fixed position: the allowed bytes at each place, in lower case.
type anchor struct {
	back int // position in the match
	sets []string
}

// anchorBytes is how many bytes of an anchor are looked up at once. The other
// bytes of an anchor are compared before the pattern is run.
const (
	anchorBytes = 4
	maxAnchor   = 16
	maxKeys     = 700 // keys that one branch may add to guardrail's table
	maxBranches = 64
)

// anchorsOf chooses an anchor for every branch: the four bytes with the fewest
// combinations.
func anchorsOf(re *syntax.Regexp) ([]anchor, error) {
	branches := sequences(re, maxBranches)
	if len(branches) > maxBranches {
		return nil, fmt.Errorf("has more than %d beginnings", maxBranches)
	}
	var out []anchor
	for _, b := range branches {
		best, fewest := -1, maxKeys+1
		for at := 0; at+anchorBytes <= len(b.sets); at++ {
			keys := 1
			for _, set := range b.sets[at : at+anchorBytes] {
				keys *= len(set)
			}
			if keys < fewest {
				best, fewest = at, keys
			}
		}
		if best < 0 {
			return nil, fmt.Errorf("no four bytes are the same in every match")
		}
		end := best + anchorBytes
		for end < len(b.sets) && end-best < maxAnchor && len(b.sets[end]) == 1 {
			end++
		}
		a := anchor{best, b.sets[best:end]}
		same := func(o anchor) bool { return o.back == a.back && slices.Equal(o.sets, a.sets) }
		if !slices.ContainsFunc(out, same) {
			out = append(out, a)
		}
	}
	return out, nil
}

// sequence is a possible beginning of a match, byte by byte. If it is complete, it
// is a whole match.
type sequence struct {
	sets     []string // allowed bytes at each place, sorted
	complete bool
}

// sequences returns the possible beginnings of an expression's matches, at most a
// few more than limit.
func sequences(re *syntax.Regexp, limit int) []sequence {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginLine, syntax.OpBeginText:
		return []sequence{{complete: true}}
	case syntax.OpLiteral:
		s := sequence{complete: true}
		for _, r := range re.Rune {
			if r >= unicode.MaxASCII {
				return []sequence{{sets: s.sets}}
			}
			s.sets = append(s.sets, string(unicode.ToLower(r)))
		}
		return []sequence{s}
	case syntax.OpCharClass:
		set, only := members(re)
		if !only {
			return []sequence{{}}
		}
		if len(set) > 1 && len(set) <= 3 { // split into branches, so that a list of names can be extracted
			var out []sequence
			for _, c := range set {
				out = append(out, sequence{[]string{string(c)}, true})
			}
			return out
		}
		return []sequence{{[]string{set}, true}}
	case syntax.OpAnyCharNotNL: // in gitleaks' rules, this dot is meant literally
		return []sequence{{[]string{"."}, true}}
	case syntax.OpCapture:
		return sequences(re.Sub[0], limit)
	case syntax.OpConcat:
		out := []sequence{{complete: true}}
		for _, sub := range re.Sub {
			out = join(out, sequences(sub, limit), limit)
		}
		return out
	case syntax.OpAlternate:
		var out []sequence
		for _, sub := range re.Sub {
			out = append(out, sequences(sub, limit)...)
		}
		return out
	case syntax.OpQuest:
		return append([]sequence{{complete: true}}, sequences(re.Sub[0], limit)...)
	case syntax.OpPlus:
		return open(sequences(re.Sub[0], limit))
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpAnyCharNotNL || re.Sub[0].Op == syntax.OpAnyChar {
			return []sequence{{}}
		}
		out := []sequence{{complete: true}}
		for range min(re.Min, 2*maxAnchor+anchorBytes) {
			out = join(out, sequences(re.Sub[0], limit), limit)
		}
		if re.Min == re.Max && re.Min <= 2*maxAnchor {
			return out
		}
		return open(out)
	}
	return []sequence{{}} // anything may match
}

// open marks sequences as incomplete.
func open(in []sequence) []sequence {
	for i := range in {
		in[i].complete = false
	}
	return in
}

// join appends every b to every complete a.
func join(as, bs []sequence, limit int) []sequence {
	var out []sequence
	for _, a := range as {
		if !a.complete || len(out) > limit {
			out = append(out, a)
			continue
		}
		for _, b := range bs {
			out = append(out, sequence{slices.Concat(a.sets, b.sets), b.complete})
		}
	}
	return out
}

// members returns a class's ASCII characters in lower case. only is false if it
// has others, except those that fold to ASCII letters.
func members(re *syntax.Regexp) (string, bool) {
	var out []byte
	only := true
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= min(re.Rune[i+1], unicode.MaxASCII); r++ {
			out = append(out, byte(unicode.ToLower(r)))
		}
		for r := max(re.Rune[i], unicode.MaxASCII+1); r <= re.Rune[i+1]; r++ {
			if r != 'ſ' && r != '\u212a' {
				only = false
				break
			}
		}
	}
	slices.Sort(out)
	return string(slices.Compact(out)), only
}

// String returns an anchor in the syntax of guardrail: letters, and classes in
// brackets.
func (a anchor) String() string {
	var b strings.Builder
	for _, set := range a.sets {
		if len(set) == 1 && set != "[" {
			b.WriteString(set)
			continue
		}
		b.WriteByte('[')
		for i := 0; i < len(set); {
			j := i
			for j+1 < len(set) && set[j+1] == set[j]+1 {
				j++
			}
			b.WriteByte(set[i])
			if j > i+1 {
				b.WriteByte('-')
			}
			if j > i {
				b.WriteByte(set[j])
			}
			i = j + 1
		}
		b.WriteByte(']')
	}
	return b.String()
}
