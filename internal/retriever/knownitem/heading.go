package knownitem

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// minLeft is how many terms of a text must remain beside the passage that the
// question copies: with less there is nothing to find.
const minLeft = 6

// heading asks with what somebody wrote about the text: a commit's subject, a
// doc comment's first sentence, or the innermost heading.
func heading(c *collection, claim *ken.Claim, _ *rand.Rand) (text, hidden string) {
	switch {
	case claim.SourceType == "git":
		text, hidden = subject(claim)
	case isCode(claim):
		text, hidden = docComment(claim)
	default:
		text, hidden = title(claim)
	}
	if text == "" || looksLikeCode(text) || len(analysis.Terms(text)) < 2 || !c.singles(text) {
		return "", ""
	}
	q := Question{Want: claim.ID, Hidden: hidden}
	if claim.ID == "" || len(analysis.Terms(q.Mask(*claim).Text)) < minLeft {
		return "", ""
	}
	return text, hidden
}

var scopePrefix = lazyregexp.New(`^(?:\w+(?:\([^)]*\))?!?|[\w./, -]{1,40}): +`)

// subject is a commit's first line without the package or type before it.
func subject(c *ken.Claim) (text, hidden string) {
	hidden, _, _ = strings.Cut(c.Text, "\n")
	hidden = strings.TrimSpace(hidden)
	return strings.TrimSuffix(scopePrefix.ReplaceAllString(hidden, ""), "."), hidden
}

// title is the innermost heading that is more than a name in code or a path.
func title(c *ken.Claim) (text, hidden string) {
	parts := strings.Split(c.Heading, headingSeparator)
	last := parts[len(parts)-1]
	last, _, _ = strings.Cut(last, " · ")
	if len(parts) == 1 && strings.ContainsAny(last, "/") || strings.HasPrefix(last, "Status: ") || strings.HasSuffix(last, "…") {
		return "", ""
	}
	last = strings.TrimSpace(last)
	return strings.TrimRight(plain(last), ".:"), last
}

// docComment is the first sentence of the comment that a chunk of code starts
// with, or of the doc string in it, without the name of what it describes.
func docComment(c *ken.Claim) (text, hidden string) {
	if hidden = leadingComment(c.Text); hidden == "" {
		hidden = docString(c.Text)
	}
	var words []string
	for l := range strings.Lines(hidden) {
		l = strings.TrimSpace(l)
		if rest, ok := uncomment(l); ok {
			l = rest
		}
		if l = strings.TrimSpace(strings.Trim(l, `"'*/`)); l == "" && len(words) > 0 {
			break
		} else if l != "" {
			words = append(words, l)
		}
	}
	list := sentences(strings.Join(words, " "))
	if len(list) == 0 {
		return "", ""
	}
	text = strings.TrimSuffix(list[0], ".")
	first, rest, _ := strings.Cut(text, " ")
	if slices.ContainsFunc(c.Entities, func(e string) bool { return e == first || strings.HasSuffix(e, "."+first) }) {
		text = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
	}
	if rest, ok := strings.CutPrefix(text, "Package "); ok {
		_, text, _ = strings.Cut(rest, " ")
	}
	return text, hidden
}

// leadingComment is the run of comment lines at the start of a text.
func leadingComment(text string) string {
	end, block := 0, false
	for l := range strings.Lines(text) {
		t := strings.TrimSpace(l)
		_, ok := uncomment(t)
		block = block || strings.HasPrefix(t, "/*")
		if !ok && !block {
			break
		}
		end += len(l)
		if strings.HasSuffix(t, "*/") {
			block = false
		}
	}
	return strings.TrimSpace(text[:end])
}

// docString is the first triple-quoted string of a text, with its quotes.
func docString(text string) string {
	for _, quote := range []string{`"""`, `'''`} {
		from := strings.Index(text, quote)
		if from < 0 {
			continue
		}
		n := strings.Index(text[from+len(quote):], quote)
		if n < 0 {
			continue
		}
		return text[from : from+n+2*len(quote)]
	}
	return ""
}
