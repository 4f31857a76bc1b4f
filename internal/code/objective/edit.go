package objective

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// fileLines is a file as a list of lines, which include their ends.
type fileLines struct {
	lines []string
	eol   string
}

func splitLines(src []byte) *fileLines {
	s := &fileLines{lines: slices.Collect(strings.Lines(string(src))), eol: "\n"}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		s.eol = "\r\n"
	}
	return s
}

func (s *fileLines) bytes() []byte { return []byte(strings.Join(s.lines, "")) }

// content returns a line without its end.
func (s *fileLines) content(i int) string { return strings.TrimRight(s.lines[i], "\r\n") }

// replace replaces lines[from:to] by the lines of a text.
func (s *fileLines) replace(from, to int, text string) {
	var now []string
	for l := range strings.Lines(text) {
		now = append(now, strings.TrimRight(l, "\n")+s.eol)
	}
	if from > 0 && len(now) > 0 && !strings.HasSuffix(s.lines[from-1], "\n") {
		s.lines[from-1] += s.eol
	}
	s.lines = slices.Replace(s.lines, from, to, now...)
}

// extent returns the lines of a field, from its key to the next field, without trailing comments and empty lines.
func (d *document) extent(s *fileLines, i int) (from, to int) {
	from, to = min(d.fields[i].Line-1, len(s.lines)), len(s.lines)
	if i+1 < len(d.fields) {
		to = min(d.fields[i+1].Line-1, to)
	}
	return from, s.trim(min(from+1, to), to)
}

// trim moves the end of a range before trailing empty lines, comments and document marks.
func (s *fileLines) trim(from, to int) int {
	for to > from {
		t := strings.TrimSpace(s.content(to - 1))
		if t != "" && t[0] != '#' && t != "---" && t != "..." {
			break
		}
		to--
	}
	return to
}

// at returns the index of the first field with a meaning; -1 for none.
func (d *document) at(meaning string) int {
	return slices.IndexFunc(d.fields, func(f plainyaml.Field) bool { return keyMeanings[foldKey(f.Key)] == meaning })
}

// edited returns the file with the fields in what set as in want. It parses the result to check it.
func (d *document) edited(want *Objective, what ...string) ([]byte, error) {
	if err := d.editable(); err != nil {
		return nil, err
	}
	try := "Write each key at the start of its line, as in \"status: active\"."
	for _, careful := range []bool{true, false} {
		now := d.src
		for _, k := range what {
			now = parse(d.Path, now).withKey(want, k, careful)
		}
		after := parse(d.Path, now)
		if len(after.problems) == 0 && same(&after.Objective, want) {
			if keepsUnknownFields(d, after) {
				return now, nil
			}
			try = "Change the file by hand: it has keys of its own, which would be lost."
		}
	}
	return nil, &ken.Error{Code: ken.CodeRefused, Field: d.Path, Msg: "can't be edited without changing other content; it was not changed", Try: try}
}

func (d *document) editable() error {
	if len(d.problems) == 0 {
		return nil
	}
	p := d.problems[0]
	return &ken.Error{Code: ken.CodeRefused, Field: position(p.Path, p.Line), Msg: p.Text + "; the file was left alone", Try: p.Try}
}

// same reports whether two objectives are equal apart from their path, hash and lines. An empty list equals none.
func same(a, b *Objective) bool {
	x, y := *a, *b
	for _, o := range []*Objective{&x, &y} {
		o.Path, o.Hash = "", ""
		for _, l := range []*[]string{&o.Tags, &o.Decisions, &o.Sessions} {
			*l = append([]string(nil), *l...)
		}
		o.Tasks = append([]Task(nil), o.Tasks...)
		for i := range o.Tasks {
			o.Tasks[i].Line = 0
		}
	}
	return reflect.DeepEqual(x, y)
}

// keepsUnknownFields reports whether b still has all fields of a that have no meaning here, including those of tasks.
func keepsUnknownFields(a, b *document) bool {
	rest := func(d *document) (out []string) {
		for _, f := range d.fields {
			switch keyMeanings[foldKey(f.Key)] {
			case "":
				out = append(out, f.Key, flatText(f.Value))
			case "tasks", "completed", "remaining":
				for _, i := range f.Value.Items {
					for _, own := range i.Fields {
						if taskKeys[foldKey(own.Key)] == "" {
							out = append(out, own.Key, flatText(own.Value))
						}
					}
				}
			}
		}
		return out
	}
	return slices.Equal(rest(a), rest(b))
}

func flatText(n plainyaml.Node) string {
	s := n.Text
	for _, i := range n.Items {
		s += "\x00" + flatText(i)
	}
	for _, f := range n.Fields {
		s += "\x01" + f.Key + "\x02" + flatText(f.Value)
	}
	return s
}

// withKey returns the file with the key k as in want. With careful, it changes only parts of a value if possible;
// otherwise it writes the lines of the key anew.
func (d *document) withKey(want *Objective, k string, careful bool) []byte {
	s := splitLines(d.src)
	if k == "tasks" && careful && d.editTasks(s, want) {
		return s.bytes()
	}
	if k == "links" {
		return d.withLinks(s, want)
	}
	i := d.at(k)
	if k == "tasks" {
		i = d.mergeTaskLists(s)
	}
	now := keyLines(want, k)
	if i < 0 {
		if now != "" {
			s.replace(d.placeFor(s, k), d.placeFor(s, k), now)
		}
		return s.bytes()
	}
	from, to := d.extent(s, i)
	if v := d.fields[i].Value; careful && now != "" && to == from+1 && v.Kind != plainyaml.Map && !v.Block && strings.Count(now, "\n") == 1 {
		old := s.content(from)
		a, b := plainyaml.ValueAt(old)
		na, nb := plainyaml.ValueAt(strings.TrimRight(now, "\n"))
		if v.Kind == plainyaml.List {
			if end := strings.LastIndexByte(old, ']'); end >= a { // a comment may follow
				old = old[:end+1]
			}
			b = max(a, len(strings.TrimRight(old, " \t")))
		}
		value := now[na:nb]
		if strings.HasPrefix(value, "[") || k == "tags" {
			value = strings.TrimRight(now[na:], "\n")
		}
		s.splice(from, a, b, value)
		return s.bytes()
	}
	s.replace(from, to, now)
	return s.bytes()
}

// placeFor returns the line before which a new key is inserted: after the nearest key that precedes it in the usual
// order, else at the end.
func (d *document) placeFor(s *fileLines, k string) int {
	for i := slices.Index(order, k) - 1; i >= 0; i-- {
		if at := d.at(order[i]); at >= 0 {
			_, to := d.extent(s, at)
			return to
		}
	}
	return s.trim(0, len(s.lines))
}

// withLinks writes both lists of links under one key.
func (d *document) withLinks(s *fileLines, want *Objective) []byte {
	first := -1
	for i := len(d.fields) - 1; i >= 0; i-- {
		switch keyMeanings[foldKey(d.fields[i].Key)] {
		case "links":
			for _, f := range d.fields[i].Value.Fields {
				if m := keyMeanings[foldKey(f.Key)]; m != "decisions" && m != "sessions" {
					return d.src // links of another kind would be lost
				}
			}
		case "decisions", "sessions":
		default:
			continue
		}
		from, to := d.extent(s, i)
		s.replace(from, to, "")
		first = from
	}
	if first < 0 {
		first = d.placeFor(s, "links")
	}
	s.replace(first, first, keyLines(want, "links"))
	return s.bytes()
}

// mergeTaskLists removes all lists of tasks except the first one, and returns its index.
func (d *document) mergeTaskLists(s *fileLines) int {
	first := -1
	for i := len(d.fields) - 1; i >= 0; i-- {
		switch keyMeanings[foldKey(d.fields[i].Key)] {
		case "tasks", "completed", "remaining":
			if first >= 0 {
				from, to := d.extent(s, first)
				s.replace(from, to, "")
			}
			first = i
		}
	}
	return first
}

func position(path string, line int) string {
	if line > 0 {
		return path + ":" + strconv.Itoa(line)
	}
	return path
}
