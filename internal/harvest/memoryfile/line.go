package memoryfile

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
)

// Mark is the character in a line's box.
type Mark byte

// Marks.
const (
	Approved  Mark = 'x'
	Candidate Mark = ' '
	Rejected  Mark = '-'
)

// Line is one claim of the file.
type Line struct {
	Number int // line number in the file, from 1
	Mark   Mark
	Text   string   // text of the claim on one line
	ID     string   // id of the claim; empty for a line that a person added
	Kind   ken.Kind // kind of the claim; empty for a line that a person added
}

const (
	commentStart = "<!-- ken:"
	commentEnd   = " -->"
)

// escaper escapes a text so that it neither ends the comment after it nor
// starts one. unescaper reverses it.
var (
	escaper   = strings.NewReplacer("&", "&amp;", "<!--", "&lt;!--", "-->", "--&gt;")
	unescaper = strings.NewReplacer("&lt;!--", "<!--", "--&gt;", "-->", "&amp;", "&")
)

// flat returns a claim's text in the form that the file has, on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// render returns a claim's line.
func render(c *ken.Claim) string {
	mark := Approved
	if c.Status == ken.StatusHypothesis {
		mark = Candidate
	}
	info := string(c.Kind)
	if c.Reinforcements > 0 {
		info += fmt.Sprintf(", seen %d times, last %s", c.Reinforcements+1, c.ReinforcedAt.UTC().Format(time.DateOnly))
	}
	return fmt.Sprintf("- [%c] %s %s%s %s%s\n", mark, escaper.Replace(flat(c.Text)), commentStart, c.ID, info, commentEnd)
}

// parseLine parses a line that starts with a dash. why says what is wrong with
// it; "" means that it is valid.
func parseLine(s string) (l Line, why string) {
	rest, ok := strings.CutPrefix(s, "- [")
	if !ok || len(rest) < 3 || rest[1] != ']' || rest[2] != ' ' {
		return l, "is not a claim: a line starts with \"- [x] \", \"- [ ] \" or \"- [-] \""
	}
	switch rest[0] {
	case 'x', 'X':
		l.Mark = Approved
	case ' ':
		l.Mark = Candidate
	case '-':
		l.Mark = Rejected
	default:
		return l, fmt.Sprintf("has %q in its box: x approves, - rejects, a space leaves it a candidate", rest[0])
	}
	text := strings.TrimSpace(rest[3:])
	if at := strings.LastIndex(text, commentStart); at >= 0 {
		comment, ok := strings.CutSuffix(text[at+len(commentStart):], commentEnd)
		if !ok {
			return l, "has a comment that does not end in -->"
		}
		id, kind, _ := strings.Cut(comment, " ")
		u, err := uuid.Parse(id)
		if err != nil {
			return l, fmt.Sprintf("has no id that it was given: %q", id)
		}
		kind, _, _ = strings.Cut(kind, ",")
		if k := ken.Kind(kind); k != ken.KindHot && k != ken.KindPattern {
			return l, fmt.Sprintf("is of kind %q: hot and pattern are kept here", kind)
		}
		l.ID, l.Kind, text = u.String(), ken.Kind(kind), strings.TrimSpace(text[:at])
	}
	if l.Text = flat(unescaper.Replace(text)); l.Text == "" {
		return l, "has no text: put a - into its box to reject it"
	}
	return l, ""
}
