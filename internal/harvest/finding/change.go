package finding

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/finding/patch"
)

// edited records what a session did to one file.
type edited struct {
	calls   int
	symbols []string
	lines   []line // the last changed lines
	last    change
}

// line is a removed line and the one that replaced it.
type line struct{ removed, added string }

const (
	maxSymbols = 6
	maxLines   = 2
)

// add records one more change. before is the file's text as it was last read, as far as
// it is known.
func (e *edited) add(c change, before string) {
	e.calls++
	e.last = c
	if c.full {
		e.symbols, e.lines = nil, nil
		return
	}
	e.differs(difference(c.old, c.new))
	if s := enclosing(before, c.old); s != "" {
		e.symbol(s)
	}
	old := analysis.Definitions(c.old)
	for _, s := range append(analysis.Definitions(c.new), old...) {
		e.symbol(s)
	}
	for _, at := range c.context {
		for _, s := range analysis.Definitions(at) {
			e.symbol(s)
		}
	}
}

// differs records a line, unless it reverts the one before.
func (e *edited) differs(l line) {
	if l == (line{}) {
		return
	}
	if n := len(e.lines); n > 0 && e.lines[n-1] == (line{l.added, l.removed}) {
		e.lines = e.lines[:n-1]
		return
	}
	if e.lines = append(e.lines, l); len(e.lines) > maxLines {
		e.lines = e.lines[1:]
	}
}

// enclosing returns the definition that contains a passage of a file: the last one before
// it.
func enclosing(text, passage string) string {
	passage = strings.TrimRight(passage, "\n")
	i := strings.Index(text, passage)
	if passage == "" || i < 0 {
		return ""
	}
	for before := text[:i]; before != ""; {
		cut := strings.LastIndexByte(strings.TrimRight(before, "\n"), '\n')
		if defs := analysis.Definitions(before[cut+1:]); len(defs) > 0 {
			return defs[0]
		}
		before = before[:cut+1]
	}
	return ""
}

func (e *edited) symbol(s string) {
	if len(e.symbols) < maxSymbols && !slices.Contains(e.symbols, s) {
		e.symbols = append(e.symbols, s)
	}
}

// text describes what was done to the file, "" if there is nothing to say.
func (e *edited) text(name string) string {
	c := e.last
	switch {
	case c.op == patch.Delete:
		return name + " was deleted"
	case c.to != "" && c.old == "" && c.new == "":
		return name + " was moved to " + c.to
	case c.full:
		what := describe(name, c.new)
		if what == "" {
			n := strings.Count(strings.TrimSpace(c.new), "\n") + 1
			what = strconv.Itoa(n) + " lines"
		}
		return name + " was written: " + what
	}
	var parts []string
	if len(e.symbols) > 0 {
		parts = append(parts, "changed "+strings.Join(e.symbols, ", "))
	}
	for _, l := range e.lines {
		parts = append(parts, l.text())
	}
	if c.to != "" {
		parts = append(parts, "moved to "+c.to)
	}
	if len(parts) == 0 {
		return ""
	}
	times := ""
	if e.calls > 1 {
		times = " (" + strconv.Itoa(e.calls) + " edits)"
	}
	return name + times + ": " + strings.Join(parts, "; ")
}

// difference returns the first removed line and the first added line.
func difference(old, next string) line {
	a, b := lines(old), lines(next)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return line{firstOwnLine(a, b), firstOwnLine(b, a)}
}

func (l line) text() string {
	switch {
	case l.removed == "":
		return "added `" + l.added + "`"
	case l.added == "":
		return "removed `" + l.removed + "`"
	}
	return "`" + l.removed + "` became `" + l.added + "`"
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = oneLine(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// firstOwnLine returns the first line of a that b lacks and that has content.
func firstOwnLine(a, b []string) string {
	for _, l := range a {
		if len(strings.Trim(l, "{}()[];,<>/*#-= ")) >= 4 && !slices.Contains(b, l) {
			return strings.ReplaceAll(clip(l, 100), "`", "'")
		}
	}
	return ""
}

// change is what a call does to one file.
type change struct {
	path, to string
	op       patch.Op
	old, new string   // the removed and the added lines, as far as the call says
	full     bool     // new is the whole content of the file
	context  []string // places in the file, as a patch names them
}

// changes returns the changes that a call of a writing tool makes.
func (a arguments) changes(t Tool) []change {
	if a.values == nil { // the text of a patch instead of JSON
		return patched(a.raw, "")
	}
	where := ""
	if p := a.paths(t); len(p) > 0 {
		where = p[0]
	}
	if text, ok := a.text(patchTexts); ok {
		if cs := patched(text, where); cs != nil {
			return cs
		}
	}
	if list, ok := a.first(editLists); ok && list.IsArray() {
		return editList(list, where)
	}
	if where == "" {
		return nil
	}
	c := change{path: where, op: patch.Update}
	c.old, _ = a.text(oldTexts)
	next, ok := a.text(newTexts)
	if !ok {
		if next, ok = a.text(fullTexts); ok {
			if cs := patched(next, where); cs != nil { // blocks to search and replace
				return cs
			}
			c.full = c.old == "" && !partial[t.Name] && !strings.Contains(next, "... existing code ...")
		}
	}
	c.new = next
	if !ok && c.old == "" {
		return nil
	}
	return []change{c}
}

// partial holds tools whose text is only a part of the file.
var partial = map[string]bool{"insert_content": true, "append_file": true, "insert": true, "edit_file": true, "insert_edit_into_file": true, "notebook_edit": true, "edit_notebook": true}

// editList parses a list of edits, of one file or with a file each.
func editList(list gjson.Result, where string) []change {
	var out []change
	at := map[string]int{}
	list.ForEach(func(_, e gjson.Result) bool {
		a := readArguments(e.Raw)
		name := where
		if p := a.paths(Tool{Role: Write}); len(p) > 0 {
			name = p[0]
		}
		if name == "" || a.values == nil {
			return true
		}
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, change{path: name, op: patch.Update})
		}
		old, _ := a.text(oldTexts)
		next, _ := a.text(newTexts)
		out[i].old = joinLines(out[i].old, old)
		out[i].new = joinLines(out[i].new, next)
		return len(out) < maxPaths
	})
	return out
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return strings.TrimSuffix(a, "\n") + "\n" + b
}

// patched parses a patch. where is the file of a patch that names none.
func patched(text, where string) []change {
	var out []change
	for _, f := range patch.Parse(text) {
		c := change{path: cleanPath(f.Path), to: cleanPath(f.To), op: f.Op, old: f.Old, new: f.New, full: f.Op == patch.Add, context: f.Context}
		c.path = cmp.Or(c.path, where)
		if c.path != "" && len(out) < maxPaths {
			out = append(out, c)
		}
	}
	return out
}

// Touched returns the files and folders below root that the tool calls in messages write,
// move or delete. Paths are relative to root with slashes, each once and in their order.
// A call counts if it has a result, even one that reports an error, and if fresh returns
// true for it; a nil fresh accepts all. Paths outside of root and files that usually hold
// secrets are left out. No file is read.
func Touched(root string, messages []ken.Message, t Tools, fresh func(call *ken.ToolCall, result *ken.Message) bool) (out []string) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil
	}
	roots := []string{filepath.ToSlash(abs)}
	open := map[string]*ken.ToolCall{}
	for i := range messages {
		m := &messages[i]
		for k := range m.ToolCalls {
			open[callKey(m.ToolCalls[k].ID, m.ToolCalls[k].Name)] = &m.ToolCalls[k]
		}
		if m.Role != "tool" && m.Role != "function" {
			continue
		}
		key := callKey(m.ToolCallID, m.Name)
		c := open[key]
		delete(open, key)
		if c == nil || fresh != nil && !fresh(c, m) {
			continue
		}
		for _, p := range touches(c, t) {
			if len(roots) == 1 && isAbsolute(p) { // perhaps relative to root without symbolic links
				if resolved, err := filepath.EvalSymlinks(abs); err == nil && resolved != abs {
					roots = append(roots, filepath.ToSlash(resolved))
				}
			}
			if rel, ok := below(p, roots); ok && !isSensitive(rel) && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// touches returns the paths that a call writes, moves or deletes, as the call names them.
func touches(c *ken.ToolCall, t Tools) []string {
	tool, ok := t.Lookup(c.Name)
	if !ok || tool.Role != Write && tool.Role != Delete && tool.Role != Move && tool.Role != Run {
		return nil
	}
	if s := subjectOf(tool, c.Arguments); s.role == Write || s.role == Delete || s.role == Move {
		return s.paths
	}
	return nil
}
