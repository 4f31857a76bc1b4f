package finding

import (
	"path/filepath"
	"slices"

	"github.com/kenlayer/ken"
)

// Touched returns the files and folders below root that the tool calls in messages were
// to write, move or delete, by path from root with slashes, each once and in their order.
// A call counts when it came back, whatever it says of itself, and when fresh says so; a
// nil fresh always does. Paths that lead out of the folder are left out, however they are
// written, and so are files that are there to hold secrets. No file is read.
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
			if len(roots) == 1 && absolute(p) { // perhaps by the name that root has without links
				if resolved, err := filepath.EvalSymlinks(abs); err == nil && resolved != abs {
					roots = append(roots, filepath.ToSlash(resolved))
				}
			}
			if rel, ok := below(p, roots); ok && !sensitive(rel) && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// touches lists what a call is to change, as it names it.
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
