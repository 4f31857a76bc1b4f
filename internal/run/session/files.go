package session

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// fileFields are names of arguments that hold a file, as the tools of well-known
// agents and of file servers have them, lower case without separators.
var fileFields = []string{"filepath", "filename", "targetfile", "notebookpath", "absolutepath", "relativeworkspacepath"}

// pathFields hold a file or a folder, or lists of them.
var pathFields = []string{"path", "file", "files", "paths", "filepaths", "relativepath", "source", "destination", "uri"}

// filesOf are the files that an entry is about, by its calls and its annotation.
func filesOf(e *Entry) []string {
	var out []string
	for i := range e.Message.ToolCalls {
		if v, ok := decode(e.Message.ToolCalls[i].Arguments); ok {
			out = collectFiles(out, "", v)
		}
	}
	return append(out, slices.Sorted(maps.Keys(e.Files))...)
}

// collectFiles appends the files in a JSON value that stands under a field.
func collectFiles(out []string, field string, v any) []string {
	switch v := v.(type) {
	case string:
		if p, ok := fileIn(field, v); ok {
			out = append(out, p)
		}
	case []any:
		for _, e := range v {
			out = collectFiles(out, field, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = collectFiles(out, k, v[k])
		}
	}
	return out
}

// fileIn reads the value of a field as a file. Of a field that may hold a folder,
// only what looks like a file counts.
func fileIn(field, value string) (string, bool) {
	field = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(field))
	value = strings.TrimPrefix(strings.TrimSpace(value), "file://")
	sure := slices.Contains(fileFields, field)
	if !sure && !slices.Contains(pathFields, field) || value == "" || len(value) > maxPoint || strings.ContainsAny(value, "\n*?{}<>|\"") ||
		strings.Contains(value, "://") || strings.HasSuffix(value, "/") {
		return "", false
	}
	value = path.Clean(strings.ReplaceAll(value, "\\", "/"))
	base := path.Base(value)
	named := strings.LastIndexByte(base, '.') > 0 || strings.HasPrefix(base, ".") && len(base) > 2 ||
		slices.Contains([]string{"Makefile", "Dockerfile", "LICENSE", "Gemfile", "Rakefile", "Procfile", "Jenkinsfile"}, base)
	return value, base != "." && base != "/" && base != ".." && (sure || named)
}

// mainFields hold what a call is about, the most telling first.
var mainFields = []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"}

// describe says what a call does, such as "bash: go test ./...".
func describe(c *ken.ToolCall) string {
	v, ok := decode(c.Arguments)
	if args, is := v.(map[string]any); ok && is {
		for _, f := range slices.Concat(mainFields, slices.Sorted(maps.Keys(args))) {
			if s, is := args[f].(string); is && strings.TrimSpace(s) != "" {
				return c.Name + ": " + s
			}
		}
	}
	return c.Name
}
