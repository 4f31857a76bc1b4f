package decision

import (
	"strings"

	"github.com/kenlayer/ken/internal/plainyaml"
)

// maxFront bounds front matter, in bytes: a hundred times what anybody writes.
const maxFront = 64 << 10

// front is the front matter of a document.
type front struct {
	items    []item
	open     bool // there is some
	end      int  // index of the line that closes it, or of the first one behind
	next     int  // index of the first line of the document's text
	problems []Problem
	sealed   string
}

// readFront reads the front matter that a document starts with.
func readFront(lines []line) front {
	var f front
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
		if !fields(lines[1:f.end]) { // a rule at the top of a text
			return front{}
		}
		f.sealed = "the front matter that starts here has no end"
		f.problems = append(f.problems, Problem{Line: 1, Text: f.sealed, Try: "Close it with a line of three hyphens."})
	}
	var text strings.Builder
	for _, l := range lines[1:f.end] {
		text.WriteString(l.text)
		text.WriteByte('\n')
	}
	n, faults := plainyaml.Parse(text.String(), maxFront)
	for _, x := range faults {
		f.sealed = x.Text
		f.problems = append(f.problems, Problem{Line: x.Line + 1, Text: "front matter: " + x.Text, Try: x.Try})
	}
	for _, field := range n.Fields {
		f.items = append(f.items, frontItem(lines, f.end, field))
	}
	return f
}

// fields reports whether lines look like settings.
func fields(lines []line) bool {
	for _, l := range lines {
		if key, _, ok := strings.Cut(l.text, ":"); ok && meaning[foldKey(key)] != "" {
			return true
		}
	}
	return false
}

// frontItem is one key of the front matter. Where its value is a single one on the line
// of its key, that is where it can be edited; else it has no place.
func frontItem(lines []line, end int, field plainyaml.Field) item {
	it := item{key: field.Key, name: foldKey(field.Key), form: formFront, list: field.Value.Kind == plainyaml.List, at: field.Line, until: field.Line + 1}
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

// collect flattens a value.
func collect(it *item, v plainyaml.Node) {
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
			sub := item{}
			collect(&sub, f.Value)
			it.lines = append(it.lines, Value{f.Key + ": " + sub.text(), f.Line + 1})
		}
	}
}
