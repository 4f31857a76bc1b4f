package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/plainyaml"
)

// Keys returns every dotted key, in the order of the file.
func Keys() []string {
	var c Config
	var paths []string
	for _, k := range c.keys() {
		paths = append(paths, k.path)
	}
	return paths
}

// Get returns the value at a dotted key as text: lists are joined by commas, nothing is
// quoted. A list with a comma or a bracket in an element is returned as JSON. Set reads it
// back. An unknown key is an ErrInvalid that names the nearest one.
func (c Config) Get(path string) (string, error) {
	k, err := c.key(path)
	if err != nil {
		return "", err
	}
	words := k.get()
	if k.list && k.element == nil && slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, ",[") }) {
		text, err := json.Marshal(words)
		return string(text), err
	}
	return strings.Join(words, ","), nil
}

// Set changes the value at a dotted key, from text as Get returns it. A list may also be
// written as in YAML or JSON, in brackets; an element that contains a comma needs that. A
// value that is not allowed is an ErrInvalid and changes nothing; Validate checks rules
// that involve several keys.
func (c *Config) Set(path, text string) error {
	k, err := c.key(path)
	if err != nil {
		return err
	}
	words := []string{text}
	if k.list {
		if words, err = elements(text); err != nil {
			return k.at(wrong("", "not a list", "Give the elements with commas between them, or a list in brackets as in YAML."))
		}
	}
	return k.at(k.set(words))
}

// elements reads a list from one line of text.
func elements(text string) (words []string, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		err = yaml.Unmarshal([]byte(text), &words)
		return words, err
	}
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words, nil
}

func (c *Config) key(path string) (*key, error) {
	sections := c.sections()
	for _, s := range sections {
		for i := range s.keys {
			if s.keys[i].path == path {
				return &s.keys[i], nil
			}
		}
	}
	for _, s := range sections {
		if s.name == path {
			var names []string
			for _, k := range s.keys {
				names = append(names, k.path)
			}
			return nil, wrong(path, "a section, not a key", "Use one of "+strings.Join(names, ", ")+".")
		}
	}
	return nil, unknown(path, sections)
}

// syntax converts an error of the parser. The parser's text would show lines of the
// file, possibly with a secret.
func (d *decoder) syntax(err error) error {
	msg, at := plainyaml.Syntax(err)
	try := "Check the indentation and the quotes around that line."
	if strings.Contains(msg, "'\t'") {
		msg, try = "not valid YAML: a tab", "Use spaces: YAML allows no tab there."
	}
	return d.located(at, wrong("", msg, try))
}

// locate adds the line of the key that an error names, also to each of several joined
// errors.
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

// lineOf returns the line of a key or of a part of a list, or of the nearest part
// around it.
func (d *decoder) lineOf(field string) int {
	for {
		at, ok := d.lines[field]
		if ok || !strings.Contains(field, "[") {
			return at
		}
		field = field[:strings.LastIndexAny(field, ".[")]
	}
}

// located adds file and line to an error's message; line 0 means unknown.
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
