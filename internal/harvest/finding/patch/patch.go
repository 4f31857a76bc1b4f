package patch

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Op is what happens to a file.
type Op string

// Operations.
const (
	Update Op = "update"
	Add    Op = "add"
	Delete Op = "delete"
)

// File is what a patch does to one file.
type File struct {
	Path    string // "" in blocks, whose file is named elsewhere
	To      string // where the file is moved to; "" when it stays
	Op      Op
	Old     string   // the lines that go, each with its line end
	New     string   // the lines that come
	Context []string // what hunks say of their place, such as the head of a function
}

// Parse returns the files of a patch in order, nil for a text that is no patch.
// Lines that belong to nothing are skipped, so a patch that was cut short gives
// what is left of it.
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

// context takes in what a hunk says of its place.
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
