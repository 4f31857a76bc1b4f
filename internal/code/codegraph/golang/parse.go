package golang

import (
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

const (
	byteOrderMark = "\uFEFF"
	mode          = parser.ParseComments | parser.SkipObjectResolution | parser.AllErrors
	madeUp        = "_" // the name of a package whose clause could not be read
	maxProblems   = 50  // of one file; what breaks a file once may break each line after it
)

// parse reads as much of a file as can be read. A file with errors is read again
// mended: the parser would skip what follows an error, functions above all.
func parse(fset *token.FileSet, src []byte) (*ast.File, []codegraph.Problem) {
	if strings.HasPrefix(string(src[:min(len(byteOrderMark), len(src))]), byteOrderMark) {
		src = src[len(byteOrderMark):]
	}
	file, err := parser.ParseFile(fset, "", src, mode)
	if err == nil {
		return file, nil
	}
	mended, problems := mend(string(src))
	file, _ = parser.ParseFile(fset, "", mended, mode)
	slices.SortStableFunc(problems, func(a, b codegraph.Problem) int { return cmp.Compare(a.Line, b.Line) })
	problems = slices.CompactFunc(problems, func(a, b codegraph.Problem) bool { return a.Line == b.Line })
	if len(problems) == 0 { // the pieces are sound, and the whole is not
		problems = faults(err, 0, "")
	}
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], codegraph.Problem{Line: problems[maxProblems].Line, Text: "and more"})
	}
	return file, problems
}

// faults lists the first error of each line of a piece that starts after so many
// lines. A prefix of the piece's first line is not of the file.
func faults(err error, after int, prefix string) (out []codegraph.Problem) {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return nil
	}
	list.Sort()
	for _, e := range list {
		if e.Pos.Offset < len(prefix) {
			continue
		}
		if line := after + max(e.Pos.Line, 1); len(out) == 0 || out[len(out)-1].Line != line {
			out = append(out, codegraph.Problem{Line: line, Text: strings.Clone(e.Msg)})
		}
	}
	return out
}
