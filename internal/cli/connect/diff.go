package connect

import (
	"fmt"
	"io"
	"strings"

	"github.com/kenlayer/ken/internal/cli"
)

// around is how many unchanged lines are shown before and after a change.
const around = 3

// maxTable limits the work of a diff, in pairs of lines.
const maxTable = 4 << 20

type line struct {
	op   byte
	text string
}

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
	lines := diff(splitLines(oldText), splitLines(newText))
	shown := -1 // the last printed line
	for i, l := range lines {
		if l.op == ' ' && !near(lines, i) {
			continue
		}
		if i > shown+1 {
			fmt.Fprintln(w, "@@")
		}
		fmt.Fprintf(w, "%c%s\n", l.op, strings.ReplaceAll(cli.Printable(l.text), "\n", ""))
		shown = i
	}
}

// near reports whether a line is within around lines of a change.
func near(lines []line, i int) bool {
	for j := max(0, i-around); j <= min(len(lines)-1, i+around); j++ {
		if lines[j].op != ' ' {
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

// diff compares two texts by their longest common subsequence, after it has removed the
// common beginning and end.
func diff(a, b []string) (out []line) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, line{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	var tail []line
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]line{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(out, middle(a, b)...), tail...)
}

func middle(a, b []string) (out []line) {
	length := make([][]int, len(a)+1) // length[i][j] is the length of the common subsequence of a[i:] and b[j:]
	if len(a)*len(b) <= maxTable {
		for i := range length {
			length[i] = make([]int, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
					length[i][j] = length[i+1][j+1] + 1
				}
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, line{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || length[i] == nil || length[i+1][j] >= length[i][j+1]):
			out = append(out, line{'-', a[i]})
			i++
		default:
			out = append(out, line{'+', b[j]})
			j++
		}
	}
	return out
}
