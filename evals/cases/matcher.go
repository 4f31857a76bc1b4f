package cases

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
)

// Matcher says which claims an expectation is about. Exactly one of the first
// five fields is set.
type Matcher struct {
	ID     string         // the claim's id, or its end, at least six characters, as blocks show it
	Key    string         // the claim's key
	Source string         // what the claim's source begins with, such as docs/adr/
	Text   string         // contained in heading or text; case and white space don't count
	Regexp *regexp.Regexp // matches heading or text

	// Within is the worst rank that will do, from 1; 0 accepts any. must_recall
	// alone has it.
	Within int
}

// leastID is how much of an id's end names a claim: blocks show that much.
const leastID = 6

// Matches reports whether m means the claim.
func (m *Matcher) Matches(c *ken.Claim) bool {
	switch {
	case m.ID != "":
		return strings.HasSuffix(c.ID, strings.ToLower(m.ID))
	case m.Key != "":
		return c.Key == m.Key
	case m.Source != "":
		return strings.HasPrefix(c.Source, m.Source)
	}
	return m.in(c.Heading) || m.in(c.Text)
}

// in reports whether text has what a matcher of texts looks for.
func (m *Matcher) in(text string) bool {
	if m.Regexp != nil {
		return m.Regexp.MatchString(text)
	}
	return m.Text != "" && strings.Contains(plain(text), plain(m.Text))
}

// textual reports whether m looks at words rather than at names.
func (m *Matcher) textual() bool { return m.Text != "" || m.Regexp != nil }

// String shows the matcher as the file has it.
func (m Matcher) String() string {
	switch {
	case m.ID != "":
		return "id " + m.ID
	case m.Key != "":
		return "key " + m.Key
	case m.Source != "":
		return "source " + m.Source
	case m.Regexp != nil:
		return "regexp " + m.Regexp.String()
	}
	return fmt.Sprintf("text %q", m.Text)
}

// plain is text as it is compared: without invisible characters, in small
// letters, with single spaces.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(guardrail.Sanitize(text))), " ")
}
