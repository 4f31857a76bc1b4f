package guardrail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanner removes reasoning from a text that is given in one or more pieces.
type scanner struct {
	depth   [len(reasoningTags)]int
	open    int    // the sum of depth: clean text is where it is 0
	lead    string // white space at the start, not yet known to be wanted
	wrote   bool   // something other than white space came out
	removed bool   // some reasoning was removed
}

// scan appends the clean part of s to dst and returns how much of s it has dealt
// with; the rest is to be put before the next piece. With final it is all of s.
func (sc *scanner) scan(dst []byte, s string, final bool) ([]byte, int) {
	start := 0 // of the text that was not written yet
	for i := 0; i < len(s); {
		b, at, _ := opener(s, i, final)
		if b == 0 {
			break
		}
		kind, tag, size := partialTag, 0, 0
		if b != atChunk {
			kind, tag, size = lexTag(s[at:], final)
		}
		i = at + size
		switch kind {
		case partialTag:
			if sc.open > 0 {
				return dst, at
			}
			i = len(s)
		case closeTag:
			switch {
			case sc.open == 0:
				dst, sc.lead, sc.wrote, sc.removed = dst[:0], "", false, true
				start = i
			case sc.depth[tag] > 0:
				sc.depth[tag]--
				sc.open--
				start = i
			}
		case openTag, emptyTag:
			if sc.open == 0 {
				// What is removed must not leave the halves of another tag side
				// by side, so an unfinished tag right before it goes with it.
				dst = sc.write(dst, s[start:start+settled(s[start:at])])
				sc.removed = true
				start = i
			}
			if kind == openTag {
				sc.depth[tag]++
				sc.open++
			}
		}
	}
	switch {
	case sc.open > 0:
		return dst, len(s)
	case !final:
		end := start + settled(s[start:])
		return sc.write(dst, s[start:end]), end
	}
	dst = sc.write(dst, s[start:])
	if !sc.removed {
		dst = append(dst, sc.lead...)
	}
	return dst, len(s)
}

// write appends clean text to dst, holding back leading white space.
func (sc *scanner) write(dst []byte, s string) []byte {
	if !sc.wrote {
		body := strings.TrimLeftFunc(s, unicode.IsSpace)
		if !sc.removed {
			sc.lead += s[:len(s)-len(body)]
		}
		if s = body; s == "" {
			return dst
		}
		if !sc.removed {
			dst = append(dst, sc.lead...)
		}
		sc.lead, sc.wrote = "", true
	}
	return append(dst, s...)
}

// maxHeld bounds what settled leaves out, in bytes.
const maxHeld = 1024

// settled returns the length of clean text s without an end that could become
// part of a tag if other text followed: an unfinished tag, escape or character.
// Once that is left out, what was before it may be unfinished too.
func settled(s string) int {
	floor := max(0, len(s)-maxHeld)
	end := len(s)
	for again := true; again; {
		whole := wholeRunes(s[floor:end]) + floor
		again = whole < end
		end = whole
		for p := end - 1; p >= max(floor, end-maxTag); p-- {
			if opens[s[p]] && unfinished(s[p:end]) {
				end, again = p, true
				break
			}
		}
	}
	return end
}

// unfinished reports whether s, whose first byte opens marks, could be the start
// of a tag that is cut off.
func unfinished(s string) bool {
	switch b, _ := openerAt(s, false); b {
	case atChunk:
		return true
	case '<', '[':
		kind, _, _ := lexTag(s, false)
		return kind == partialTag
	}
	return false
}

// wholeRunes returns the length of s without a character that is cut off at its end.
func wholeRunes(s string) int {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return len(s) - i
			}
			break
		}
	}
	return len(s)
}
