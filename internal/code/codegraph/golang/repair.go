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
	// heads match the beginnings of declarations in formatted code.
	heads = lazyregexp.New(`(?m)^(func|type|var|const|import)\b`)

	clause    = lazyregexp.New(`(?m)^package[ \t]+([\pL_][\pL\pN_]*)`)
	conflicts = lazyregexp.New(`(?m)^(<{7}|\|{7}|={7}|>{7})( .*)?\r?$`)
)

const prefix = "package p;" // turns a piece into a file

// repair splits a file before each line that begins a declaration, and repairs each piece by itself. Line numbers stay
// the same.
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

// repairPackageClause adds a package clause if there is none, and keeps only the clause if the head can't be parsed.
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

// repairPiece turns a piece of a file into a valid declaration. after is the number of lines before it. It closes open
// brackets and blanks lines with errors. If that is not enough, it keeps the head of a function and blanks anything
// else.
func repairPiece(piece string, after int) (string, []codegraph.Problem) {
	_, err := parser.ParseFile(token.NewFileSet(), "", prefix+piece, mode)
	if err == nil {
		return piece, nil
	}
	problems := syntaxErrors(err, after, prefix)
	lines := strings.SplitAfter(piece, "\n")
	for range maxRounds {
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

// maxRounds is the maximum number of rounds that blank lines, because one error may hide the next.
const maxRounds = 8

// head returns a function without its body. It blanks any other piece.
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

// closeBrackets closes the open brackets of a piece. It adds them to the next line if there is one, because the last
// line may end in a comment.
func closeBrackets(piece string) string {
	body := strings.TrimRight(piece, " \t\r\n")
	rest := piece[len(body):]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		return body + rest[:i+1] + closers(body) + rest[i+1:]
	}
	return body + closers(body) + rest
}

// closers returns the closing brackets for the brackets that a text leaves open.
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

// blankLines replaces everything except line ends by blanks.
func blankLines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, s)
}
