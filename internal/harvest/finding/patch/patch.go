package patch

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Op is the operation on a file.
type Op string

// Operations.
const (
	Update Op = "update"
	Add    Op = "add"
	Delete Op = "delete"
)

// File is what a patch does to one file.
type File struct {
	Path    string // "" in search-and-replace blocks, which do not name their file
	To      string // new path of a moved file; "" if it is not moved
	Op      Op
	Old     string   // the removed lines, each with its line end
	New     string   // the added lines
	Context []string // what hunk headers say about their place, such as the head of a function
}

// Parse returns the files of a patch in order, nil for a text that is not a patch.
// Lines that belong to no hunk are skipped, so a truncated patch gives the part
// that is there.
func Parse(text string) []File {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	switch {
	case strings.Contains(text, "*** Begin Patch"), envelope.MatchString(text):
		return parseEnvelope(text)
	case blockStart.MatchString(text):
		return parseBlocks(text)
	case unified.MatchString(text):
		return parseUnified(text)
	}
	return nil
}

var (
	envelope   = lazyregexp.New(`(?m)^\*\*\* (?:Add|Update|Delete) File: `)
	blockStart = lazyregexp.New(`(?m)^(?:<{5,9}|-{5,9}) ?SEARCH>?\s*$`)
	unified    = lazyregexp.New(`(?m)^(?:\+\+\+ \S|@@ -\d+(?:,\d+)? \+\d+)`)
)

// context records the text of a hunk header.
func (f *File) context(at string) {
	if at = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(at), "@@")); at != "" {
		f.Context = append(f.Context, at)
	}
}

// line adds a line of a hunk.
func (f *File) line(line string) {
	switch {
	case strings.HasPrefix(line, "+"):
		f.New += line[1:] + "\n"
	case strings.HasPrefix(line, "-"):
		f.Old += line[1:] + "\n"
	}
}

var (
	blockMid = lazyregexp.New(`^={5,9}$`)
	blockEnd = lazyregexp.New(`^(?:>{5,9}|\+{5,9}) ?REPLACE>?\s*$`)
)

// parseBlocks parses search-and-replace blocks. They name no file, so all
// belong to one.
func parseBlocks(text string) []File {
	f := File{Op: Update}
	const outside, searching, replacing = 0, 1, 2
	state := outside
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case blockStart.MatchString(line) && state == outside:
			state = searching
		case blockMid.MatchString(line) && state == searching:
			state = replacing
		case blockEnd.MatchString(line):
			state = outside
		case state == searching && !strings.HasPrefix(line, ":start_line:") && !strings.HasPrefix(line, ":end_line:") && line != "-------":
			f.Old += line + "\n"
		case state == replacing:
			f.New += line + "\n"
		}
	}
	return []File{f}
}

// parseEnvelope parses the format of apply_patch.
func parseEnvelope(text string) []File {
	var out []File
	var f *File
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if head, ok := strings.CutPrefix(line, "*** "); ok {
			what, name, _ := strings.Cut(head, ": ")
			name = strings.TrimSpace(name)
			op, opens := map[string]Op{"Add File": Add, "Update File": Update, "Delete File": Delete}[what]
			switch {
			case opens && name != "":
				out = append(out, File{Path: name, Op: op})
				f = &out[len(out)-1]
			case what == "Move to" && f != nil:
				f.To = name
			case what == "End Patch":
				f = nil
			}
			continue
		}
		if f == nil {
			continue
		}
		if at, ok := strings.CutPrefix(line, "@@"); ok {
			f.context(at)
			continue
		}
		f.line(line)
	}
	return out
}

var hunk = lazyregexp.New(`^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$`)

// parseUnified parses a unified diff, with or without git's extra lines.
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

// named returns the file name in a header line, "" for no file.
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
