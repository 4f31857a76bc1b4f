package budgeter

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a digest: what a person would say of a past session in passing. Three
// of them take a quarter of the memory part.
const (
	digestChars  = 700
	digestLines  = 10
	digestLine   = 60               // a line is not shortened below this, the last ones go instead
	digestSource = 20 * digestChars // of the episode, that a digest is made from
)

// digest shortens an episode to a few lines: the first ones, each as long as all
// of them can be, so that one that goes on and on does not push out what the
// others say. What the assistant said is left out: a summary has what came of it,
// and its prose in a later prompt is taken for an example to follow.
func digest(text string) string {
	lines := withoutAssistant(text)
	lines = lines[:min(len(lines), digestLines)]
	sizes := make([]int, len(lines))
	for i, l := range lines {
		sizes[i] = utf8.RuneCountInString(l) + 1
	}
	most := fairShare(sizes, digestChars)
	left := digestChars
	var b strings.Builder
	for _, l := range lines {
		l = excerpt(l, most-1)
		if left -= utf8.RuneCountInString(l) + 1; left < 0 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l)
	}
	return b.String()
}

// fairShare is the largest size at which all together take at most so much.
func fairShare(sizes []int, total int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		if share := total / (len(sorted) - i); n > share {
			return max(share, digestLine)
		}
		total -= n
	}
	return digestChars
}

// withoutAssistant returns the lines of a text that say something, without those
// that the assistant speaks in: from a line that begins with its name to the next
// that begins with something else's, or an empty one.
func withoutAssistant(text string) []string {
	var out []string
	speaking := false
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimSpace(l)
		switch label := labelOf(l); {
		case l == "":
			speaking = false
			continue
		case assistants[label]:
			speaking = true
		case label != "", strings.HasPrefix(l, "#"):
			speaking = false
		}
		if !speaking {
			out = append(out, l)
		}
	}
	return out
}

var assistants = map[string]bool{"assistant": true, "ai": true, "bot": true, "agent": true}

// labelOf returns what stands before a line's colon, in lower case, when it could
// be a speaker or a section: a word or two, however marked up.
func labelOf(l string) string {
	head, _, ok := strings.Cut(strings.Replace(l, "：", ":", 1), ":")
	if !ok || len(head) > 60 {
		return ""
	}
	head = strings.TrimFunc(head, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if head == "" || strings.Count(head, " ") > 3 {
		return ""
	}
	return strings.ToLower(head)
}

// attributed names the session that an episode is of in its source.
func attributed(source, session string) string {
	switch {
	case session == "" || strings.Contains(source, session):
		return source
	case source == "" || strings.HasPrefix(source, "session"): // the date stands beside it
		return "session " + session
	}
	return source + ", session " + session
}
