// Package configfile changes single settings in the configuration files of other programs,
// and undoes the changes. All other bytes stay: comments, unknown keys, order and formatting.
// JSON may have comments and trailing commas. In TOML and YAML it supports what agents need:
// single values at the top level, tables, and items of a list.
//
// A file that can't be parsed is rejected with the line of the error.
package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
)

// Setting is a value to set in a file.
type Setting struct {
	Path  []string        // the keys from the top level
	Value json.RawMessage // its members are written in this order
	// Item says that Value becomes an item of the list at Path.
	Item bool
	// Mark identifies items that are commands or groups of them: the words after the program
	// in the command line. A command of the same program with these words is replaced.
	Mark string
}

// Undo records a change that Set has made, so that Unset can undo it.
type Undo struct {
	Path  []string        `json:"path"`
	Value json.RawMessage `json:"value"` // as it was written
	Item  bool            `json:"item,omitempty"`
	Mark  string          `json:"mark,omitempty"`
	Was   string          `json:"was,omitempty"`  // the earlier value's text; "" if there was none
	Made  int             `json:"made,omitempty"` // how many of the containers above it were created, from the innermost
}

// format edits one file format. name is the file's name, for errors.
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

// Set returns the text of the file with the settings, and how to undo them. A setting that is
// there already changes nothing and has no Undo. Errors: ken.ErrInvalid for a file that can't
// be parsed, or that has another kind of value where a container is needed.
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

// Unset undoes settings, the last one first. A setting that was changed or removed meanwhile
// is left alone. Errors: ken.ErrInvalid for a file that can't be parsed.
func Unset(name string, text []byte, undo []Undo) (out []byte, err error) {
	f, out := formatOf(name), text
	for _, u := range slices.Backward(undo) {
		if out, err = f.unset(name, out, u); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkResult returns an error unless a changed file reads as wanted. what names the change.
func checkResult(name string, want map[string]any, out []byte, what string, parse func(string, []byte) (map[string]any, error)) error {
	got, err := parse(name, out)
	if err != nil || !reflect.DeepEqual(got, want) {
		return &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "can't be changed without changing more than " + what,
			Try: "Change it by hand: docs/connect.md says what to write.", Err: err}
	}
	return nil
}

// broken returns the error for a file that can't be parsed.
func broken(name string, line int, err error) error {
	where := name
	if line > 0 {
		where = fmt.Sprintf("%s:%d", name, line)
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: where, Msg: "can't be read: " + err.Error(), Try: "Correct the file, and try again. It was not changed."}
}

// unfit returns the error for a file that has another kind of value where a container is
// needed.
func unfit(name string, line int, path []string, what string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("%s:%d", name, line), Msg: strings.Join(path, ".") + " is " + what,
		Try: "Correct it, and try again. The file was not changed."}
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:min(at, len(text))], []byte{'\n'}) }

// newline returns the line ending that a text uses.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice replaces the bytes from a to b. It does not change text.
func splice(text []byte, a, b int, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:a]...)
	out = append(out, with...)
	return append(out, text[b:]...)
}
