package console

import (
	"strings"

	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/projectfile"
)

// What is shown of a declaration at most: places, lines of each, and code points of a
// line. A file beyond the size is not read.
const (
	mostPlaces     = 3
	mostLines      = 60
	widestLine     = 400
	mostSourceFile = 2 << 20 // bytes
)

// excerpt is where something is declared, with the lines that do it.
type excerpt struct {
	codegraph.Place
	Lines []sourceLine
	More  int    // lines that are not shown
	Why   string // there are none
}

type sourceLine struct {
	N    int // from 1
	Text string
}

// excerpts reads declarations from their files, as far as these are what the graph
// knows: lines of another state of a file would show something else.
func (v *visit) excerpts(view *codegraph.View, places []codegraph.Place) []excerpt {
	out := make([]excerpt, len(places))
	for i := range places {
		out[i].Place = places[i]
	}
	root, err := projectfile.Open(v.con.l.Root())
	if err != nil {
		v.con.o.Log.Warn("show source", "cause", err)
		return out
	}
	defer root.Close() // nothing was written
	shown := 0
	for i := range out {
		if shown == mostPlaces {
			break
		}
		if out[i].Line > 0 {
			shown++
			out[i].read(root, view)
		}
	}
	return out
}

// read takes the lines of the file. Credentials in them stay in the file: whoever may
// read the knowledge need not be one who may read the repository.
func (e *excerpt) read(root *projectfile.Folder, view *codegraph.View) {
	f, err := root.Read(e.Path, mostSourceFile)
	if err != nil {
		e.Why = "The file can’t be read."
		return
	}
	if f.Hash != view.Hash(e.Path) {
		e.Why = "The file has changed since it was read: its lines are shown once it was read again."
		return
	}
	lines := strings.Split(string(f.Bytes), "\n")
	from, to := e.Line, max(e.End, e.Line)
	if from > len(lines) {
		e.Why = "The file has no such line."
		return
	}
	to = min(to, len(lines))
	if n := to - from + 1 - mostLines; n > 0 {
		e.More, to = n, to-n
	}
	text, _ := guardrail.Redact(strings.Join(lines[from-1:to], "\n"))
	for i, line := range strings.Split(text, "\n") {
		e.Lines = append(e.Lines, sourceLine{from + i, clipLine(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    "))})
	}
}

// clipLine cuts a line, and says so.
func clipLine(s string) string {
	if len(s) <= widestLine {
		return s
	}
	if r := []rune(s[:min(len(s), 4*widestLine)]); len(r) > widestLine {
		return string(r[:widestLine]) + "…"
	}
	return s
}
