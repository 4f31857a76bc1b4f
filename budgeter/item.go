package budgeter

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// Limits of the header's free fields, in code points.
const (
	maxSource  = 120
	maxHeading = 160
)

// entry is an item that was loaded.
type entry struct {
	item  ken.Item // its text as body returns it
	whole string   // the text that item's stands for, as it would be shown elsewhere; "" when it is its own
	short string
	// memory marks the item in its header: a line above the memory part would be one
	// that content could forge.
	memory bool
}

// complete fills in what only the claim knows.
func complete(item *ken.Item, c *ken.Claim) {
	item.Key, item.Heading, item.Text = c.Key, c.Heading, c.Text
	item.Source = cmp.Or(c.Source, c.SourceType)
	item.Entities, item.Aspect, item.Candidate = c.Entities, c.Aspect, c.RuleCandidate
	item.Kind = cmp.Or(item.Kind, c.Kind)
	if item.CreatedAt.IsZero() {
		item.CreatedAt = c.CreatedAt
	}
}

// clean makes the header's free fields fit to be shown.
func (e *entry) clean() {
	e.item.Source = strings.ReplaceAll(line(e.item.Source, maxSource), "|", "/") // it can't pose as two fields
	e.item.Heading = line(e.item.Heading, maxHeading)
}

// shownWhole is whole as a block shows it.
func (e entry) shownWhole() string {
	e.item.Text = e.whole
	return e.piece(0).item.Text
}

// overhead is what the item takes beside its text, in code points.
func (e entry) overhead() int {
	e.item.Text = "x"
	return e.piece(0).item.Chars - 1
}

// body returns at most so many code points of a text, without looking at much
// more of it than that.
func body(text string, most int) string {
	for window := 8 * most; ; window *= 4 {
		if window >= len(text) {
			return excerpt(strings.TrimSpace(guardrail.Sanitize(text)), most)
		}
		head := text[:window]
		for !utf8.RuneStart(text[len(head)]) && len(head) > window-utf8.UTFMax {
			head = head[:len(head)-1]
		}
		if s := strings.TrimSpace(guardrail.Sanitize(head)); utf8.RuneCountInString(s) > most {
			return excerpt(s, most)
		}
	}
}

// line returns text on one line, at most so many code points.
func line(text string, most int) string {
	if text == "" {
		return ""
	}
	return guardrail.Neutralize(excerpt(squeeze(guardrail.Sanitize(text)), most))
}

// squeeze makes every run of white space a single space.
func squeeze(text string) string {
	plain := true
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c < ' ' || c == ' ' && (i == 0 || text[i-1] == ' ') {
			plain = false
			break
		}
	}
	if plain && !strings.HasSuffix(text, " ") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// piece renders the item, compressed to the given level: see compress.
func (e entry) piece(level int) piece {
	e.compress(level)
	it := &e.item
	it.Memory = e.memory
	var b strings.Builder
	b.Grow(len(it.Text) + len(it.Source) + len(it.Heading) + 64)
	b.WriteString("\n" + guardrail.ItemMark)
	b.WriteString(e.short)
	b.WriteString("] ")
	b.WriteString(it.Tier.String())
	if it.Constraint {
		b.WriteString(" constraint")
	}
	if it.Candidate {
		b.WriteString(" candidate rule")
	}
	if it.Trust == ken.TrustExternal {
		b.WriteString(" external")
	}
	if e.memory {
		b.WriteString(" memory")
	}
	if it.Fallen != "" {
		b.WriteString(", " + string(it.Fallen) + " since it was told")
	}
	b.WriteString(" | ")
	if it.CreatedAt.IsZero() {
		b.WriteString("undated")
	} else {
		var buf [16]byte
		b.Write(it.CreatedAt.UTC().AppendFormat(buf[:0], time.DateOnly))
	}
	free := b.Len()
	if it.Source != "" || it.Heading != "" {
		b.WriteString(" | ")
		b.WriteString(cmp.Or(it.Source, "-"))
	}
	if it.Heading != "" {
		b.WriteString(" | ")
		b.WriteString(it.Heading)
	}
	b.WriteByte('\n')
	b.WriteString(it.Text)
	b.WriteByte('\n')
	text := b.String()
	// What content can choose is made harmless in one piece: a marker could be
	// spread over the end of the heading and the start of the text.
	if tail := guardrail.Neutralize(text[free:]); tail != text[free:] {
		text = text[:free] + tail
	}
	it.Text = text[free+strings.IndexByte(text[free:], '\n')+1 : len(text)-1]
	it.Chars = utf8.RuneCountInString(text)
	return piece{item: *it, text: text}
}
