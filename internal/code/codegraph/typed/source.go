package typed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"strings"
)

// source is a file as it was read: what is said of it counts for this content.
type source struct {
	path   string // from the root
	hash   string
	lines  int
	syntax *ast.File
}

const maxFile = 64 << 20 // bytes; the compiler's own limit is far above what people write

// read reads and parses a file. What does not parse is a problem, and the rest counts.
func (p *plan) read(n *node, path string) (source, []Problem) {
	src := source{path: path}
	open := p.tree.readFile
	if !n.own {
		open = os.ReadFile
	}
	text, err := open(path)
	if err != nil {
		return src, []Problem{{Package: n.PkgPath, Path: path, Text: err.Error()}}
	}
	sum := sha256.Sum256(text)
	src.hash = "sha256:" + hex.EncodeToString(sum[:])
	src.lines = bytes.Count(text, []byte("\n"))
	src.syntax, err = parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
	var problems []Problem
	if list := (scanner.ErrorList)(nil); errors.As(err, &list) {
		for _, e := range list {
			problems = append(problems, Problem{Package: n.PkgPath, Path: path, Line: e.Pos.Line, Text: e.Msg})
		}
	}
	return src, problems
}

func (t *tree) readFile(path string) ([]byte, error) {
	info, err := t.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is no regular file of a usual size", path)
	}
	f, err := t.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// at is a place for a problem.
func (p *plan) at(n *node, pos token.Pos, text string) Problem {
	text, _, _ = strings.Cut(text, "\n")
	where := p.fset.PositionFor(pos, false)
	return Problem{Package: n.PkgPath, Path: where.Filename, Line: where.Line, Text: text}
}
