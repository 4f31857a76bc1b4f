package guardrail

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reasoningTags are the tags around a model's thinking. scratch_pad and think
// are the contract; the others are spellings that models use for the same. The last of
// them are exact.
var reasoningTags = [...]string{"scratch_pad", "scratch-pad", "scratchpad", "think", "thinking", "seed:think",
	"[THINK]", "<thought>", "<reasoning>", "<reflection>", "<analysis>", "<|channel|>analysis"}

// exact are the tags that are read only as they are written here: in other letters, or
// with anything in them, they may be a link, a list, a type (List<Analysis>) or the
// element of a document. They are the last of the reasoningTags, in the same order.
var exact = [...]struct{ open, end string }{
	{"[THINK]", "[/THINK]"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<reflection>", "</reflection>"},
	{"<analysis>", "</analysis>"},
	{"<|channel|>analysis", "<|channel|>final<|message|>"},
}

// StripReasoning returns text without the model's internal reasoning: what
// stands inside <scratch_pad>, <think> and their variants, in any case, with
// attributes, with white space or invisible characters in the tag, in full-width
// or escaped form (&lt;think&gt;, \u003cthink\u003e). Between [THINK] and [/THINK],
// <thought>, <reasoning>, <reflection>, <analysis> and their ends, and from
// <|channel|>analysis to <|channel|>final<|message|>, it counts as written here and with
// escaped brackets. A text that is only reasoning gives "". Text without a tag is
// returned as it is.
//
// When the tags don't match up, safety wins over completeness:
//
//   - text is clean only where no tag of any name is open, so an unclosed tag
//     drops everything to the end, and each name closes only itself;
//   - a closing tag that nothing opened drops everything before it, since chat
//     templates often put the opening tag into the prompt;
//   - tags count everywhere. A text that merely mentions one, even in backticks
//     or a code fence, is cut as if it were meant. That loses some text about
//     prompting; the other choice would let thinking into the store. So strip
//     what a model may have written, not the files of a repository.
//
// White space that a removed block leaves at the start is removed with it. The
// result never contains a reasoning tag, so the function is idempotent.
func StripReasoning(text string) string {
	for hasTag(text) { // once, but for texts made to come out as a tag
		var sc scanner
		text = string(sc.scan(make([]byte, 0, len(text)), text))
	}
	return text
}

func hasTag(s string) bool {
	for i := 0; ; {
		b, start, _ := opener(s, i)
		if b == 0 {
			return false
		}
		kind, _, size := lexTag(s[start:], true)
		if kind != notTag {
			return true
		}
		i = start + size
	}
}

type tagKind uint8

const (
	notTag tagKind = iota
	partialTag
	openTag
	closeTag
	emptyTag // <think/>
)

// maxTag bounds a tag, in bytes, invisible characters and escapes included. An opening
// tag may go on, but what does is as good as thinking.
const maxTag = 512

// lexTag reads a reasoning tag at the head of s, which starts with an opening
// bracket. It returns the tag's index in reasoningTags and its length; for no
// tag, the length is what was read before it could not be one any more. With final,
// nothing follows s; without, a tag that is cut off at the end of s is a partialTag.
func lexTag(s string, final bool) (kind tagKind, tag, size int) {
	if len(s) >= maxTag {
		s, final = s[:maxTag], true
	}
	if kind, tag, size := lexExact(s, final); kind != notTag {
		return kind, tag, size
	}
	b, i := next(s, 0, final)
	if b != '<' {
		return notTag, 0, i
	}
	r, end := nextSolid(s, i, final)
	spaced, closing := end > i+1, r == '/'
	if closing {
		i = end
		r, end = nextSolid(s, i, final)
	}
	var name [16]byte
	n := 0
	for ; nameByte(r) && n < len(name); r, end = next(s, i, final) {
		name[n] = byte(r)
		n, i = n+1, end
		if !startsTag(string(name[:n])) {
			return notTag, 0, i
		}
	}
	tag = tagIndex(string(name[:n]))
	switch {
	case r == atChunk:
		return partialTag, 0, 0
	case tag < 0, r == '<', nameByte(r):
		return notTag, 0, max(i, 1)
	case closing:
		return lexClose(s, i, tag, final)
	}
	// From here on it is an opening tag, and what follows its name is as good as
	// thinking, unless the tag is empty, or only looks like one: a < think ...
	solid, after := nextSolid(s, i, final)
	switch {
	case solid == atChunk:
		return partialTag, 0, 0
	case solid == '>':
		return openTag, tag, after
	case spaced:
		return notTag, 0, i
	case solid == '/':
		switch r, end := nextSolid(s, after, final); r {
		case atChunk:
			return partialTag, 0, 0
		case '>':
			return emptyTag, tag, end
		}
	}
	return openTag, tag, i
}

// lexExact reads one of the exact tags at the head of s.
func lexExact(s string, final bool) (kind tagKind, tag, size int) {
	for i := range exact {
		for kind, literal := range [...]string{openTag: exact[i].open, closeTag: exact[i].end} {
			if literal == "" {
				continue
			}
			switch n := literally(s, literal, final); {
			case n < 0:
				return partialTag, 0, 0
			case n > 0:
				return tagKind(kind), len(reasoningTags) - len(exact) + i, n
			}
		}
	}
	return notTag, 0, 0
}

// literally returns how long literal is at the head of s, where all but its letters may be
// escaped or look alike: 0 where it is not there, and -1 where s ends within it.
func literally(s, literal string, final bool) (size int) {
	for _, want := range literal {
		at := size
		var r rune
		switch r, size = next(s, size, final); {
		case r == atChunk:
			return -1
		case r != unicode.ToLower(want), unicode.IsLetter(want) && rune(s[at]) != want:
			return 0
		}
	}
	return size
}

// lexClose finishes a closing tag whose name ends at i. A tag without its ">"
// closes all the same: at worst the true one is taken for a second one, and that
// drops what was let through.
func lexClose(s string, i, tag int, final bool) (tagKind, int, int) {
	r, end := nextSolid(s, i, final)
	switch r {
	case atChunk:
		return partialTag, 0, 0
	case '>':
		return closeTag, tag, end
	}
	switch j := strings.IndexAny(s[i:], ">\n<"); {
	case j >= 0 && s[i+j] == '>':
		return closeTag, tag, i + j + 1
	case j < 0 && !final:
		return partialTag, 0, 0
	}
	return closeTag, tag, i
}

func nameByte(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == ':' || r == '.'
}

func startsTag(name string) bool {
	for _, t := range reasoningTags {
		if strings.HasPrefix(t, name) {
			return true
		}
	}
	return false
}

func tagIndex(name string) int {
	for i, t := range reasoningTags {
		if t == name {
			return i
		}
	}
	return -1
}

// scanner removes reasoning from a text.
type scanner struct {
	depth   [len(reasoningTags)]int
	open    int    // the sum of depth: clean text is where it is 0
	lead    string // white space at the start, not yet known to be wanted
	wrote   bool   // something other than white space came out
	removed bool   // some reasoning was removed
}

// scan appends the clean part of s to dst.
func (sc *scanner) scan(dst []byte, s string) []byte {
	start := 0 // of the text that was not written yet
	for i := 0; i < len(s); {
		b, at, _ := opener(s, i)
		if b == 0 {
			break
		}
		kind, tag, size := lexTag(s[at:], true)
		i = at + size
		switch kind {
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
	if sc.open > 0 {
		return dst
	}
	dst = sc.write(dst, s[start:])
	if !sc.removed {
		dst = append(dst, sc.lead...)
	}
	return dst
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
