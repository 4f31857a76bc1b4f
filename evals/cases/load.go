package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// MaxBytes bounds a file of cases.
const MaxBytes = 256 << 10

// maxDepth bounds nesting, whose cost to the YAML parser grows with its square: a
// few ten thousand brackets would take minutes.
const maxDepth = 1000

// Load reads the file at path. Its errors are an ErrInvalid as from Parse, and an
// ErrNotFound for a file that can't be read.
func Load(path string) (File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		e := &ken.Error{Code: ken.CodeNotFound, Msg: "read cases", Err: err, Try: "Check the path and the file's permissions."}
		if errors.Is(err, fs.ErrNotExist) {
			e.Try = "Check the path; docs/memory-tests.md shows how such a file looks."
		}
		return File{}, e
	}
	return Parse(path, b)
}

// Parse reads the text of a file; path is for messages. Its errors are an
// ErrInvalid with the field, and with path and line in the message.
func Parse(path string, b []byte) (File, error) {
	r := &reader{file: path}
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	switch {
	case len(b) > MaxBytes:
		return File{}, r.wrong(nil, "", fmt.Sprintf("%d bytes; at most %d are read", len(b), MaxBytes), "Split it into several files.")
	case plainyaml.Deepest(string(b)) > maxDepth:
		return File{}, r.wrong(nil, "", fmt.Sprintf("brackets or dashes nested more than %d deep", maxDepth), "Close what was opened.")
	case !utf8.Valid(b):
		return File{}, r.wrong(nil, "", "not valid UTF-8", "Save the file as UTF-8.")
	}
	n, err := r.document(b)
	if err != nil {
		return File{}, err
	}
	cases, err := r.cases(n)
	return File{path, cases}, err
}

// What a file says for all of its cases, and the cases.
var fileKeys = []string{"cases", "owner", "project", "scopes", "now", "given", "canaries"}

func (r *reader) cases(n ast.Node) ([]Case, error) {
	e, err := r.entries("", n, fileKeys)
	if err != nil {
		return nil, err
	}
	list, ok := e["cases"].(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return nil, r.wrong(n, "cases", "no list of cases", "Write each case under cases, with a dash before its name.")
	}
	shared := Case{File: r.file}
	if err := r.settings("", e, &shared); err != nil {
		return nil, err
	}
	out := make([]Case, 0, len(list.Values))
	names := map[string]int{}
	for i, v := range list.Values {
		c, err := r.oneCase(at("cases", i), v, &shared)
		if err != nil {
			return nil, err
		}
		if first, dup := names[c.Name]; dup {
			return nil, r.wrong(v, at("cases", i)+".name", fmt.Sprintf("%q is the name of the case in line %d as well", c.Name, first), "Give each case a name of its own.")
		}
		names[c.Name] = c.Line
		out = append(out, c)
	}
	return out, nil
}
