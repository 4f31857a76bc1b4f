package decision

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/projectfile"
)

// document is a record with where its parts stand in the file.
type document struct {
	Record
	src      []byte
	lines    []line
	front    front
	fields   []item // those of the front matter and the head, in their order
	heads    []heading
	problems []Problem
	sealed   string // why the file must not be edited; empty when it may
}

// Parse reads the Markdown of a decision record in any of the forms that the package's
// comment names. path is where it lies, from the root, with slashes. What can't be read is
// a Problem; the rest is in the record all the same. Parse is a pure function, safe for
// concurrent use, and panics on no content.
func Parse(path string, src []byte) (Record, []Problem) {
	d := parse(path, src)
	return d.Record, d.problems
}

func (d *document) problem(line int, text, try string) {
	d.problems = append(d.problems, Problem{Path: d.Path, Line: line, Text: text, Try: try})
}

func parse(path string, src []byte) *document {
	d := &document{Record: Record{Path: path, Hash: projectfile.Hash(src), Archived: archived(path)}, src: src}
	lines, problems, sealed := split(src)
	d.front = readFront(lines)
	d.lines = withoutComments(lines)
	d.sealed = sealed
	if d.sealed == "" {
		d.sealed = d.front.sealed
	}
	for _, p := range append(problems, d.front.problems...) {
		d.problem(p.Line, p.Text, p.Try)
	}
	d.heads = headings(d.lines, d.front.next)
	top := d.top()
	classify(d.heads, top)
	headFrom, headTo := d.front.next, len(d.lines)
	for i := range d.heads {
		if top == nil || &d.heads[i] != top {
			headTo = d.heads[i].at
			break
		}
	}
	items, used := head(d.lines, headFrom, headTo)
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

// top is the heading that is the document's title: the first one, unless it is that of a
// section, and no other is of its level.
func (d *document) top() *heading {
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

// archived reports whether a file lies in a folder named archive.
func archived(p string) bool {
	return slices.Contains(strings.Split(folderOf(p), "/"), archiveFolder)
}

const archiveFolder = "archive"

// preamble is what stands between the title and the first section, but for fields.
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

// sections sets Sections and what is read from them.
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
		d.Sections = append(d.Sections, Section{Title: bare(h.title), Kind: h.kind, Level: h.level, Line: h.at + 1, End: d.lastLine(h.next, h.end), Text: d.said(h.next, next)})
	}
	d.Context = d.gather(KindContext)
	d.Decision = d.gather(KindDecision)
	d.Consequences = d.gather(KindConsequences)
	d.Confirmation = d.gather(KindConfirmation)
	d.More = d.gather(KindMore)
	d.sectionFields()
	for _, i := range d.ofKind(KindDrivers) {
		d.Drivers = append(d.Drivers, d.list(i)...)
	}
	d.Options = d.options()
}
