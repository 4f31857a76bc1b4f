package guardrail

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// StripPastedReasoning is StripReasoning for what a person wrote. People name the tags
// ("the parser drops everything after <think>") more often than they paste a model's
// thinking, so only what looks pasted is removed:
//
//   - what stands between an opening tag and its closing one, with both, unless that
//     is a joining word alone, as in "between <think> and </think>";
//   - from an opening tag that is never closed and has a letter or a digit right behind
//     it, or is alone on its line, to the end;
//   - to a closing tag that nothing opened and that is alone on its line, from the start.
//
// A tag in quotation marks or backticks of its own never counts. It is idempotent, and
// the result may name tags.
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
	return StripReasoning(text) // made to come out as tags again and again
}

// span is a part of a text; for a tag, what it is as well.
type span struct {
	start, end int
	tag        int
}

// pasted returns the parts of text that StripPastedReasoning removes, in order.
func pasted(text string) (cut []span) {
	var open []span
	var depth [len(reasoningTags)]int
	for i := 0; ; {
		b, start, _ := opener(text, i, true)
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

// quoted reports whether a tag has quotation marks of its own.
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

// joining are the words that stand between the names of two tags.
var joining = strings.Fields("and or to till until through und oder bis et ou à y o e ed a i en of och og и или до")

// onlyJoins reports whether what is between two tags only joins them.
func onlyJoins(between string) bool {
	if len(between) > 40 || strings.TrimSpace(between) == "" {
		return false
	}
	word := strings.TrimFunc(strings.ToLower(between), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	apart := !strings.HasPrefix(strings.ToLower(between), word) && !strings.HasSuffix(strings.ToLower(between), word)
	return word == "" || apart && slices.Contains(joining, word)
}
