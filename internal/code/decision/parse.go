package decision

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/projectfile"
)

// document is a record with the positions of its parts in the file.
type document struct {
	Record
	src            []byte
	lines          []line
	front          frontMatter
	fields         []metadataField // of the front matter and below the title, in order
	heads          []heading
	problems       []Problem
	readOnlyReason string // reason why the file must not be edited; "" if it may be
}

// Parse parses the Markdown of a decision record in any of the forms listed in the package comment. path is its path
// from the root. What can't be read becomes a Problem; the rest is in the record. Parse depends only on its arguments,
// is safe for concurrent use, and does not panic on any input.
func Parse(path string, src []byte) (Record, []Problem) {
	d := parse(path, src)
	return d.Record, d.problems
}

func (d *document) problem(line int, text, try string) {
	d.problems = append(d.problems, Problem{Path: d.Path, Line: line, Text: text, Try: try})
}

func parse(path string, src []byte) *document {
	d := &document{Record: Record{Path: path, Hash: projectfile.Hash(src)}, src: src}
	d.Archived = slices.Contains(strings.Split(folderOf(path), "/"), archiveFolder)
	lines, problems, readOnlyReason := split(src)
	d.front = readFront(lines)
	d.lines = withoutComments(lines)
	d.readOnlyReason = cmp.Or(readOnlyReason, d.front.readOnlyReason)
	for _, p := range append(problems, d.front.problems...) {
		d.problem(p.Line, p.Text, p.Try)
	}
	d.heads = headings(d.lines, d.front.next)
	top := d.titleHeading()
	classify(d.heads, top)
	headFrom, headTo := d.front.next, len(d.lines)
	for i := range d.heads {
		if top == nil || &d.heads[i] != top {
			headTo = d.heads[i].at
			break
		}
	}
	items, used := headerFields(d.lines, headFrom, headTo)
	if top != nil {
		for i := top.at; i < top.next; i++ {
			used[i] = true
		}
	}
	d.fields = append(slices.Clone(d.front.items), items...)
	d.identify(d.id(), d.title(), top)
	d.metadata()
	d.sections(top)
	d.Preamble = d.preamble(headFrom, headTo, used)
	d.Links = links(d.lines, d.front.next, folderOf(path))
	d.check()
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return d
}

// titleHeading returns the heading that is the document's title: the first one, unless it is that of a known section and another
// heading is at the top level.
func (d *document) titleHeading() *heading {
	if len(d.heads) == 0 {
		return nil
	}
	first := &d.heads[0]
	if kindOf(first.title) != "" && (first.level > 1 || slices.ContainsFunc(d.heads[1:], func(h heading) bool { return h.level == 1 })) {
		return nil
	}
	if n, _ := fromTitle(first.title); first.level == 1 || n >= 0 {
		return first
	}
	return nil
}

// archiveFolder is the name of folders with archived records.
const archiveFolder = "archive"

// preamble returns the text between the title and the first section, without fields.
func (d *document) preamble(from, to int, used map[int]bool) Value {
	v := Value{}
	var b strings.Builder
	for i := from; i < to; i++ {
		if used[i] {
			continue
		}
		t := strings.TrimRight(d.lines[i].text, " \t")
		if t == "---" || t == "***" || t == "" && b.Len() == 0 {
			continue
		}
		if v.Line == 0 {
			v.Line = i + 1
		}
		b.WriteString(t)
		b.WriteByte('\n')
	}
	v.Text = strings.TrimSpace(b.String())
	if v.Text == "" {
		return Value{}
	}
	return v
}

// sections sets Sections and the fields that are read from sections.
func (d *document) sections(top *heading) {
	for i := range d.heads {
		h := &d.heads[i]
		if h == top {
			continue
		}
		next := len(d.lines)
		if i+1 < len(d.heads) {
			next = d.heads[i+1].at
		}
		d.Sections = append(d.Sections, Section{Title: headingText(h.title), Kind: h.kind, Level: h.level, Line: h.at + 1, End: d.lastLine(h.next, h.end), Text: d.valueOf(h.next, next)})
	}
	d.Context = d.joinSections(KindContext)
	d.Decision = d.joinSections(KindDecision)
	d.Consequences = d.joinSections(KindConsequences)
	d.Confirmation = d.joinSections(KindConfirmation)
	d.More = d.joinSections(KindMore)
	d.sectionFields()
	for _, i := range d.ofKind(KindDrivers) {
		d.Drivers = append(d.Drivers, d.list(i)...)
	}
	d.Options = d.options()
}

// metadataField is a key and its value, with the position of the value in the file's bytes for edits.
type metadataField struct {
	key   string // as written
	name  string // without case, spaces and hyphens
	lines []Value
	form  fieldForm
	list  bool // a list of the front matter
	at    int  // index of the line with the value
	from  int  // start of the value in that line
	to    int
	until int // index of the first line after the value
}

// fieldForm is the form of a field.
type fieldForm uint8

const (
	formFront   fieldForm = iota // a key of the front matter
	formLine                     // "Status: x", "**Status:** x", "- **Status**: x"
	formRow                      // a row of a table: | Status | x |
	formColumn                   // a column of a table: | Status | Date | above | x | y |
	formSection                  // a section of that name
	formInline                   // after another field on the same line
)

// text returns the value on one line.
func (i metadataField) text() string { return strings.Join(texts(i.lines), " ") }

func (i metadataField) value() Value {
	if len(i.lines) == 0 {
		return Value{}
	}
	return Value{i.text(), i.lines[0].Line}
}

// foldKey maps the spellings of a key to one.
func foldKey(key string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(stripMarkup(key)) {
		if r != ' ' && r != '-' && r != '_' && r != '\t' {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// maxKey is the maximum length of a key in bytes. Longer ones are sentences.
const maxKey = 40

// field parses a line of the form "Key: value", with or without marks and bullet. at is the index of the value.
func field(s string) (key string, at int, ok bool) {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i < len(s) && s[i] == '>' {
		for i++; i < len(s) && s[i] == ' '; i++ {
		}
	}
	if _, n, ok := bullet(s[i:]); ok && strings.IndexByte("-*+", s[i]) >= 0 {
		i += n
	}
	start := i
	for i < len(s) && (s[i] == '*' || s[i] == '_') {
		i++
	}
	mark := s[start:i]
	colon := strings.IndexByte(s[i:], ':')
	if colon < 1 || colon > maxKey+len(mark) {
		return "", 0, false
	}
	key, at = s[i:i+colon], i+colon+1
	if mark != "" {
		if inside, ok := strings.CutSuffix(key, mark); ok {
			key = inside
		} else if strings.HasPrefix(s[at:], mark) {
			at += len(mark)
		} else {
			return "", 0, false
		}
	}
	key = strings.TrimSpace(key)
	if key == "" || at < len(s) && s[at] != ' ' && s[at] != '\t' || strings.ContainsAny(key, "`[]()|#<>*\"") || len(strings.Fields(key)) > 5 {
		return "", 0, false
	}
	for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
		at++
	}
	return key, at, true
}

// marked reports whether a line has a bullet or bold type, which mark a field. Other lines are fields only if their key
// is known.
func marked(s string) bool {
	t := strings.TrimLeft(s, " \t>")
	return t != "" && strings.IndexByte("-*+_", t[0]) >= 0
}

func headerFields(lines []line, from, to int) (items []metadataField, used map[int]bool) {
	used = map[int]bool{}
	var code fence
	for i := from; i < to; i++ {
		if code.step(lines[i].text) {
			continue
		}
		if rows := tableRows(lines, i, to); rows != nil {
			found := tableFields(rows, i)
			items = append(items, found...)
			for k := i; k < i+len(rows) && len(found) > 0; k++ {
				used[k] = true
			}
			i += len(rows) - 1
			continue
		}
		key, at, ok := field(lines[i].text)
		name := foldKey(key)
		if !ok || meaning[name] == "" && !marked(lines[i].text) {
			continue
		}
		it := metadataField{key: key, name: name, form: formLine, at: i, from: at, to: len(strings.TrimRight(lines[i].text, " \t")), until: i + 1}
		it.to = max(it.from, it.to)
		if v := strings.TrimSpace(lines[i].text[at:]); v != "" {
			it.lines = append(it.lines, Value{v, i + 1})
		}
		it.until = continues(lines, i, to, &it)
		for k := i; k < it.until; k++ {
			used[k] = true
		}
		i = it.until - 1
		items = append(items, splitFields(lines[it.at].text, it)...)
	}
	return items, used
}

// inline matches another field on the same line: "**Status:** x | **Date:** y".
var inline = lazyregexp.New(`(?:^|\s)(?:[|·•;,]\s*)?(?:\*\*|__)([A-Za-z][A-Za-z /-]{1,30}?)(?::(?:\*\*|__)|(?:\*\*|__):)\s+`)

// splitFields splits a line with several fields.
func splitFields(text string, it metadataField) []metadataField {
	if it.until > it.at+1 || len(it.lines) != 1 {
		return []metadataField{it}
	}
	out := []metadataField{it}
	for _, m := range inline.FindAllStringSubmatchIndex(text[it.from:it.to], -1) {
		key := text[it.from+m[2] : it.from+m[3]]
		if meaning[foldKey(key)] == "" {
			continue
		}
		last := &out[len(out)-1]
		last.end(text, it.from+m[0])
		next := metadataField{key: key, name: foldKey(key), form: formInline, at: it.at, from: it.from + m[1], until: it.until}
		next.end(text, it.to)
		out = append(out, next)
	}
	return out
}

// end sets the end of a field's value in its line.
func (i *metadataField) end(text string, to int) {
	value := strings.TrimRight(text[i.from:to], " \t|·•;,")
	i.to, i.lines = i.from+len(value), nil
	if value != "" {
		i.lines = []Value{{value, i.at + 1}}
	}
}

// continues adds the continuation lines of a field's value. It returns the index of the first line after them.
func continues(lines []line, i, to int, it *metadataField) int {
	indent, _, inList := bullet(lines[i].text)
	quoted := strings.HasPrefix(strings.TrimSpace(lines[i].text), ">")
	for k := i + 1; k < to; k++ {
		text := lines[k].text
		if quoted {
			rest, ok := strings.CutPrefix(strings.TrimSpace(text), ">")
			if !ok {
				return k
			}
			text = rest
		}
		bare := strings.TrimSpace(text)
		deeper, at, isItem := bullet(text)
		switch {
		case bare == "", strings.HasPrefix(bare, "|"), strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"), atx.MatchString(text):
			return k
		case isItem && inList && deeper <= indent, !isItem && inList && lines[k].indent() <= indent:
			return k
		case isItem && !inList && len(it.lines) > 0, !inList && strings.HasPrefix(bare, ">"):
			return k
		}
		if _, _, ok := field(text); ok && !inList {
			return k
		}
		if strings.Trim(bare, "-=") == "" {
			return k
		}
		if isItem {
			bare = strings.TrimSpace(text[at:])
		}
		it.lines = append(it.lines, Value{bare, k + 1})
	}
	return to
}

// tableFields reads fields from a table that begins on line at, one per row or one per column. Without a known key, it is
// not a table of fields.
func tableFields(rows [][]cell, at int) (items []metadataField) {
	first := rows[0]
	if len(rows) >= 3 && isTableRule(rows[1]) && meaning[foldKey(first[0].text)] != "" && len(first) > 1 && meaning[foldKey(first[1].text)] != "" {
		for c := range min(len(first), len(rows[2])) {
			items = append(items, cellItem(first[c].text, rows[2][c], at+2, formColumn))
		}
		return items
	}
	anyKnown := false
	for r, row := range rows {
		if len(row) != 2 || isTableRule(row) || row[0].text == "" {
			continue
		}
		it := cellItem(row[0].text, row[1], at+r, formRow)
		anyKnown = anyKnown || meaning[it.name] != ""
		items = append(items, it)
	}
	if !anyKnown {
		return nil
	}
	return items
}

func cellItem(key string, c cell, at int, f fieldForm) metadataField {
	it := metadataField{key: stripMarkup(key), name: foldKey(strings.TrimRight(stripMarkup(key), ":")), form: f, at: at, from: c.from, to: c.to, until: at + 1}
	if c.text != "" {
		it.lines = []Value{{c.text, at + 1}}
	}
	return it
}

// maxFront is the maximum length of front matter, in bytes: a hundred times the usual length.
const maxFront = 64 << 10

// frontMatter is the front matter of a document.
type frontMatter struct {
	items          []metadataField
	open           bool // the document has front matter
	end            int  // index of the closing line, or of the first line after the front matter
	next           int  // index of the first line of the text
	problems       []Problem
	readOnlyReason string
}

// readFront reads the front matter at the beginning of a document.
func readFront(lines []line) frontMatter {
	var f frontMatter
	if len(lines) == 0 || strings.TrimRight(lines[0].text, " \t") != "---" {
		return f
	}
	f.open = true
	for f.end = 1; f.end < len(lines); f.end++ {
		if t := strings.TrimRight(lines[f.end].text, " \t"); t == "---" || t == "..." {
			break
		}
	}
	f.next = f.end + 1
	if f.end == len(lines) {
		for f.end = 1; f.end < len(lines) && !lines[f.end].blank() && !atx.MatchString(lines[f.end].text); f.end++ {
		}
		f.next = f.end
		if !slices.ContainsFunc(lines[1:f.end], knownKey) { // a rule at the beginning of a text
			return frontMatter{}
		}
		f.readOnlyReason = "the front matter that starts here has no end"
		f.problems = append(f.problems, Problem{Line: 1, Text: f.readOnlyReason, Try: "Close it with a line of three hyphens."})
	}
	var text strings.Builder
	for _, l := range lines[1:f.end] {
		text.WriteString(l.text)
		text.WriteByte('\n')
	}
	n, faults := plainyaml.Parse(text.String(), maxFront)
	for _, x := range faults {
		f.readOnlyReason = x.Text
		f.problems = append(f.problems, Problem{Line: x.Line + 1, Text: "front matter: " + x.Text, Try: x.Try})
	}
	for _, field := range n.Fields {
		f.items = append(f.items, frontItem(lines, f.end, field))
	}
	return f
}

// knownKey reports whether a line has a known key.
func knownKey(l line) bool {
	key, _, ok := strings.Cut(l.text, ":")
	return ok && meaning[foldKey(key)] != ""
}

// frontItem returns one key of the front matter. A scalar on the line of its key has a position and can be edited;
// other values have none.
func frontItem(lines []line, end int, field plainyaml.Field) metadataField {
	it := metadataField{key: field.Key, name: foldKey(field.Key), form: formFront, list: field.Value.Kind == plainyaml.List, at: field.Line, until: field.Line + 1}
	collect(&it, field.Value)
	for it.until < end && (lines[it.until].blank() || lines[it.until].indent() > 0 || strings.HasPrefix(lines[it.until].text, "- ") || lines[it.until].text == "-") {
		it.until++
	}
	for it.until > it.at+1 && lines[it.until-1].blank() {
		it.until--
	}
	if field.Line < len(lines) {
		it.from, it.to = plainyaml.ValueAt(lines[field.Line].text)
	}
	return it
}

// collect appends the scalars of a value.
func collect(it *metadataField, v plainyaml.Node) {
	switch v.Kind {
	case plainyaml.Scalar:
		if t := strings.TrimSpace(v.Text); t != "" {
			it.lines = append(it.lines, Value{t, v.Line + 1})
		}
	case plainyaml.List:
		for _, i := range v.Items {
			collect(it, i)
		}
	case plainyaml.Map:
		for _, f := range v.Fields {
			sub := metadataField{}
			collect(&sub, f.Value)
			it.lines = append(it.lines, Value{f.Key + ": " + sub.text(), f.Line + 1})
		}
	}
}
