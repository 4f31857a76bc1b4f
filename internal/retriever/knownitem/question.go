package knownitem

import (
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// Kind is the rule that a question was made by.
type Kind string

// The kinds.
const (
	KindKeyword    Kind = "keyword"
	KindHeading    Kind = "heading"
	KindQuestion   Kind = "question"
	KindParaphrase Kind = "paraphrase"
	KindAbsent     Kind = "absent"
	KindSmallTalk  Kind = "small_talk"
)

// Kinds lists all kinds, those with an answer first.
func Kinds() []Kind {
	return []Kind{KindKeyword, KindHeading, KindQuestion, KindParaphrase, KindAbsent, KindSmallTalk}
}

// Answered reports whether questions of the kind have an answer.
func (k Kind) Answered() bool { return k != KindAbsent && k != KindSmallTalk }

// Question is one question and the claim that answers it.
type Question struct {
	Text   string `json:"text"`
	Want   string `json:"want,omitempty"` // the claim's id; empty when nothing answers
	Kind   Kind   `json:"kind"`
	Source string `json:"source,omitempty"` // what sort of claim it was made of; see SourceOf
	// Hidden is the passage of the claim that the question copies, empty when it
	// copies none. Mask takes it out.
	Hidden string `json:"hidden,omitempty"`
}

// headingSeparator stands between the parts of a chunk's heading.
const headingSeparator = " › "

// Mask returns c as the question has to meet it: without the heading, the doc
// comment or the subject that the question was made of, wherever they stand in
// heading and text. Any other claim, and the claim of a question that hides
// nothing, comes back as it is. The claim given is not changed.
func (q Question) Mask(c ken.Claim) ken.Claim {
	if q.Hidden == "" || q.Want == "" || c.ID != q.Want {
		return c
	}
	parts := strings.Split(c.Heading, headingSeparator)
	kept := parts[:0:0]
	for _, p := range parts {
		if !copies(p, q.Hidden) {
			kept = append(kept, p)
		}
	}
	c.Heading = strings.Join(kept, headingSeparator)
	c.Text = without(c.Text, q.Hidden)
	return c
}

// without takes a passage of several lines out of text, or each line that says
// nothing but hidden.
func without(text, hidden string) string {
	if strings.Contains(hidden, "\n") {
		return strings.TrimSpace(strings.Replace(text, hidden, "", 1))
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) != hidden && strings.Trim(l, "# \t\r\n") != hidden {
			b.WriteString(l)
		}
	}
	return strings.TrimSpace(b.String())
}

// copies reports whether a part of a heading says what hidden says: the same
// words, perhaps after a label such as "commit:", perhaps shortened, or one of
// several titles that share the part.
func copies(part, hidden string) bool {
	part, hidden = oneLine(part), oneLine(hidden)
	if strings.Contains(part, hidden) {
		return true
	}
	for p := range strings.SplitSeq(part, " · ") {
		if p != "" && p == hidden {
			return true
		}
	}
	short, cut := strings.CutSuffix(part, "…")
	if _, after, ok := strings.Cut(short, ": "); ok && cut && strings.HasPrefix(hidden, strings.TrimSpace(after)) {
		return true
	}
	return cut && utf8.RuneCountInString(short) >= 20 && strings.HasPrefix(hidden, strings.TrimSpace(short))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
