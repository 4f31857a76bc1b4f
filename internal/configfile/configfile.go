// Package configfile changes single settings in the configuration files of other programs,
// and takes the changes back. Every other byte stays: comments, unknown keys, order and
// formatting. JSON may have comments and trailing commas. Of TOML and YAML it writes what
// agents need: single values at the top, tables, and items of a list.
//
// A file that can't be parsed is refused with the line of the fault.
package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kenlayer/ken"
)

// Setting is one value to be in a file.
type Setting struct {
	Path  []string        // the keys from the top
	Value json.RawMessage // in the order in which it is to be written
	// Item makes Value an item of the list at Path.
	Item bool
	// Mark is for items that are commands or groups of them: the words behind the program in
	// the command line. A command of the same program with these words is replaced.
	Mark string
}

// Undo is what Unset needs to take a setting back.
type Undo struct {
	Path  []string        `json:"path"`
	Value json.RawMessage `json:"value"` // as it was written
	Item  bool            `json:"item,omitempty"`
	Mark  string          `json:"mark,omitempty"`
	Was   string          `json:"was,omitempty"`  // the text of the value before; "" for none
	Made  int             `json:"made,omitempty"` // how many of the containers above it were made, from the innermost
}

// format is how one kind of file is changed. name is for errors.
type format interface {
	set(name string, text []byte, s Setting) ([]byte, Undo, error)
	unset(name string, text []byte, u Undo) ([]byte, error)
}

func formatOf(name string) format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return tomlFormat{}
	case ".yaml", ".yml":
		return yamlFormat{}
	}
	return jsonFormat{}
}

// Set returns the text of the file with the settings in it, and what takes them back. A
// setting that is there already changes nothing and has no undo. Errors: ken.ErrInvalid for a
// file that can't be parsed, or has something else where a container must be.
func Set(name string, text []byte, settings []Setting) (out []byte, undo []Undo, err error) {
	f, out := formatOf(name), text
	for _, s := range settings {
		next, u, err := f.set(name, out, s)
		if err != nil {
			return nil, nil, err
		}
		if !bytes.Equal(next, out) {
			out, undo = next, append(undo, u)
		}
	}
	return out, undo, nil
}

// Unset takes settings back, the last one first. A setting that somebody has changed or
// removed meanwhile stays as it is. Errors: ken.ErrInvalid for a file that can't be parsed.
func Unset(name string, text []byte, undo []Undo) (out []byte, err error) {
	f, out := formatOf(name), text
	for i := len(undo) - 1; i >= 0; i-- {
		if out, err = f.unset(name, out, undo[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// broken is the error for a file that can't be parsed.
func broken(name string, line int, err error) error {
	where := name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", name, line)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: where, Msg: "can't be read: " + err.Error(), Try: "Correct the file, and try again. It was not changed."}
}

// unfit is the error for a file in which a container is something else.
func unfit(name string, line int, path []string, what string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("%s:%d", name, line), Msg: strings.Join(path, ".") + " is " + what,
		Try: "Correct it, and try again. The file was not changed."}
}

// lineOf returns the number of the line at an offset.
func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:min(at, len(text))], []byte{'\n'}) }

// newline returns the line end of a text.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice replaces the bytes from a to b.
func splice(text []byte, a, b int, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:a]...)
	out = append(out, with...)
	return append(out, text[b:]...)
}
