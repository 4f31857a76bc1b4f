package patch

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var hunk = lazyregexp.New(`^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$`)

// parseUnified reads a unified diff, with or without git's lines.
func parseUnified(text string) []File {
	var out []File
	from, in := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(out) - 1
		switch {
		case strings.HasPrefix(line, "diff --git "):
			in = false
		case strings.HasPrefix(line, "--- ") && !in, strings.HasPrefix(line, "--- a/"), line == "--- /dev/null":
			from, in = named(line[4:]), false
		case strings.HasPrefix(line, "+++ ") && !in:
			out = append(out, between(from, named(line[4:])))
			from = ""
		case strings.HasPrefix(line, "rename to ") && last >= 0 && !in:
			out[last].To = strings.TrimSpace(line[len("rename to "):])
		case hunk.MatchString(line):
			if last < 0 {
				out = append(out, File{Op: Update})
				last = 0
			}
			in = true
			out[last].context(hunk.FindStringSubmatch(line)[1])
		case in && last >= 0:
			out[last].line(line)
		}
	}
	return out
}

// named reads the file's name of a header line, "" for no file.
func named(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = strings.TrimSpace(s)
	if s == "/dev/null" {
		return ""
	}
	if rest, ok := strings.CutPrefix(s, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(s, "b/")
}

func between(from, to string) File {
	switch {
	case from == "" && to != "":
		return File{Path: to, Op: Add}
	case to == "":
		return File{Path: from, Op: Delete}
	case from != to:
		return File{Path: from, To: to, Op: Update}
	}
	return File{Path: to, Op: Update}
}
