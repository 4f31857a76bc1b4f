package foreign

import (
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// statement is a paragraph or a list item.
type statement struct {
	line    int
	heading string // heading of its section, preceded by those of outer sections
	text    string
	links   []string // the pages that it links to
	skip    string   // why it is left out; "" if it is not
}

// markdown reads a file of rules or notes: each paragraph and each list item is a claim.
func (out *output) markdown(text string) {
	head, body, first := frontMatter(text)
	title := strings.TrimSuffix(strings.TrimSuffix(out.o.Name, ".md"), ".mdc")
	title = title[strings.LastIndexAny(title, "/\\")+1:]
	for _, s := range statements(body) {
		n := s.line + first
		if s.skip != "" {
			out.skip(n, s.skip)
			continue
		}
		c := ken.Claim{Text: s.text, Heading: s.heading, Entities: s.links, Tags: head["tags"]}
		if out.format == Obsidian {
			if c.Heading != title && !strings.HasPrefix(c.Heading, title+separator) {
				c.Heading = joined(title, s.heading)
			}
		} else if c.Heading == "" && len(head["description"]) > 0 {
			c.Heading = head["description"][0]
		}
		out.put(n, c, "")
	}
}

// separator is between a section's heading and those within it.
const separator = " › "

func joined(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, separator)
}

// frontMatter splits the fields at the top of a note from its text, and returns the number of
// lines that they take. Fields that are neither text nor list are left out.
func frontMatter(text string) (fields map[string][]string, body string, lines int) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return nil, text, 0
	}
	head, body, ok := strings.Cut(rest, "\n---")
	if !ok || len(body) > 0 && body[0] != '\n' {
		return nil, text, 0
	}
	fields = map[string][]string{}
	const limit = 500
	node, _ := plainyaml.Parse(head, limit)
	for _, f := range node.Fields {
		switch f.Key {
		case "tags":
			for _, w := range f.Value.Words(", ") {
				fields[f.Key] = append(fields[f.Key], strings.TrimPrefix(strings.TrimSpace(w.Text), "#"))
			}
		case "description":
			if text := strings.TrimSpace(f.Value.Text); text != "" {
				fields[f.Key] = []string{text}
			}
		}
	}
	return fields, body, 1 + strings.Count(head, "\n") + 1
}

var (
	atxHeading = lazyregexp.New(`^ {0,3}(#{1,6})\s+(.*?)\s*#*$`)
	item       = lazyregexp.New(`^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$`)
	fence      = lazyregexp.New("^\\s*(```+|~~~+)")
	rule       = lazyregexp.New(`^\s*([-*_=])(\s*[-*_=]){2,}\s*$`)
	comment    = lazyregexp.New(`(?s)<!--.*?-->|%%.*?%%`)
	embedding  = lazyregexp.New(`!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)`)
	wikiLink   = lazyregexp.New(`\[\[([^\]|#^]*)([#^][^\]|]*)?(\|([^\]]*))?\]\]`)
	webLink    = lazyregexp.New(`\[([^\]]*)\]\([^)]*\)`)
	emphasis   = lazyregexp.New(`\*\*([^*]+)\*\*|__([^_]+)__`)
	callout    = lazyregexp.New(`^\[![a-zA-Z-]+\][+-]?\s*`)
	checkbox   = lazyregexp.New(`^\[([ xX])\]\s+`)
	// placeholder matches a text in brackets: "(to be filled in)", "[none yet]".
	placeholder = lazyregexp.New(`^(\([^()]*\)|\[[^\[\]]*\])$`)
	blockID     = lazyregexp.New(`(?m)\s\^[A-Za-z0-9-]+$`)
)

// splitter splits lines into statements.
type splitter struct {
	found    []statement
	sections []section
	open     []string // the lines of the current statement
	at       int      // number of its first line
	indent   int      // indentation of its list item; -1 for a paragraph
	lead     string   // a line that ends with a colon, which is added to each list item after it
}

type section struct {
	level int
	title string
}

// statements splits a Markdown text. Code, comments and horizontal rules are left out.
func statements(text string) []statement {
	text = comment.ReplaceAllStringFunc(strings.ReplaceAll(text, "\r\n", "\n"), func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n")) // so that line numbers stay the same
	})
	s := &splitter{indent: -1}
	code := ""
	for n, line := range strings.Split(text, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil && (code == "" || strings.HasPrefix(m[1], code)) {
			if code == "" {
				s.end()
				code, s.lead = m[1], ""
				s.found = append(s.found, statement{line: n + 1, skip: "a block of code"})
			} else {
				code = ""
			}
			continue
		}
		if code == "" {
			s.line(n+1, strings.TrimLeft(line, ">"), line)
		}
	}
	s.end()
	return s.found
}

func (s *splitter) line(n int, line, whole string) {
	if line != whole { // a quotation
		line = callout.ReplaceAllString(strings.TrimLeft(line, " "), "")
	}
	if m := atxHeading.FindStringSubmatch(line); m != nil {
		s.end()
		s.lead = ""
		level := len(m[1])
		for len(s.sections) > 0 && s.sections[len(s.sections)-1].level >= level {
			s.sections = s.sections[:len(s.sections)-1]
		}
		s.sections = append(s.sections, section{level, plain(m[2])})
		return
	}
	switch m := item.FindStringSubmatch(line); {
	case strings.TrimSpace(line) == "":
		if s.indent < 0 {
			s.end()
		}
	case rule.MatchString(line):
		s.end()
	case m != nil && (s.indent < 0 || len(m[1]) <= s.indent): // it does not belong to the item above
		s.end()
		s.begin(n, len(m[1]), m[3])
	case m != nil:
		s.open = append(s.open, m[3])
	case s.indent >= 0 && line == strings.TrimLeft(line, " \t") && n > s.at+len(s.open): // after a blank line
		s.end()
		s.begin(n, -1, line)
	case len(s.open) == 0:
		s.begin(n, -1, line)
	default:
		s.open = append(s.open, strings.TrimSpace(line))
	}
}

func (s *splitter) begin(n, indent int, text string) {
	if indent < 0 {
		s.lead = ""
	}
	s.open, s.at, s.indent = []string{strings.TrimSpace(text)}, n, indent
}

// end ends the current statement.
func (s *splitter) end() {
	if len(s.open) == 0 {
		return
	}
	raw := embedding.ReplaceAllString(strings.Join(s.open, "\n"), "")
	st := statement{line: s.at}
	isItem := s.indent >= 0
	s.open, s.indent = nil, -1
	for _, m := range wikiLink.FindAllStringSubmatch(raw, -1) {
		if name := page(m[1]); name != "" {
			st.links = append(st.links, name)
		}
	}
	box := checkbox.FindString(raw)
	text := plain(strings.TrimPrefix(raw, box))
	var titles []string
	for _, sec := range s.sections {
		titles = append(titles, sec.title)
	}
	if isItem {
		titles = append(titles, s.lead)
	}
	st.heading, st.text = joined(titles...), text
	const words = 2
	switch {
	case box != "":
		st.skip = "a task"
	case strings.HasSuffix(text, ":") && !strings.Contains(text, "\n"):
		if !isItem {
			s.lead = strings.TrimSuffix(text, ":")
		}
		st.skip = "a line that only leads to the next"
	case strings.HasPrefix(text, "@") && !strings.Contains(text, " "):
		st.skip = "a line that names another file"
	case placeholder.MatchString(text):
		st.skip = "a placeholder"
	case len(strings.Fields(text)) < words:
		st.skip = "a single word"
	}
	s.found = append(s.found, st)
}

// page returns the name of the note that a link leads to, without its folders.
func page(link string) string {
	return strings.TrimSpace(link[strings.LastIndexByte(link, '/')+1:])
}

// plain removes Markdown markup from a text and keeps the visible text.
func plain(s string) string {
	s = wikiLink.ReplaceAllStringFunc(s, func(link string) string {
		m := wikiLink.FindStringSubmatch(link)
		if m[4] != "" {
			return m[4]
		}
		return page(m[1])
	})
	s = webLink.ReplaceAllString(s, "$1")
	s = emphasis.ReplaceAllString(s, "$1$2")
	return strings.TrimSpace(blockID.ReplaceAllString(s, ""))
}
