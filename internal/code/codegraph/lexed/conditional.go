package lexed

import "strings"

// chooseBranches takes out what the preprocessor would: where the branches of an #if
// would not leave the brackets as they found them, all but the first one, or the second
// where the first is "#if 0". Otherwise all stay, since each is there for some system.
func (s *scanner) chooseBranches() {
	if len(s.directives) == 0 {
		return
	}
	n := len(s.toks)
	depth := make([]int32, n+1)
	for i, t := range s.toks {
		depth[i+1] = depth[i]
		switch {
		case opens(t.op):
			depth[i+1]++
		case closes(t.op):
			depth[i+1]--
		}
	}
	dead := make([]int32, n+1) // how many dead ranges begin less how many end at a token
	found := false
	var open []branches
	for _, d := range s.directives {
		switch d.name {
		case "if", "ifdef", "ifndef":
			open = append(open, branches{off: d.name == "if" && d.rest == "0", at: []int32{d.tok}})
		case "elif", "else", "elifdef", "elifndef":
			if len(open) > 0 {
				b := &open[len(open)-1]
				b.at = append(b.at, d.tok)
			}
		case "endif":
			if len(open) == 0 {
				continue
			}
			b := open[len(open)-1]
			open = open[:len(open)-1]
			b.at = append(b.at, d.tok)
			found = b.cut(depth, dead) || found
		}
	}
	if found {
		s.remove(dead)
	}
}

// branches are the branches of one #if, by their first tokens and the last one's end.
type branches struct {
	off bool // the first is never taken
	at  []int32
}

func (b branches) cut(depth, dead []int32) bool {
	keep := 0
	if b.off {
		keep = 1
	}
	whole := b.off
	if len(b.at) > 2 {
		for k := 0; k+1 < len(b.at); k++ {
			whole = whole || depth[b.at[k]] != depth[b.at[k+1]]
		}
	}
	if !whole {
		return false
	}
	for k := 0; k+1 < len(b.at); k++ {
		if k != keep && (k == 0 || len(b.at) > 2) {
			dead[b.at[k]]++
			dead[b.at[k+1]]--
		}
	}
	return true
}

// remove takes the dead tokens out, and tells comments and directives where the tokens
// after them are now.
func (s *scanner) remove(dead []int32) {
	place := make([]int32, len(s.toks)+1)
	kept, now := s.toks[:0], int32(0)
	for i, t := range s.toks {
		now += dead[i]
		place[i] = int32(len(kept))
		if now == 0 {
			kept = append(kept, t)
		}
	}
	place[len(s.toks)] = int32(len(kept))
	s.toks = kept
	for i := range s.comments {
		s.comments[i].tok = place[s.comments[i].tok]
	}
	for i := range s.directives {
		s.directives[i].tok = place[s.directives[i].tok]
	}
}

// macro cuts the text of a #define into the name, whether it takes arguments, and what
// it stands for.
func macro(rest string) (name string, function bool, body string) {
	end := 0
	for end < len(rest) && (wordByte[rest[end]] != 0 || rest[end] == '$') {
		end++
	}
	name, rest = rest[:end], rest[end:]
	if strings.HasPrefix(rest, "(") {
		function = true
		if i := strings.IndexByte(rest, ')'); i >= 0 {
			rest = rest[i+1:]
		}
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") && strings.HasSuffix(rest, "*/") {
		rest = ""
	}
	return name, function, rest
}
