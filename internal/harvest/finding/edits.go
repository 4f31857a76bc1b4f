package finding

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/harvest/finding/patch"
)

// change is what a call does to one file.
type change struct {
	path, to string
	op       patch.Op
	old, new string   // the lines that go and come, as far as the call says
	full     bool     // new is all that the file holds now
	context  []string // where in the file, in the words of a patch
}

// changes returns what a call of a writing tool does.
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

// partial are tools whose text goes into a file that holds more.
var partial = map[string]bool{"insert_content": true, "append_file": true, "insert": true, "edit_file": true, "insert_edit_into_file": true, "notebook_edit": true, "edit_notebook": true}

// editList reads a list of edits: of one file, or each naming its own.
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

// patched reads a patch; where names the file of one that names none.
func patched(text, where string) []change {
	var out []change
	for _, f := range patch.Parse(text) {
		c := change{path: cleanPath(f.Path), to: cleanPath(f.To), op: f.Op, old: f.Old, new: f.New, full: f.Op == patch.Add, context: f.Context}
		if c.path == "" {
			c.path = where
		}
		if c.path != "" && len(out) < maxPaths {
			out = append(out, c)
		}
	}
	return out
}
