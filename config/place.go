package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/kenlayer/ken"
)

func line(n ast.Node) int { return tokenLine(n.GetToken()) }

func tokenLine(tk *token.Token) int {
	if tk == nil || tk.Position == nil {
		return 0
	}
	return tk.Position.Line
}

// syntax translates the parser's error. Its own text would show lines of the
// file, and with them whatever secret somebody put there.
func (d *decoder) syntax(err error) error {
	msg, at := "not valid YAML", 0
	var e yaml.Error
	if errors.As(err, &e) {
		msg, at = msg+": "+e.GetMessage(), tokenLine(e.GetToken())
	}
	return d.located(at, wrong("", msg, "Check the indentation and the quotes around that line."))
}

// locate adds the line of the key that an error names.
func (d *decoder) locate(err error) error {
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		return d.located(d.lines[e.Field], err)
	}
	return err
}

// located adds file and line to an error's message; line 0 is unknown.
func (d *decoder) located(line int, err error) error {
	var e *ken.Error
	if !errors.As(err, &e) {
		return err
	}
	var place []string
	if d.file != "" {
		place = append(place, d.file)
	}
	if line > 0 {
		place = append(place, "line "+strconv.Itoa(line))
	}
	if len(place) > 0 {
		e.Msg += " (" + strings.Join(place, ", ") + ")"
	}
	return err
}

func wrong(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}
