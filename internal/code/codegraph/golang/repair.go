package golang

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

var (
	// heads start a declaration, where code is formatted as usual.
	heads = lazyregexp.New(`(?m)^(func|type|var|const|import)\b`)

	clause    = lazyregexp.New(`(?m)^package[ \t]+([\pL_][\pL\pN_]*)`)
	conflicts = lazyregexp.New(`(?m)^(<{7}|\|{7}|={7}|>{7})( .*)?\r?$`)
)

const prefix = "package p;" // makes a file of a piece

// repair cuts a file before each line that starts a declaration, and mends each piece by
// itself. Lines stay where they are.
func repair(src string) (string, []codegraph.Problem) {
	var b strings.Builder
	var problems []codegraph.Problem
	for _, m := range conflicts.FindAllStringIndex(src, -1) {
		problems = append(problems, codegraph.Problem{Line: 1 + strings.Count(src[:m[0]], "\n"), Text: "a conflict that was not resolved"})
		if len(problems) == maxProblems {
			break
		}
	}
	src = conflicts.ReplaceAllStringFunc(src, blankLines)
	starts := heads.FindAllStringIndex(src, -1)
	next := func(i int) int {
		if i < len(starts) {
			return starts[i][0]
		}
		return len(src)
	}
	head, found := repairPackageClause(src[:next(0)])
	problems = append(problems, found...)
	b.WriteString(head)
	line := strings.Count(src[:next(0)], "\n")
	for i := range starts {
		piece := src[next(i):next(i+1)]
		mended, found := repairPiece(piece, line)
		if len(problems) <= maxProblems {
			problems = append(problems, found...)
		}
		b.WriteString(mended)
		line += strings.Count(piece, "\n")
	}
	return b.String(), problems
}

// repairPackageClause makes sure of a package clause.
func repairPackageClause(head string) (string, []codegraph.Problem) {
	_, err := parser.ParseFile(token.NewFileSet(), "", head, mode)
	if err == nil {
		return head, nil
	}
	problems := syntaxErrors(err, 0, "")
	if m := clause.FindStringIndex(head); m != nil {
		mended := blankLines(head[:m[0]]) + head[m[0]:m[1]] + blankLines(head[m[1]:])
		if _, err := parser.ParseFile(token.NewFileSet(), "", mended, mode); err == nil {
			return mended, problems[:min(1, len(problems))]
		}
	}
	return "package " + placeholderPackage + ";" + blankLines(head), []codegraph.Problem{{Line: 1, Text: "no package clause"}}
}

// repairPiece makes one declaration of a piece that starts after so many lines: what is
// open is closed, and lines with errors are blanked; where that does not help, a
// function keeps its head, and anything else is blanked.
func repairPiece(piece string, after int) (string, []codegraph.Problem) {
	_, err := parser.ParseFile(token.NewFileSet(), "", prefix+piece, mode)
	if err == nil {
		return piece, nil
	}
	problems := syntaxErrors(err, after, prefix)
	lines := strings.SplitAfter(piece, "\n")
	for range tries {
		mended := closeBrackets(strings.Join(lines, ""))
		_, err := parser.ParseFile(token.NewFileSet(), "", prefix+mended, mode)
		if err == nil {
			return mended, problems
		}
		changed := false
		for _, f := range syntaxErrors(err, 0, prefix) {
			if i := f.Line - 1; i > 0 && i < len(lines) && strings.TrimSpace(lines[i]) != "" {
				lines[i], changed = blankLines(lines[i]), true
			}
		}
		if !changed {
			break
		}
	}
	return head(piece), problems
}

// tries is how often lines are blanked: one error may hide the next.
const tries = 8

// head is a function without its body, and nothing of anything else.
func head(piece string) string {
	fset := token.NewFileSet()
	file, _ := parser.ParseFile(fset, "", prefix+piece, mode)
	if file == nil || len(file.Decls) == 0 {
		return blankLines(piece)
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || f.Body == nil {
		return blankLines(piece)
	}
	at := fset.PositionFor(f.Body.Lbrace, false).Offset - len(prefix)
	if at < 0 || at >= len(piece) || piece[at] != '{' {
		return blankLines(piece)
	}
	whole := piece[:at] + "{}" + blankLines(piece[at+1:])
	if _, err := parser.ParseFile(token.NewFileSet(), "", prefix+whole, mode); err != nil {
		return blankLines(piece)
	}
	return whole
}

// closeBrackets closes what a piece leaves open, on the line after its last where there is
// one, because that may end in a comment.
func closeBrackets(piece string) string {
	body := strings.TrimRight(piece, " \t\r\n")
	rest := piece[len(body):]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return body + rest[:i+1] + closers(body) + rest[i+1:]
	}
	return body + closers(body) + rest
}

// closers are the brackets that a text leaves open, closed.
func closers(text string) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	var open []byte
	for {
		_, tok, _ := s.Scan()
		switch tok {
		case token.LPAREN:
			open = append(open, ')')
		case token.LBRACK:
			open = append(open, ']')
		case token.LBRACE:
			open = append(open, '}')
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if n := len(open); n > 0 {
				open = open[:n-1]
			}
		case token.EOF:
			var b strings.Builder
			for i := len(open) - 1; i >= 0; i-- {
				b.WriteByte(open[i])
			}
			return b.String()
		}
	}
}

// blankLines is a text without what stands on its lines.
func blankLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}
