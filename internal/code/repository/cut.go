package repository

import (
	"strings"
	"unicode"
)

// limits are the sizes that every chunker keeps to, in characters.
type limits struct{ max, min int }

// lead is the most that repeated context (a signature, the head of a table, the
// opening of a fence) may take of a chunk.
func (l limits) lead() int { return l.max / 4 }

// rest is what remains beside a lead.
func (l limits) rest() int { return l.max - l.lead() - 2 }

// line is the longest line, its end included, that fits beside a lead and a
// tail whatever they are.
func (l limits) line() int { return l.rest() - 2*maxTail }

// maxTail bounds the closing line of a fence.
const maxTail = 16

// cut divides lines[s] into spans of at most first characters for the first and
// rest for the others. It breaks where the indentation is least, before that
// after a blank line, and as late as it can; so a block that fits is whole. No
// line may be longer than either limit.
func cut(lines []line, s span, first, rest int) []span {
	var out []span
	limit := first
	for s = s.trim(lines); !s.empty(); s = s.trim(lines) {
		end, n := s.from, 0
		for end < s.to && n+lines[end].chars-1 <= limit {
			n += lines[end].chars
			end++
		}
		if end == s.from { // a line that is too long after all: alone
			end++
		}
		if end < s.to {
			end = bestBreak(lines, s.from, end)
		}
		out = append(out, span{s.from, end}.trim(lines))
		s.from, limit = end, rest
	}
	return out
}

// bestBreak returns the best line in (from, last] to start a new span with.
func bestBreak(lines []line, from, last int) int {
	best, bestCost := last, 1<<30
	for k := last; k > from; k-- {
		l := lines[k]
		if l.blank() {
			continue
		}
		cost := 4 * l.indent
		if !lines[k-1].blank() {
			cost += 2
			if comment(lines[k-1].trimmed()) {
				cost += 1 << 19 // a comment stays with what it is about
			}
		}
		if closes(l.trimmed()) {
			cost += 1 << 20
		}
		if cost < bestCost {
			best, bestCost = k, cost
		}
	}
	return best
}

// comment reports whether a trimmed line is a comment or a decorator in one of
// the usual notations.
func comment(s string) bool {
	for _, p := range []string{"//", "#", "/*", "* ", "--", "@", ";", "%", `"""`, "'''", "<!--"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

var closers = map[string]bool{
	"else": true, "elif": true, "elsif": true, "except": true, "finally": true, "catch": true, "rescue": true,
	"ensure": true, "then": true, "fi": true, "done": true, "esac": true, "end": true, "endif": true, "until": true,
}

// closes reports whether a trimmed line ends or continues the block above it.
func closes(s string) bool {
	if s == "" {
		return false
	}
	if strings.ContainsRune("}])", rune(s[0])) || strings.HasPrefix(s, "</") {
		return true
	}
	word := s
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }); i >= 0 {
		word = s[:i]
	}
	return closers[word]
}
