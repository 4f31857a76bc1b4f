package decision

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	mention        = lazyregexp.New(`(?i)^adrs?[-_ #]*0*(\d{1,6})((?:\s*(?:/|,|and|&)\s*0*\d{3,6}\b)*)`)
	furtherNumbers = lazyregexp.New(`(\d{3,6})`)
	listNumber     = lazyregexp.New(`(?:^|[\s,;(#])(\d{1,6})\b`)
	nothing        = lazyregexp.New(`(?i)^(?:[-—–.]*|none\.?|n/?a|null|~|\[\s*\]|tbd)$`)
)

// mentions finds records that a text names by their numbers, in the form of FindAll: the whole mention, the first
// number, and the list of further ones. Its own search for possible starts is many times faster than the expression's.
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

// references returns the records that a value names. In a list, a number alone is a reference, too. folder is that of
// the record.
func references(v Value, folder string, list bool) []Reference {
	text := strings.TrimSpace(v.Text)
	if nothing.MatchString(stripMarkup(text)) {
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
		file := linkedRecordPath(folder, target)
		if file == "" {
			continue
		}
		first = min(first, m[0])
		out = append(out, Reference{Text: stripMarkup(words), ID: cmp.Or(namedID(words, file), stem(file)), Path: file, Line: v.Line})
	}
	rest := string(masked)
	for _, m := range mentions(rest) {
		first = min(first, m[0])
		out = append(out, Reference{Text: strings.TrimSpace(text[m[0]:m[3]]), ID: idOfText(rest[m[2]:m[3]]), Line: v.Line})
		for _, n := range furtherNumbers.FindAllStringSubmatch(rest[m[4]:m[5]], -1) {
			out = append(out, Reference{Text: n[1], ID: idOfText(n[1]), Line: v.Line})
		}
	}
	if list && len(out) == 0 {
		for _, m := range listNumber.FindAllStringSubmatchIndex(rest, -1) {
			first = min(first, m[2])
			out = append(out, Reference{Text: text[m[2]:m[3]], ID: idOfText(rest[m[2]:m[3]]), Line: v.Line})
		}
		if name := strings.Trim(text, `"'`); len(out) == 0 && !strings.ContainsAny(name, " \t") {
			out = append(out, Reference{Text: name, ID: strings.TrimSuffix(path.Base(name), ".md"), Path: linkedRecordPath(folder, name), Line: v.Line})
		}
	}
	partial := restricted(text[:first])
	for i := range out {
		out[i].Partial = partial
	}
	return out
}

// restricted reports whether the words before a reference restrict it to a part of the record.
func restricted(before string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(stripMarkup(before))) {
		switch strings.Trim(w, ".,:;()\"'—–-*_") {
		case "", "supersedes", "superseded", "superceded", "supercedes", "superseding", "replaces", "replaced", "by", "adr", "adrs", "the", "decision", "record", "see", "and":
		default:
			return true
		}
	}
	return false
}

// idOfText returns the ID for a number in digits.
func idOfText(digits string) string {
	n, _ := fromID(digits)
	return idOf(n)
}

// namedID returns the ID in a link: in its text, else in the name of its file.
func namedID(words, file string) string {
	if m := mentions(words); len(m) > 0 {
		return idOfText(words[m[0][2]:m[0][3]])
	}
	if n, id, _ := fromFile(file); n >= 0 {
		return id
	}
	if n, _ := fromTitle(stripMarkup(words)); n >= 0 {
		return idOf(n)
	}
	if n, id := fromID(stripMarkup(words)); n >= 0 {
		return id
	}
	return ""
}

// linkedRecordPath returns the path from the root of the Markdown file to which a link leads; "" for other links.
func linkedRecordPath(folder, target string) string {
	p := localPath(folder, target)
	if !markdown(p) {
		return ""
	}
	return p
}

// localPath returns the path from the root to which a relative link leads; "" for a link to the web, within the page,
// or outside of the root.
func localPath(folder, target string) string {
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

// maxLinks is the maximum number of links of one record.
const maxLinks = 1000

// links finds the links and mentions of records in the lines, outside of code.
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
			for _, n := range furtherNumbers.FindAllStringSubmatch(s[m[4]:m[5]], -1) {
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
		l := Link{Text: stripMarkup(text[m[2]:m[3]]), Target: text[m[4]:m[5]], Line: no}
		if file := linkedRecordPath(folder, l.Target); file != "" {
			l.ID = namedID(l.Text, file)
		}
		out = append(out, l)
	}
	named(text[at:])
	return out
}

// Target is something that a decision governs: a symbol ("store.Shelf"), a path from the root ("internal/rules"), a
// glob ("store/**/*.go"), or the ID of a node in the code graph ("type:example.com/shop/cart.Line"). Exact reports that
// the record lists it. Otherwise it is a guess from the text, and may not exist.
type Target struct {
	Name  string
	Exact bool
	Line  int
}

// maxTargets is the maximum number of guesses per record.
const maxTargets = 200

// Targets returns what a record governs: the listed names, then names in its text, in order and without duplicates. A
// name in the text is a path, a file or a symbol in code marks, a path in prose with a file extension, or the target of
// a link to a file that is not a document. Code blocks and words of prose are ignored.
func Targets(r Record) []Target {
	var out []Target
	seen := map[string]bool{}
	add := func(t Target) {
		if t.Name != "" && !seen[t.Name] && (t.Exact || len(out) < maxTargets) {
			seen[t.Name] = true
			out = append(out, t)
		}
	}
	for _, g := range r.Governs {
		add(Target{strings.TrimPrefix(g.Text, "./"), true, g.Line})
	}
	folder := folderOf(r.Path)
	var guesses []Target
	read := func(text string, first int) {
		var code fence
		no := first
		for l := range strings.Lines(text) {
			if !code.step(strings.TrimRight(l, "\r\n")) {
				for _, name := range namesIn(l) {
					guesses = append(guesses, Target{name, false, no})
				}
			}
			no++
		}
	}
	read(r.Title.Text, r.Title.Line)
	read(r.Preamble.Text, r.Preamble.Line)
	for _, s := range r.Sections {
		read(s.Title, s.Line)
		read(s.Text.Text, s.Text.Line)
	}
	for _, l := range r.Links {
		if p := localPath(folder, l.Target); l.Target != "" && p != "" && !markdown(p) && looksLikePath(p) {
			guesses = append(guesses, Target{p, false, l.Line})
		}
	}
	slices.SortStableFunc(guesses, func(a, b Target) int { return a.Line - b.Line })
	for _, g := range guesses {
		add(g)
	}
	return out
}

var (
	codeSpan       = lazyregexp.New("(`+)([^`]+)(`+)")
	prosePath      = lazyregexp.New(`(?:^|[\s(,;])((?:\.{1,2}/)?[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@*-]+)+\.[A-Za-z][A-Za-z0-9]{0,5})(?:[\s).,;:]|$)`)
	pathLike       = lazyregexp.New(`^[A-Za-z0-9_.@*{},-]+(?:/[A-Za-z0-9_.@*{},-]+)*/?$`)
	symbol         = lazyregexp.New(`^[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*$`)
	pathWithSuffix = lazyregexp.New(`^(.+\.[A-Za-z]\w{0,5}):(?::?([A-Za-z_]\w*)|\d+(?:-\d+)?)$`) // file.py::name, file.py:12
)

// namesIn returns the names in a line of text.
func namesIn(l string) (out []string) {
	bare := []byte(l)
	if !strings.Contains(l, "`") && !strings.Contains(l, "/") {
		return nil
	}
	for _, m := range codeSpan.FindAllStringSubmatchIndex(l, -1) {
		for i := m[0]; i < m[1]; i++ {
			bare[i] = ' '
		}
		if n := named(strings.TrimSpace(l[m[4]:m[5]])); n != "" {
			out = append(out, n)
		}
	}
	rest := string(bare)
	if strings.Contains(rest, "](") {
		rest = linkMarkup.ReplaceAllString(rest, " ")
	}
	if strings.Contains(rest, "/") {
		for _, m := range prosePath.FindAllStringSubmatch(rest, -1) {
			if p := strings.TrimPrefix(m[1], "./"); looksLikePath(p) && !strings.HasPrefix(p, "../") {
				out = append(out, p)
			}
		}
	}
	return out
}

// named returns the name of code in a code mark; "" if it contains anything else.
func named(s string) string {
	if s == "" || len(s) > 160 || strings.ContainsAny(s, " \t\"'=<>|&;!?^~\\") {
		return ""
	}
	if m := pathWithSuffix.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	s = strings.TrimPrefix(s, "./")
	if strings.Contains(s, "/") || fileEnding(s) {
		if !looksLikePath(s) {
			return ""
		}
		if folder := strings.TrimSuffix(s, "/"); strings.Contains(folder, "/") {
			return folder
		}
		return s // "memory/" is a folder, "memory" could be anything
	}
	if at := strings.IndexByte(s, '('); at > 0 && strings.HasSuffix(s, ")") {
		if s = s[:at]; symbol.MatchString(s) {
			return s // a call is a symbol in any case
		}
		return ""
	}
	s = strings.TrimLeft(s, "*&@")
	if !symbol.MatchString(s) || !looksLikeSymbol(s) {
		return ""
	}
	return s
}

// looksLikePath reports whether a text with slashes is a path in the project. It excludes addresses, routes, fractions
// and pairs of words such as "and/or".
func looksLikePath(s string) bool {
	if !pathLike.MatchString(s) || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "-") || !strings.ContainsFunc(s, unicode.IsLetter) {
		return false
	}
	first, _, _ := strings.Cut(s, "/")
	return !strings.HasPrefix(first, "www.") && !strings.HasSuffix(first, ".com") && !strings.HasSuffix(first, ".org") && !strings.HasSuffix(first, ".io") &&
		!strings.HasPrefix(first, "@")
}

// fileEnding reports whether a name without folders has the extension of a file.
func fileEnding(s string) bool {
	at := strings.LastIndexByte(s, '.')
	if at <= 0 || strings.ContainsAny(s, "()") {
		return false
	}
	return fileEndings[s[at+1:]]
}

// fileEndings are extensions of source files and related files. "config.Load" does not have one.
var fileEndings = analysis.Set(`go py pyi js jsx mjs cjs ts tsx mts java kt kts scala cs fs rs c h cc cpp cxx hpp hh m mm swift rb php pl lua
	sh bash zsh ps1 sql proto graphql tf css scss less html vue svelte yaml yml toml json jsonl xml ini cfg conf mod sum lock md rst txt
	gradle cmake mk dockerfile ipynb csproj sln`)

// looksLikeSymbol reports whether a word in code marks is a name of code: it has several parts, camel case,
// underscores, or a capital letter followed by lower case. A word in capitals only is usually a setting or a file.
func looksLikeSymbol(s string) bool {
	letters, lower, upper := 0, 0, 0
	for _, r := range s {
		switch {
		case unicode.IsLower(r):
			lower++
			letters++
		case unicode.IsUpper(r):
			upper++
			letters++
		}
	}
	if letters < 2 || lower == 0 || len(s) < 3 {
		return false
	}
	inner := strings.Trim(s, "_$")
	return strings.ContainsAny(inner, "_.#:") || upper > 0
}
