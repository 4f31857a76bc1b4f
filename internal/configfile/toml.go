package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// tomlFormat edits TOML: a value at the top level, or a table of plain values. It edits the
// file as text, then parses the result to check that nothing else has changed.
type tomlFormat struct{}

func parseTOML(name string, text []byte) (map[string]any, error) {
	out := map[string]any{}
	if err := toml.Unmarshal(text, &out); err != nil {
		line := 0
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			line, err = at.Position.Line, errors.New(at.Message)
		}
		return nil, broken(name, line, err)
	}
	return out, nil
}

// lookup returns the value at a path, or nil.
func lookup(doc map[string]any, path []string) any {
	var v any = doc
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// put sets the value at a path, or deletes it if value is nil, with the tables that become
// empty.
func put(doc map[string]any, path []string, value any) {
	if len(path) == 1 {
		if value == nil {
			delete(doc, path[0])
		} else {
			doc[path[0]] = value
		}
		return
	}
	child, ok := doc[path[0]].(map[string]any)
	if !ok {
		child = map[string]any{}
		doc[path[0]] = child
	}
	if put(child, path[1:], value); len(child) == 0 {
		delete(doc, path[0])
	}
}

func (f tomlFormat) set(name string, text []byte, s Setting) ([]byte, Undo, error) {
	u := Undo{Path: s.Path, Value: s.Value}
	doc, err := parseTOML(name, text)
	if err != nil {
		return nil, u, err
	}
	var value any
	if err := json.Unmarshal(s.Value, &value); err != nil {
		return nil, u, err
	}
	have := lookup(doc, s.Path)
	if reflect.DeepEqual(have, value) {
		return text, u, nil
	}
	var out []byte
	if _, table := value.(map[string]any); table {
		if have != nil {
			return nil, u, &ken.Error{Code: ken.CodeExists, Field: name, Msg: "[" + strings.Join(s.Path, ".") + "] exists already, with other values",
				Try: "Remove that table, and try again."}
		}
		if line := inlineTable(text, s.Path[0]); line > 0 {
			return nil, u, &ken.Error{Code: ken.CodeInvalid, Field: fmt.Sprintf("%s:%d", name, line), Msg: s.Path[0] + " is an inline table, which can't be added to",
				Try: "Write it as tables such as [" + s.Path[0] + ".NAME], and try again. The file was not changed."}
		}
		out = appendTable(text, s.Path, s.Value)
	} else {
		out, u.Was = f.setTop(text, s.Path[0], literal(s.Value))
	}
	put(doc, s.Path, value)
	return out, u, check(name, out, s.Path, parseTOML, doc)
}

// check returns an error unless the new text is the document that is wanted, which differs
// from the old one only at path.
func check(name string, text []byte, path []string, parse func(string, []byte) (map[string]any, error), want map[string]any) error {
	got, err := parse(name, text)
	if err != nil || !reflect.DeepEqual(got, want) {
		return &ken.Error{Code: ken.CodeInvalid, Field: name, Msg: "can't be changed without changing more than " + strings.Join(path, "."),
			Try: "Change it by hand: docs/connect.md says what to write.", Err: err}
	}
	return nil
}

var tableHead = lazyregexp.New(`(?m)^[ \t]*\[`)

// top returns the length of the text before the first table.
func top(text []byte) int {
	if at := tableHead.FindStringIndex(string(text)); at != nil {
		return at[0]
	}
	return len(text)
}

// inlineTable returns the line number of a top-level key that has an inline table, or 0. TOML
// forbids adding to an inline table, but this parser accepts it.
func inlineTable(text []byte, key string) int {
	at := 0
	for line := range bytes.Lines(text) {
		k, v, _ := bytes.Cut(line, []byte{'='})
		if string(bytes.Trim(bytes.TrimSpace(k), `"'`)) == key && bytes.HasPrefix(bytes.TrimSpace(v), []byte{'{'}) {
			const probe = "ken-probe" // a key that shows which table the line belongs to
			before, err := parseTOML("", append(bytes.Clone(text[:at]), probe+" = true"...))
			if err == nil && before[probe] != nil {
				return lineOf(text, at)
			}
		}
		at += len(line)
	}
	return 0
}

// setTop sets a top-level value: in place, or after the last top-level value.
func (tomlFormat) setTop(text []byte, key, value string) (out []byte, was string) {
	end, nl := top(text), newline(text)
	last, at := 0, 0
	for line := range bytes.Lines(text[:end]) {
		bare := bytes.TrimSpace(line)
		if k, v, ok := bytes.Cut(bare, []byte{'='}); ok && string(bytes.Trim(bytes.TrimSpace(k), `"'`)) == key {
			v = bytes.TrimSpace(v)
			from := at + bytes.LastIndex(line, v)
			return splice(text, from, from+len(v), value), string(v)
		}
		at += len(line)
		if len(bare) > 0 && bare[0] != '#' {
			last = at
		}
	}
	line := key + " = " + value + nl
	if last > 0 && text[last-1] != '\n' {
		line = nl + strings.TrimSuffix(line, nl)
	}
	return splice(text, last, last, line), ""
}

// appendTable adds a table at the end of the file.
func appendTable(text []byte, path []string, value json.RawMessage) []byte {
	nl := newline(text)
	out := bytes.Clone(text)
	if len(text) > 0 {
		if text[len(text)-1] != '\n' {
			out = append(out, nl...)
		}
		out = append(out, nl...)
	}
	return append(out, table(path, value, nl)...)
}

// table writes a table of plain values.
func table(path []string, value json.RawMessage, nl string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]%s", strings.Join(path, "."), nl)
	for _, m := range members(value) {
		fmt.Fprintf(&b, "%s = %s%s", m.key, literal(m.value), nl)
	}
	return b.String()
}

// literal converts a JSON string, number, boolean or list of them to TOML.
func literal(value json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		parts := make([]string, len(list))
		for i := range list {
			parts[i] = literal(list[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		if strings.Contains(s, `\`) && !strings.ContainsAny(s, "'\n") {
			return "'" + s + "'"
		}
		return strconv.Quote(s)
	}
	return string(value)
}

// member is a member of an object, in the order of the text.
type member struct {
	key   string
	value json.RawMessage
}

func members(value json.RawMessage) (out []member) {
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return out
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return out
		}
		out = append(out, member{fmt.Sprint(key), v})
	}
	return out
}

func (f tomlFormat) unset(name string, text []byte, u Undo) ([]byte, error) {
	doc, err := parseTOML(name, text)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(u.Value, &value); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(lookup(doc, u.Path), value) {
		return text, nil // changed meanwhile
	}
	nl := newline(text)
	var out []byte
	var before any
	if _, isTable := value.(map[string]any); isTable {
		own := table(u.Path, u.Value, nl)
		at := bytes.Index(text, []byte(own))
		if at < 0 {
			return text, nil
		}
		from := at
		if bytes.HasSuffix(text[:from], []byte(nl+nl)) {
			from -= len(nl)
		}
		out = splice(text, from, at+len(own), "")
	} else if u.Was != "" {
		out, _ = f.setTop(text, u.Path[0], u.Was)
		if was, err := parseTOML(name, out); err == nil {
			before = lookup(was, u.Path)
		}
	} else {
		own := u.Path[0] + " = " + literal(u.Value)
		at := bytes.Index(text, []byte(own))
		if at < 0 {
			return text, nil
		}
		to := at + len(own)
		if bytes.HasPrefix(text[to:], []byte(nl)) {
			to += len(nl)
		}
		out = splice(text, at, to, "")
	}
	put(doc, u.Path, before)
	return out, check(name, out, u.Path, parseTOML, doc)
}
