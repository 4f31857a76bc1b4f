package objective

import (
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/plainyaml"
)

// editTasks updates the tasks by changing existing items and adding items after them. It returns false if that is not
// possible: a task was removed, or the tasks are written in brackets or as two lists.
func (d *document) editTasks(s *fileLines, want *Objective) bool {
	i := d.at("tasks")
	if i < 0 || d.at("completed") >= 0 || d.at("remaining") >= 0 || len(want.Tasks) < len(d.Tasks) || len(d.Tasks) == 0 {
		return false
	}
	list := d.fields[i].Value
	if list.Kind != plainyaml.List || list.Flow || len(list.Items) != len(d.Tasks) {
		return false
	}
	_, end := d.extent(s, i)
	dash := s.dashOf(list.Items[0])
	if dash < 0 {
		return false
	}
	var added strings.Builder
	for _, t := range want.Tasks[len(d.Tasks):] {
		added.WriteString(item(t, strings.Repeat(" ", dash)))
	}
	s.replace(end, end, added.String())
	for k := len(d.Tasks) - 1; k >= 0; k-- { // from the end, so that the lines above keep their numbers
		was, now := d.Tasks[k], want.Tasks[k]
		was.Line, now.Line = 0, 0
		if was == now {
			continue
		}
		to := end
		if k+1 < len(list.Items) {
			to = s.start(list.Items[k+1])
		}
		if was.Text != now.Text || was.Done || !s.finish(list.Items[k], to, now) {
			return false
		}
	}
	return true
}

// start returns the line with an item's dash.
func (s *fileLines) start(n plainyaml.Node) int {
	i := n.Line - 1
	if i < len(s.lines) && i > 0 && !strings.HasPrefix(strings.TrimLeft(s.content(i), " "), "-") {
		return i - 1 // the dash is on a line of its own
	}
	return i
}

// dashOf returns the column of an item's dash; -1 if there is no dash.
func (s *fileLines) dashOf(n plainyaml.Node) int {
	i := s.start(n)
	if i < 0 || i >= len(s.lines) {
		return -1
	}
	l := s.content(i)
	at := len(l) - len(strings.TrimLeft(l, " "))
	if !strings.HasPrefix(l[at:], "- ") && l[at:] != "-" {
		return -1
	}
	return at
}

// finish changes an item, which ends before line to, to a done task.
func (s *fileLines) finish(n plainyaml.Node, to int, t Task) bool {
	dash := s.dashOf(n)
	first := s.start(n)
	to = s.trim(first+1, to)
	if dash < 0 || first != n.Line-1 {
		return false
	}
	l := s.content(first)
	at := dash + 1
	for at < len(l) && l[at] == ' ' {
		at++
	}
	indent := strings.Repeat(" ", at)
	switch {
	case n.Kind == plainyaml.Scalar && !n.Block && to == first+1:
		a, b := plainyaml.ScalarAt(l, at)
		value := l[a:b]
		if checkbox.MatchString(oneLine(n.Text)) {
			value = plainyaml.Quote(t.Text)
		}
		s.splice(first, a, b, "text: "+value)
		s.add(to, indent, doneLines(t))
		return true
	case n.Kind == plainyaml.Map && !n.Flow:
		says := doneLines(t)
		for _, f := range n.Fields {
			name := taskKeys[foldKey(f.Key)]
			j := slices.IndexFunc(says, func(l string) bool { return name != "" && strings.HasPrefix(l, name+": ") })
			if j < 0 || f.Line > len(s.lines) {
				continue
			}
			value := says[j][len(name)+2:]
			if foldKey(f.Key) == "status" {
				value = "done"
			}
			says = slices.Delete(says, j, j+1)
			column := 0
			if f.Line-1 == first {
				column = at
			}
			from, to := plainyaml.ValueAt(s.content(f.Line - 1)[column:])
			s.splice(f.Line-1, from+column, to+column, value)
		}
		s.add(to, indent, says)
		return true
	}
	return false
}

// taskKeys maps keys of a task to the field that they set.
var taskKeys = map[string]string{"text": "text", "title": "text", "task": "text", "name": "text", "description": "text",
	"done": "done", "completed": "done", "status": "done", "doneat": "done_at", "completedat": "done_at",
	"by": "by", "doneby": "by", "completedby": "by", "claim": "claim", "claimid": "claim"}

// splice replaces bytes of a line by a value, with a space between the value and a colon before it.
func (s *fileLines) splice(i, from, to int, value string) {
	old := s.content(i)
	if from > 0 && old[from-1] == ':' {
		value = " " + value
	}
	s.lines[i] = old[:from] + value + old[to:] + s.lines[i][len(old):]
}

func (s *fileLines) add(at int, indent string, lines []string) {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(indent + l + "\n")
	}
	s.replace(at, at, b.String())
}
