package guardrail

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reasoningTags are the tags around a model's reasoning. scratch_pad and think are part
// of the contract; models use the others for the same purpose. The last ones are those
// in exact.
var reasoningTags = [...]string{"scratch_pad", "scratch-pad", "scratchpad", "think", "thinking", "seed:think",
	"[THINK]", "<thought>", "<reasoning>", "<reflection>", "<analysis>", "<|channel|>analysis", "<|begin_of_thought|>", "<|START_THINKING|>",
	"<|channel>thought", "<unused94>thought"}

// exact are tags that are recognised only in this spelling. In another case, or with
// attributes, they may be a link, a list, a type (List<Analysis>) or an element of a
// document. They are the last of reasoningTags, in the same order.
var exact = [...]struct{ open, end string }{
	{"[THINK]", "[/THINK]"},
	{"<thought>", "</thought>"},
	{"<reasoning>", "</reasoning>"},
	{"<reflection>", "</reflection>"},
	{"<analysis>", "</analysis>"},
	{"<|channel|>analysis", "<|channel|>final<|message|>"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"},
	{"<|START_THINKING|>", "<|END_THINKING|>"},
	{"<|channel>thought", "<channel|>"},
	{"<unused94>thought", "<unused95>"},
}

// StripReasoning returns text without a model's internal reasoning: the text inside
// <scratch_pad>, <think> and their variants. It recognises these tags in any case, with
// attributes, with white space or invisible characters inside, and in full-width or
// escaped form (&lt;think&gt;, \u003cthink\u003e). The tags [THINK], <thought>,
// <reasoning>, <reflection>, <analysis>, <|begin_of_thought|>, <|START_THINKING|> with
// their ends, and those of gpt-oss and Gemma (<|channel|>analysis, <|channel>thought,
// <unused94>thought), are recognised only in this spelling; their brackets may be escaped. A text that is only reasoning
// gives "". Text without a tag is returned unchanged.
//
// If the tags don't match, too much is removed rather than too little:
//
//   - text is kept only where no tag of any name is open. An unclosed tag removes
//     everything to the end, and a closing tag closes only tags with its name;
//   - a closing tag without an opening one removes everything before it, since chat
//     templates often put the opening tag into the prompt;
//   - tags count everywhere. A text that merely mentions one, even in backticks
//     or a code fence, is cut as if it were a real tag. That loses some text about
//     prompting, but otherwise reasoning could get into the store. So use it on
//     text that a model may have written, not on the files of a repository.
//
// White space that a removed block leaves at the start is removed, too. The result never
// contains a reasoning tag, so the function is idempotent.
func StripReasoning(text string) string {
	for hasTag(text) { // once, except for texts that are built so that removing a tag creates another
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

// maxTag is the maximum length of a tag in bytes, with invisible characters and escapes.
// An opening tag may be longer; the rest is treated as reasoning.
const maxTag = 512

// lexTag parses a reasoning tag at the head of s, which starts with an opening bracket.
// It returns the tag's index in reasoningTags and its length. If it is not a tag, size is the
// number of bytes that had to be read to know that. final means that nothing follows s;
// otherwise, a tag that is cut off at the end of s is a partialTag.
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
	// From here on it is an opening tag, and the text after its name is treated as
	// reasoning, unless the tag is empty or is none at all, as in "a < think ...".
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

// lexExact parses one of the exact tags at the head of s.
func lexExact(s string, final bool) (kind tagKind, tag, size int) {
	for i := range exact {
		for kind, literal := range [...]string{openTag: exact[i].open, closeTag: exact[i].end} {
			if literal == "" {
				continue
			}
			switch n := literalLength(s, literal, final); {
			case n < 0:
				return partialTag, 0, 0
			case n > 0:
				return tagKind(kind), len(reasoningTags) - len(exact) + i, n
			}
		}
	}
	return notTag, 0, 0
}

// literalLength returns the length of literal at the head of s. Characters other than its
// letters may be escaped or look-alikes. It returns 0 if s does not start with literal,
// and -1 if s ends within it.
func literalLength(s, literal string, final bool) (size int) {
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

// lexClose parses the rest of a closing tag whose name ends at i. A tag without its ">"
// closes as well. At worst, the real closing tag then counts as unopened, and removes
// the text that was kept.
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
	return slices.ContainsFunc(reasoningTags[:], func(t string) bool { return strings.HasPrefix(t, name) })
}

func tagIndex(name string) int { return slices.Index(reasoningTags[:], name) }

// scanner removes reasoning from a text.
type scanner struct {
	depth   [len(reasoningTags)]int
	open    int    // the sum of depth; text is kept while it is 0
	lead    string // white space at the start, which is written if other text follows
	wrote   bool   // something other than white space was written
	removed bool   // some reasoning was removed
}

// scan appends the part of s without reasoning to dst.
func (sc *scanner) scan(dst []byte, s string) []byte {
	start := 0 // start of the text that is not written yet
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
				// Removing this text must not join the halves of another tag, so an
				// unfinished tag right before it is removed, too.
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

// write appends text to dst. It holds leading white space back.
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

// maxHeld is the maximum number of bytes that settled leaves out.
const maxHeld = 1024

// settled returns the length of s without an end that other text could complete to a
// tag: an unfinished tag, escape or character. After removing one, the text before it
// may be unfinished as well.
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

// unfinished reports whether s, whose first byte is marked in opens, can be the start of
// a truncated tag.
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

// wholeRunes returns the length of s without a truncated character at its end.
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

// StripPastedReasoning is StripReasoning for text that a person wrote. People mention the
// tags ("the parser drops everything after <think>") more often than they paste a model's
// reasoning. So it only removes text that looks pasted:
//
//   - an opening tag, its closing tag and the text between them, unless that text
//     is only a conjunction, as in "between <think> and </think>";
//   - everything after an opening tag that is never closed, if a letter or a digit
//     follows it directly or it is alone on its line;
//   - everything before a closing tag without an opening one, if it is alone on its line.
//
// A tag in its own quotation marks or backticks never counts. The function is idempotent, and
// the result may contain tags.
func StripPastedReasoning(text string) string {
	for range 4 {
		cut := pasted(text)
		if len(cut) == 0 {
			return text
		}
		var b strings.Builder
		at := 0
		for _, c := range cut {
			if c.start > at {
				b.WriteString(text[at:c.start])
			}
			at = max(at, c.end)
		}
		b.WriteString(text[at:])
		if text = b.String(); cut[0].start == 0 {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
	}
	return StripReasoning(text) // the text is built so that removing tags creates others repeatedly
}

// span is a part of a text; for a tag, with the index of the tag.
type span struct {
	start, end int
	tag        int
}

// pasted returns the parts of text that StripPastedReasoning removes, in order.
func pasted(text string) (cut []span) {
	var open []span
	var depth [len(reasoningTags)]int
	for i := 0; ; {
		b, start, _ := opener(text, i)
		if b == 0 {
			break
		}
		kind, tag, size := lexTag(text[start:], true)
		i = start + size
		t := span{start, i, tag}
		switch {
		case kind == openTag && !quoted(text, t):
			open = append(open, t)
			depth[tag]++
		case kind != closeTag || quoted(text, t):
		case depth[tag] == 0:
			if len(open) == 0 && startsLine(text[:t.start]) && closesLine(text, t) {
				cut = append(cut[:0], span{start: 0, end: t.end})
			}
		default:
			for open[len(open)-1].tag != tag {
				depth[open[len(open)-1].tag]--
				open = open[:len(open)-1]
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			depth[tag]--
			if !onlyJoins(text[o.end:t.start]) {
				cut = append(cut, span{start: o.start, end: t.end})
			}
		}
	}
	for _, o := range open {
		next, _ := utf8.DecodeRuneInString(text[o.end:])
		if unicode.IsLetter(next) || unicode.IsDigit(next) || startsLine(text[:o.start]) && closesLine(text, o) {
			cut = append(cut, span{start: o.start, end: len(text)})
			break
		}
	}
	slices.SortFunc(cut, func(a, b span) int { return a.start - b.start })
	return cut
}

// quoted reports whether a tag has its own quotation marks.
func quoted(text string, t span) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:t.start])
	after, _ := utf8.DecodeRuneInString(text[t.end:])
	const marks = "`'\"“”‘’«»„‹›「」"
	return strings.ContainsRune(marks, before) && strings.ContainsRune(marks, after)
}

func closesLine(text string, t span) bool {
	after, _, _ := strings.Cut(text[t.end:], "\n")
	return strings.TrimSpace(after) == ""
}

// joining are conjunctions between the names of two tags.
var joining = strings.Fields("and or to till until through und oder bis et ou à y o e ed a i en of och og и или до")

// onlyJoins reports whether the text between two tags is only a conjunction.
func onlyJoins(between string) bool {
	if len(between) > 40 || strings.TrimSpace(between) == "" {
		return false
	}
	word := strings.TrimFunc(strings.ToLower(between), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	apart := !strings.HasPrefix(strings.ToLower(between), word) && !strings.HasSuffix(strings.ToLower(between), word)
	return word == "" || apart && slices.Contains(joining, word)
}
