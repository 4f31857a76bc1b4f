package repository

import (
	"strings"
)

// verdict is what patterns say of a path.
type verdict int

const (
	undecided verdict = iota
	ignored
	wanted // brought back by a pattern that starts with "!"
)

// pattern is one line of an ignore file, with the meaning that git gives it.
// The tests compare the matcher with git itself.
type pattern struct {
	segments []string // of the path below the file's folder; one segment matches at any depth unless anchored
	anchored bool
	dirOnly  bool
	negated  bool
	own      bool // from .kenignore
}

// patterns are the lines of the ignore files of one folder, later ones stronger.
type patterns struct {
	base string // the folder, slash-separated with a slash at its end; "" for the top
	list []pattern
}

func parsePatterns(text string, own bool) []pattern {
	var out []pattern
	for l := range strings.SplitSeq(strings.TrimPrefix(text, byteOrderMark), "\n") {
		if p, ok := parsePattern(strings.TrimSuffix(l, "\r")); ok {
			p.own = own
			out = append(out, p)
		}
	}
	return out
}

func parsePattern(s string) (p pattern, ok bool) {
	if strings.HasPrefix(s, "#") {
		return p, false
	}
	for strings.HasSuffix(s, " ") && !strings.HasSuffix(s, `\ `) {
		s = s[:len(s)-1]
	}
	s, p.negated = strings.CutPrefix(s, "!")
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.anchored = strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, false
	}
	p.segments = strings.Split(s, "/")
	if n := len(p.segments); n > 1 && p.segments[n-1] == "**" {
		p.segments = append(p.segments, "*") // everything inside, not the folder itself
	}
	return p, true
}

// match decides about a path relative to the top, by the last pattern of the
// deepest folder that says anything. own reports that it stands in .kenignore.
func match(stack []patterns, rel string, dir bool) (v verdict, own bool) {
	for i := len(stack) - 1; i >= 0; i-- {
		below, ok := strings.CutPrefix(rel, stack[i].base)
		if !ok {
			continue
		}
		for k := len(stack[i].list) - 1; k >= 0; k-- {
			p := &stack[i].list[k]
			if p.dirOnly && !dir || !p.matches(below) {
				continue
			}
			if p.negated {
				return wanted, p.own
			}
			return ignored, p.own
		}
	}
	return undecided, false
}

func (p *pattern) matches(rel string) bool {
	if !p.anchored {
		return globMatch(p.segments[0], rel[strings.LastIndexByte(rel, '/')+1:])
	}
	return matchSegments(p.segments, strings.Split(rel, "/"))
}

// matchSegments matches "**" with any number of segments. Only the last one
// needs to be reconsidered, so the time is bounded by the product of the lengths.
func matchSegments(pat, segs []string) bool {
	p, s, star, resume := 0, 0, -1, 0
	for s < len(segs) {
		switch {
		case p < len(pat) && pat[p] == "**":
			star, resume = p, s
			p++
		case p < len(pat) && globMatch(pat[p], segs[s]):
			p++
			s++
		case star >= 0:
			resume++
			p, s = star+1, resume
		default:
			return false
		}
	}
	for p < len(pat) && pat[p] == "**" {
		p++
	}
	return p == len(pat)
}
