package pairs

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// addDocument adds the passages and pairs of a file or commit.
func (m *miner) addDocument(d repository.Document) {
	if strings.HasPrefix(d.Path, "git:") {
		m.addMessage(d)
		return
	}
	var all []int
	for _, c := range d.Chunks {
		var i int
		var ok bool
		switch ext := strings.ToLower(path.Ext(d.Path)); ext {
		case ".md", ".markdown", ".mdx":
			i, ok = m.addSection(d.Path, &c)
		case ".txt", ".rst", ".adoc", ".asciidoc", ".org", ".tex", ".textile", "":
			i, ok = m.passage(c.Text)
		case ".go":
			i, ok = m.addCode(d.Path, &c, goComments(c.Text))
		default:
			i, ok = m.addCode(d.Path, &c, comments(c.Text))
		}
		if ok {
			all = append(all, i)
		}
	}
	m.pair(pathWords(d.Path), SourcePath, d.Path, nil, all...)
	if title := decisionTitle(d); title != "" {
		m.pair(title, SourceDecision, d.Path, nil, all...)
	}
}

var headingLine = lazyregexp.New(`(?m)^ {0,3}#{1,6}(?:[ \t].*)?$`)

// addSection adds a passage of Markdown without its headings.
func (m *miner) addSection(file string, c *ken.Claim) (int, bool) {
	i, ok := m.passage(headingLine.ReplaceAllString(c.Text, ""))
	if !ok {
		return 0, false
	}
	titles := headings(c)
	for at := len(titles) - 1; at >= 0; at-- { // "Limits" alone says little, so the parent heading is added
		if q := strings.Join(titles[at:], ": "); len(analysis.Terms(q)) >= minQuestion {
			m.pair(strings.ReplaceAll(q, " · ", ", "), SourceHeading, file, nil, i)
			break
		}
	}
	return i, true
}

// headings returns the titles of a chunk, outermost first.
func headings(c *ken.Claim) []string {
	parts := strings.Split(c.Heading, analysis.HeadingSeparator)[1:]
	return slices.DeleteFunc(parts, func(s string) bool { return strings.HasPrefix(s, "Status: ") })
}

var decisionFolder = lazyregexp.New(`(?i)(?:^|/)(?:adrs?|decisions?|rfcs?)/`)

// decisionTitle returns the first heading of a decision record; "" for other files.
func decisionTitle(d repository.Document) string {
	if !decisionFolder.MatchString(d.Path) {
		return ""
	}
	for _, c := range d.Chunks {
		if t := headings(&c); len(t) > 0 {
			title, _, _ := strings.Cut(t[0], " · ")
			return recordNumber.ReplaceAllString(title, "")
		}
	}
	return ""
}

var recordNumber = lazyregexp.New(`^(?i:(?:adr|rfc|decision)[- ]?)?\d+\s*[:.–—-]\s*`)

// addCode adds a passage of code without its doc comments, and a pair for each comment.
func (m *miner) addCode(file string, c *ken.Claim, found []comment) (int, bool) {
	text := c.Text
	for _, f := range found {
		text = strings.Replace(text, f.raw, "", 1)
	}
	i, ok := m.passage(text)
	if !ok {
		return 0, false
	}
	for _, f := range found {
		m.pair(withoutName(f.summary, c.Entities), SourceComment, file, nil, i)
	}
	return i, true
}

// withoutName removes the declared name from the beginning of a Go comment, because a person who searches does not know
// the name yet.
func withoutName(text string, names []string) string {
	first, rest, ok := strings.Cut(text, " ")
	if ok && slices.ContainsFunc(names, func(n string) bool { return n == first || strings.HasSuffix(n, "."+first) }) {
		return rest
	}
	if pkg, ok := strings.CutPrefix(text, "Package "); ok {
		_, text, _ = strings.Cut(pkg, " ")
	}
	return text
}

// pathWords returns the words of a file's name and its folder.
func pathWords(p string) string {
	base := strings.TrimSuffix(path.Base(p), path.Ext(p))
	words := analysis.SplitIdentifier(base)
	if dir := path.Dir(p); dir != "." {
		words = append(analysis.SplitIdentifier(path.Base(dir)), words...)
	}
	return strings.Join(slices.Compact(words), " ")
}

var scopePrefix = lazyregexp.New(`^(?:\w+(?:\([^)]*\))?!?|[\w./, -]{1,40}): +`)

// plainSubject returns a commit's subject without the prefix for package or type.
func plainSubject(s string) string { return scopePrefix.ReplaceAllString(strings.TrimSpace(s), "") }

// addMessage adds a commit's message without its subject. If only the list of files remains, there is no passage.
func (m *miner) addMessage(d repository.Document) {
	var all []int
	title := ""
	for n, c := range d.Chunks {
		first, rest, _ := strings.Cut(c.Text, "\n")
		if n == 0 {
			title = plainSubject(first)
		}
		body, _, _ := strings.Cut(rest, "Files: ")
		if strings.TrimSpace(body) == "" {
			continue
		}
		if i, ok := m.passage(body); ok {
			all = append(all, i)
		}
	}
	m.pair(title, SourceCommit, d.Path, nil, all...)
}
