package decision

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	mention    = lazyregexp.New(`(?i)^adrs?[-_ #]*0*(\d{1,6})((?:\s*(?:/|,|and|&)\s*0*\d{3,6}\b)*)`)
	further    = lazyregexp.New(`(\d{3,6})`)
	listNumber = lazyregexp.New(`(?:^|[\s,;(#])(\d{1,6})\b`)
	nothing    = lazyregexp.New(`(?i)^(?:[-—–.]*|none\.?|n/?a|null|~|\[\s*\]|tbd)$`)
)

// mentions are the places of records that a text names by their numbers, as FindAll has
// them: the whole, the first number, and what lists further ones. Its own search for where
// a mention could start is many times faster than the expression's.
func mentions(s string) (out [][]int) {
	for i := 0; i+len("adr") < len(s); i++ {
		if s[i]|0x20 != 'a' || s[i+1]|0x20 != 'd' || s[i+2]|0x20 != 'r' || i > 0 && wordByte(s[i-1]) {
			continue
		}
		m := mention.FindStringSubmatchIndex(s[i:])
		if m == nil {
			continue
		}
		for k := range m {
			m[k] += i
		}
		out = append(out, m)
		i = m[1] - 1
	}
	return out
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// references reads which records a value names. In a list, a number by itself is one,
// too. folder is that of the record.
func references(v Value, folder string, list bool) []Reference {
	text := strings.TrimSpace(v.Text)
	if nothing.MatchString(plain(text)) {
		return nil
	}
	var out []Reference
	first := len(text)
	masked := []byte(text)
	for _, m := range linkMarkup.FindAllStringSubmatchIndex(text, -1) {
		words, target := text[m[2]:m[3]], text[m[4]:m[5]]
		for i := m[0]; i < m[1]; i++ {
			masked[i] = ' '
		}
		file := linked(folder, target)
		if file == "" {
			continue
		}
		first = min(first, m[0])
		out = append(out, Reference{Text: plain(words), ID: cmp.Or(namedID(words, file), stem(file)), Path: file, Line: v.Line})
	}
	rest := string(masked)
	for _, m := range mentions(rest) {
		first = min(first, m[0])
		out = append(out, Reference{Text: strings.TrimSpace(text[m[0]:m[3]]), ID: idOfText(rest[m[2]:m[3]]), Line: v.Line})
		for _, n := range further.FindAllStringSubmatch(rest[m[4]:m[5]], -1) {
			out = append(out, Reference{Text: n[1], ID: idOfText(n[1]), Line: v.Line})
		}
	}
	if list && len(out) == 0 {
		for _, m := range listNumber.FindAllStringSubmatchIndex(rest, -1) {
			first = min(first, m[2])
			out = append(out, Reference{Text: text[m[2]:m[3]], ID: idOfText(rest[m[2]:m[3]]), Line: v.Line})
		}
		if name := strings.Trim(text, `"'`); len(out) == 0 && !strings.ContainsAny(name, " \t") {
			out = append(out, Reference{Text: name, ID: strings.TrimSuffix(path.Base(name), ".md"), Path: linked(folder, name), Line: v.Line})
		}
	}
	partial := qualified(text[:first])
	for i := range out {
		out[i].Partial = partial
	}
	return out
}

// qualified reports whether words before a reference say that only a part is meant.
func qualified(before string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(plain(before))) {
		switch strings.Trim(w, ".,:;()\"'—–-*_") {
		case "", "supersedes", "superseded", "superceded", "supercedes", "superseding", "replaces", "replaced", "by", "adr", "adrs", "the", "decision", "record", "see", "and":
		default:
			return true
		}
	}
	return false
}

// idOfText is the ID of a number in digits.
func idOfText(digits string) string {
	n, _ := fromID(digits)
	return idOf(n)
}

// namedID is the ID that a link says: in its words, else in the name of its file.
func namedID(words, file string) string {
	if m := mentions(words); len(m) > 0 {
		return idOfText(words[m[0][2]:m[0][3]])
	}
	if n, id, _ := fromFile(file); n >= 0 {
		return id
	}
	if n, _ := fromTitle(plain(words)); n >= 0 {
		return idOf(n)
	}
	if n, id := fromID(plain(words)); n >= 0 {
		return id
	}
	return ""
}

// linked is the path from the root of the Markdown file that a link leads to; empty for
// a link to somewhere else.
func linked(folder, target string) string {
	p := local(folder, target)
	if !markdown(p) {
		return ""
	}
	return p
}

// local is the path from the root that a relative link leads to; empty for one to the
// web, within the page, or outside of the root.
func local(folder, target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || strings.HasPrefix(u.Path, "/") {
		return ""
	}
	p := path.Join(folder, u.Path)
	if p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	return p
}

func markdown(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return true
	}
	return false
}

// maxLinks bounds the links of one record.
const maxLinks = 1000

// links finds the links and the mentions of records in the lines, code left out.
func links(lines []line, from int, folder string) (out []Link) {
	var code fence
	for i := from; i < len(lines) && len(out) < maxLinks; i++ {
		text := lines[i].text
		if code.step(text) {
			continue
		}
		out = append(out, lineLinks(text, i+1, folder)...)
	}
	return out[:min(len(out), maxLinks)]
}

func lineLinks(text string, no int, folder string) (out []Link) {
	at := 0
	named := func(s string) {
		for _, m := range mentions(s) {
			out = append(out, Link{Text: strings.TrimSpace(s[m[0]:m[1]]), ID: idOfText(s[m[2]:m[3]]), Line: no})
			for _, n := range further.FindAllStringSubmatch(s[m[4]:m[5]], -1) {
				out = append(out, Link{Text: n[1], ID: idOfText(n[1]), Line: no})
			}
		}
	}
	var marks [][]int
	if strings.Contains(text, "](") {
		marks = linkMarkup.FindAllStringSubmatchIndex(text, -1)
	}
	for _, m := range marks {
		named(text[at:m[0]])
		at = m[1]
		l := Link{Text: plain(text[m[2]:m[3]]), Target: text[m[4]:m[5]], Line: no}
		if file := linked(folder, l.Target); file != "" {
			l.ID = namedID(l.Text, file)
		}
		out = append(out, l)
	}
	named(text[at:])
	return out
}
