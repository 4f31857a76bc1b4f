package guardrail

import (
	"strings"
	"unicode"
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
		out, _ := sc.scan(make([]byte, 0, len(text)), text, true)
		text = string(out)
	}
	return text
}

func hasTag(s string) bool {
	for i := 0; ; {
		b, start, _ := opener(s, i, true)
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

// maxTag bounds a tag, in bytes, invisible characters and escapes included: a
// stream never holds back more for one. An opening tag may go on, but what does
// is as good as thinking.
const maxTag = 512

// lexTag reads a reasoning tag at the head of s, which starts with an opening
// bracket. It returns the tag's index in reasoningTags and its length; for no
// tag, the length is what was read before it could not be one any more.
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

// Stream does what StripReasoning does to a text that arrives in chunks, such as
// a streamed answer; chunks may end anywhere, in a tag or in a character. The zero
// value is ready. It is not safe for concurrent use.
//
// What Write and Close return, joined, is what StripReasoning returns for the
// joined chunks, with one exception: a closing tag that nothing opened can't take
// back what was handed out before it was seen. The stream then goes on with the
// answer behind the tag, so that StripReasoning's result is the end of what the
// stream returned. A caller that knows the whole text before it keeps it should
// strip the whole text.
type Stream struct {
	scanner scanner
	pending string
}

// Write takes the next chunk and returns the text that is certainly clean. It
// holds back a kilobyte at most, and only where a tag may have started.
func (s *Stream) Write(chunk string) string {
	text := s.pending + chunk
	out, n := s.scanner.scan(nil, text, false)
	s.pending = text[n:]
	return string(out)
}

// Close returns the rest and makes the stream ready for another text.
func (s *Stream) Close() string {
	out, _ := s.scanner.scan(nil, s.pending, true)
	*s = Stream{}
	return string(out)
}
