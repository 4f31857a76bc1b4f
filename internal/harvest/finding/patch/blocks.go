package patch

import (
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	blockMid = lazyregexp.New(`^={5,9}$`)
	blockEnd = lazyregexp.New(`^(?:>{5,9}|\+{5,9}) ?REPLACE>?\s*$`)
)

// parseBlocks reads blocks of what to search and what to put in its place. They
// name no file, so it is one.
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
