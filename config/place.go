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

// locate adds the line of the key that an error names, to each of several that are
// joined.
func (d *decoder) locate(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, one := range joined.Unwrap() {
			_ = d.locate(one) // in place
		}
		return err
	}
	if e := (*ken.Error)(nil); errors.As(err, &e) {
		return d.located(d.lineOf(e.Field), err)
	}
	return err
}

// lineOf is where a key stands, or the nearest thing around a part of a list.
func (d *decoder) lineOf(field string) int {
	for {
		at, ok := d.lines[field]
		if ok || !strings.Contains(field, "[") {
			return at
		}
		field = field[:strings.LastIndexAny(field, ".[")]
	}
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
