package main

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// anchor is what every match of an expression, or of one of its branches, has at
// one place: the bytes that may stand there, in lower case, each as a class.
type anchor struct {
	back int // where it is in the match
	sets []string
}

// anchorBytes is how many bytes of an anchor are looked up at once; what an anchor
// has beyond them is compared before the expression is run.
const (
	anchorBytes = 4
	maxAnchor   = 16
	maxKeys     = 700 // that one branch may add to guardrail's table
	maxBranches = 64
)

// anchorsOf chooses an anchor for every branch: the rarest four bytes.
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

// sequence is how a match can begin, byte by byte. A complete one is all of it.
type sequence struct {
	sets     []string // the bytes that may stand at each place, sorted
	complete bool
}

// sequences lists how the matches of an expression can begin, at most a few more
// than limit of them.
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
		if len(set) > 1 && len(set) <= 3 { // branches, so that a list of names can be read off
			var out []sequence
			for _, c := range set {
				out = append(out, sequence{[]string{string(c)}, true})
			}
			return out
		}
		return []sequence{{[]string{set}, true}}
	case syntax.OpAnyCharNotNL: // a dot that means a dot
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
	return []sequence{{}} // anything may follow
}

// open marks sequences as beginnings.
func open(in []sequence) []sequence {
	for i := range in {
		in[i].complete = false
	}
	return in
}

// join puts every b behind every complete a.
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

// members returns a class's ASCII characters in lower case, and whether it has no
// others but those that fold to ASCII letters.
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

// String writes an anchor as guardrail reads it: letters, and classes in brackets.
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
