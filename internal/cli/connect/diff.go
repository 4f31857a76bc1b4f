package connect

import (
	"fmt"
	"io"
	"strings"

	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/console/diff"
)

// around is how many unchanged lines are shown before and after a change.
const around = 3

// signs begin the lines of a diff.
var signs = map[diff.Op]string{diff.Same: " ", diff.Gone: "-", diff.New: "+"}

// printDiff prints the change of a file, as a unified diff without line numbers.
func printDiff(w io.Writer, path string, oldText, newText []byte) {
	from, to := path, path
	if oldText == nil {
		from = "no file"
	}
	if newText == nil {
		to = "no file"
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", from, to)
	lines := diff.Lists(splitLines(oldText), splitLines(newText))
	shown := -1 // the last printed line
	for i, l := range lines {
		if l.Op == diff.Same && !near(lines, i) {
			continue
		}
		if i > shown+1 {
			fmt.Fprintln(w, "@@")
		}
		fmt.Fprintf(w, "%s%s\n", signs[l.Op], strings.ReplaceAll(cli.Printable(l.Text), "\n", ""))
		shown = i
	}
}

// near reports whether a line is within around lines of a change.
func near(lines []diff.Piece, i int) bool {
	for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
		if lines[j].Op != diff.Same {
			return true
		}
	}
	return false
}

func splitLines(text []byte) (out []string) {
	for l := range strings.Lines(string(text)) {
		out = append(out, strings.TrimRight(l, "\r\n"))
	}
	return out
}
