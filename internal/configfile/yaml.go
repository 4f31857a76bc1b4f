package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kenlayer/ken/internal/caught"
)

// yamlFormat edits YAML: an item of a top-level list. It edits the file as text, then parses
// the result to check that nothing else has changed.
type yamlFormat struct{}

func parseYAML(name string, text []byte) (map[string]any, error) {
	var out map[string]any
	err := caught.Run(func() error { return yaml.Unmarshal(text, &out) }) // the parser panics on some texts
	if err != nil {
		line := 0
		if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
			line, err = at.GetToken().Position.Line, errors.New(at.GetMessage())
		}
		return nil, broken(name, line, err)
	}
	if out == nil { // an empty file
		out = map[string]any{}
	}
	return out, nil
}

func (f yamlFormat) set(name string, text []byte, s Setting) ([]byte, Undo, error) {
	u := Undo{Path: s.Path, Value: s.Value, Item: s.Item, Mark: s.Mark}
	if len(s.Path) != 1 || !s.Item {
		return nil, u, fmt.Errorf("%s: only items of a list at the top can be set in YAML", name)
	}
	doc, err := parseYAML(name, text)
	if err != nil {
		return nil, u, err
	}
	var item any
	if err := yaml.Unmarshal(s.Value, &item); err != nil { // parsed as the file will be
		return nil, u, err
	}
	list, _ := doc[s.Path[0]].([]any)
	if slices.ContainsFunc(list, func(have any) bool { return reflect.DeepEqual(have, item) }) {
		return text, u, nil
	}
	nl := newline(text)
	at, indent, ok := listEnd(text, s.Path[0])
	if !ok {
		indent = "  "
	}
	own := itemLines(s.Value, indent, nl)
	var out []byte
	if ok {
		out = splice(text, at, at, own)
	} else {
		out = bytes.Clone(text)
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, nl...)
		}
		out = append(out, s.Path[0]+":"+nl+own...)
	}
	doc[s.Path[0]] = append(append([]any{}, list...), item)
	return out, u, check(name, out, s.Path, parseYAML, doc)
}

// listEnd returns the offset after the last line of a top-level list, and the indentation of
// its items. ok is false if there is no such list with items on lines of their own.
func listEnd(text []byte, key string) (at int, indent string, ok bool) {
	pos, inside := 0, false
	for line := range bytes.Lines(text) {
		bare := bytes.TrimRight(line, " \t\r\n")
		inner := bytes.TrimLeft(bare, " ")
		pos += len(line)
		switch {
		case !inside:
			inside = string(bare) == key+":" || bytes.HasPrefix(bare, []byte(key+": #"))
		case len(inner) == 0 || inner[0] == '#':
		case len(inner) == len(bare) && !bytes.HasPrefix(inner, []byte("- ")):
			return at, indent, ok
		default:
			if !ok && bytes.HasPrefix(inner, []byte("- ")) {
				indent, ok = string(bare[:len(bare)-len(inner)]), true
			}
			at = pos
		}
	}
	if ok && at == len(text) && text[at-1] != '\n' {
		return 0, "", false
	}
	return at, indent, ok
}

// itemLines writes an object as an item of a list.
func itemLines(value json.RawMessage, indent, nl string) string {
	var b strings.Builder
	for i, m := range members(value) {
		lead := indent + "  "
		if i == 0 {
			lead = indent + "- "
		}
		fmt.Fprintf(&b, "%s%s: %s%s", lead, m.key, m.value, nl) // JSON is YAML
	}
	return b.String()
}

func (f yamlFormat) unset(name string, text []byte, u Undo) ([]byte, error) {
	doc, err := parseYAML(name, text)
	if err != nil {
		return nil, err
	}
	var item any
	if err := yaml.Unmarshal(u.Value, &item); err != nil {
		return nil, err
	}
	key, nl := u.Path[0], newline(text)
	list, _ := doc[key].([]any)
	left := slices.DeleteFunc(slices.Clone(list), func(have any) bool { return reflect.DeepEqual(have, item) })
	_, indent, ok := listEnd(text, key)
	own := itemLines(u.Value, indent, nl)
	at := bytes.Index(text, []byte(own))
	if len(left) == len(list) || !ok || at < 0 {
		return text, nil // changed meanwhile
	}
	if len(left) > 0 {
		doc[key] = left
	} else if delete(doc, key); bytes.HasSuffix(text[:at], []byte(key+":"+nl)) {
		at -= len(key + ":" + nl)
		own = key + ":" + nl + own
	}
	out := splice(text, at, at+len(own), "")
	return out, check(name, out, u.Path, parseYAML, doc)
}
