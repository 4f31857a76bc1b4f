package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// jsonFormat edits JSON, with or without comments and trailing commas.
type jsonFormat struct{}

// container is an object or a list in a text.
type container struct {
	start, end int       // byte offsets, including the brackets
	list       bool      // a list; otherwise an object
	elements   []element // in the order of the text
}

// element is a member of an object or an item of a list.
type element struct {
	start, end int // byte offsets; a member begins with its name
	name       string
	value      *hujson.Value
}

var faultAt = lazyregexp.New(`line (\d+)`)

// parseJSON parses a file. An empty file counts as an empty object.
func parseJSON(name string, text []byte) (*hujson.Value, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		line := 0
		msg := strings.TrimPrefix(err.Error(), "hujson: ")
		if m := faultAt.FindStringSubmatch(msg); m != nil {
			line, _ = strconv.Atoi(m[1])
		}
		return nil, broken(name, line, errors.New(msg))
	}
	return &v, nil
}

// open returns the container at a value; false if the value is nil or no container.
func open(v *hujson.Value) (c container, ok bool) {
	if v == nil {
		return c, false
	}
	c.start, c.end = v.StartOffset, v.EndOffset
	switch x := v.Value.(type) {
	case *hujson.Object:
		for i := range x.Members {
			m := &x.Members[i]
			name, _ := m.Name.Value.(hujson.Literal)
			c.elements = append(c.elements, element{m.Name.StartOffset, m.Value.EndOffset, name.String(), &m.Value})
		}
	case *hujson.Array:
		c.list = true
		for i := range x.Elements {
			e := &x.Elements[i]
			c.elements = append(c.elements, element{e.StartOffset, e.EndOffset, "", e})
		}
	default:
		return c, false
	}
	return c, true
}

// find returns the index of a member, or -1. Of two members with the same name it returns the
// last.
func (c *container) find(name string) int {
	for i, e := range slices.Backward(c.elements) {
		if !c.list && e.name == name {
			return i
		}
	}
	return -1
}

// walk follows a path as far as it exists. at holds the containers on the way, outermost
// first; value is the value at the end of the path, or nil if the path does not exist.
func walk(name string, text []byte, root *hujson.Value, path []string) (at []container, value *hujson.Value, err error) {
	value = root
	for i, key := range path {
		c, ok := open(value)
		if !ok || c.list {
			return nil, nil, unfit(name, lineOf(text, value.StartOffset), append([]string{"the value"}, path[:i]...), "no object")
		}
		at = append(at, c)
		n := c.find(key)
		if n < 0 {
			return at, nil, nil
		}
		value = c.elements[n].value
	}
	return at, value, nil
}

// hooksKey is the member that lists the commands of an item that is a group of commands.
const hooksKey = "hooks"

// findItem returns the container and the index of a setting's item, or -1 if the list does not
// have it. If the item is in a group with other commands, it returns the group's list. same
// reports that the item is exactly as it would be written now.
func findItem(text []byte, list *container, value json.RawMessage, mark string) (in container, i int, same bool) {
	for i, e := range list.elements {
		if sameJSON(text[e.start:e.end], value) {
			return *list, i, true
		}
	}
	want, err := hujson.Parse(value)
	if mark == "" || err != nil {
		return *list, -1, false
	}
	own := programOf(&want, mark)
	if hooks, ok := open(memberOf(&want, hooksKey)); ok && len(hooks.elements) == 1 {
		own = programOf(hooks.elements[0].value, mark)
	}
	for i, e := range list.elements {
		if own != "" && programOf(e.value, mark) == own {
			return *list, i, false
		}
		hooks, ok := open(memberOf(e.value, hooksKey))
		if !ok || !hooks.list {
			continue
		}
		for j, h := range hooks.elements {
			switch {
			case own == "" || programOf(h.value, mark) != own:
			case len(hooks.elements) == 1:
				return *list, i, false
			default:
				group := splice(text[:e.end], hooks.start+1, hooks.end-1, string(text[h.start:h.end]))
				return hooks, j, sameJSON(group[e.start:], value)
			}
		}
	}
	return *list, -1, false
}

// memberOf returns a member of an object, or nil.
func memberOf(v *hujson.Value, name string) *hujson.Value {
	if c, ok := open(v); ok && !c.list {
		if n := c.find(name); n >= 0 {
			return c.elements[n].value
		}
	}
	return nil
}

// programOf returns the program that an item runs with the words of a mark, without folder and
// .exe. It returns "" for any other item.
func programOf(item *hujson.Value, mark string) string {
	v := memberOf(item, "command")
	if v == nil {
		return ""
	}
	command, _ := v.Value.(hujson.Literal)
	path, ok := "", false
	if command.Kind() == '"' {
		path, ok = strings.CutSuffix(command.String(), mark)
	}
	if n := len(path); n > 1 && path[0] == '"' && path[n-1] == '"' {
		path = path[1 : n-1]
		ok = ok && !strings.Contains(path, `"`)
	} else if strings.ContainsAny(path, " \t\n;&|<>()$`'\"") {
		ok = false // more than one word
	}
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:]), ".exe")
}

func (jsonFormat) set(name string, text []byte, s Setting) ([]byte, Undo, error) {
	u := Undo{Path: s.Path, Value: s.Value, Item: s.Item, Mark: s.Mark}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := parseJSON(name, text)
	if err != nil {
		return nil, u, err
	}
	at, value, err := walk(name, text, root, s.Path)
	if err != nil {
		return nil, u, err
	}
	style := styleOf(text, root)
	if value == nil {
		return style.make(at, s, &u), u, nil
	}
	if !s.Item {
		was := text[value.StartOffset:value.EndOffset]
		if sameJSON(was, s.Value) {
			return text, u, nil
		}
		u.Was = string(was)
		return splice(text, value.StartOffset, value.EndOffset, style.render(s.Value, style.indentAt(value.StartOffset), false)), u, nil
	}
	list, ok := open(value)
	if !ok || !list.list {
		return nil, u, unfit(name, lineOf(text, value.StartOffset), s.Path, "no list")
	}
	in, i, same := findItem(text, &list, s.Value, s.Mark)
	switch {
	case same:
		return text, u, nil
	case i >= 0:
		return jsonFormat{}.set(name, style.remove(in, i), s)
	}
	return style.insert(list, "", s.Value), u, nil
}

func (jsonFormat) unset(name string, text []byte, u Undo) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	root, err := parseJSON(name, text)
	if err != nil {
		return nil, err
	}
	at, value, err := walk(name, text, root, u.Path)
	if err != nil || value == nil {
		return text, nil //nolint:nilerr // changed by somebody else: nothing to undo
	}
	style := styleOf(text, root)
	if u.Item {
		list, ok := open(value)
		if !ok || !list.list {
			return text, nil
		}
		in, i, _ := findItem(text, &list, u.Value, u.Mark)
		if i < 0 {
			return text, nil
		}
		return removeEmpty(name, style.remove(in, i), u.Path, u.Made)
	}
	if !sameJSON(text[value.StartOffset:value.EndOffset], u.Value) {
		return text, nil
	}
	if u.Was != "" {
		return splice(text, value.StartOffset, value.EndOffset, u.Was), nil
	}
	parent := at[len(at)-1]
	text = style.remove(parent, parent.find(u.Path[len(u.Path)-1]))
	return removeEmpty(name, text, u.Path[:len(u.Path)-1], u.Made)
}

// removeEmpty removes the containers on a path that were created for a setting, from the
// innermost, while they are empty.
func removeEmpty(name string, text []byte, path []string, made int) ([]byte, error) {
	for ; made > 0 && len(path) > 0; made, path = made-1, path[:len(path)-1] {
		root, err := parseJSON(name, text)
		if err != nil {
			return nil, err
		}
		at, value, err := walk(name, text, root, path)
		if err != nil || value == nil {
			return text, nil //nolint:nilerr // as in unset
		}
		if c, ok := open(value); !ok || len(bytes.TrimSpace(text[c.start+1:c.end-1])) > 0 {
			return text, nil
		}
		parent := at[len(at)-1]
		text = styleOf(text, root).remove(parent, parent.find(path[len(path)-1]))
	}
	return text, nil
}

// sameJSON reports whether two texts are the same value, ignoring comments and the order of
// members.
func sameJSON(a, b []byte) bool {
	var x, y any
	a, errA := hujson.Standardize(bytes.Clone(a))
	b, errB := hujson.Standardize(bytes.Clone(b))
	return errA == nil && errB == nil && json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// style describes how a text is laid out.
type style struct {
	text []byte
	unit string // one level of indentation
	nl   string
}

func styleOf(text []byte, root *hujson.Value) style {
	s := style{text: text, unit: "  ", nl: newline(text)}
	if c, ok := open(root); ok && len(c.elements) > 0 {
		if in := s.indentAt(c.elements[0].start); in != "" && s.startsLine(c.elements[0].start) {
			s.unit = in
		}
	}
	return s
}

// lineStart returns the offset at which the line of an offset begins.
func (s style) lineStart(at int) int { return bytes.LastIndexByte(s.text[:at], '\n') + 1 }

// startsLine reports whether only white space precedes an offset in its line.
func (s style) startsLine(at int) bool {
	return len(bytes.TrimSpace(s.text[s.lineStart(at):at])) == 0
}

// indentAt returns the indentation of the line at an offset.
func (s style) indentAt(at int) string {
	line := s.text[s.lineStart(at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// render formats a value for a line with this indentation.
func (s style) render(value []byte, indent string, oneLine bool) string {
	var b bytes.Buffer
	if oneLine {
		_ = json.Compact(&b, value) // can't fail: the value is valid
		return b.String()
	}
	_ = json.Indent(&b, value, indent, s.unit)
	return strings.ReplaceAll(b.String(), "\n", s.nl)
}

// make adds a setting at the end of the last container in at, and creates the rest of its
// path.
func (s style) make(at []container, set Setting, u *Undo) []byte {
	value := set.Value
	if set.Item {
		value = append(append(json.RawMessage{'['}, value...), ']')
		u.Made++
	}
	for i := len(set.Path) - 1; i >= len(at); i-- {
		key, _ := json.Marshal(set.Path[i]) // can't fail for a string
		value = append(append(append(append(json.RawMessage{'{'}, key...), ':'), value...), '}')
		u.Made++
	}
	key, _ := json.Marshal(set.Path[len(at)-1])
	return s.insert(at[len(at)-1], string(key), value)
}

// insert adds an element at the end of a container. key is a member's quoted name, or empty.
func (s style) insert(c container, key string, value []byte) []byte {
	oneLine := len(c.elements) > 0 && !bytes.ContainsRune(s.text[c.start:c.end], '\n')
	indent := s.indentAt(c.start) + s.unit
	if n := len(c.elements); n > 0 && s.startsLine(c.elements[n-1].start) {
		indent = s.indentAt(c.elements[n-1].start)
	}
	element := s.render(value, indent, oneLine)
	if key != "" {
		element = key + ": " + element
	}
	if len(c.elements) == 0 {
		inner := s.text[c.start+1 : c.end-1]
		from := c.start + 1 + len(bytes.TrimRight(inner, " \t\r\n"))
		return splice(s.text, from, c.end-1, s.nl+indent+element+s.nl+s.indentAt(c.start))
	}
	last := c.elements[len(c.elements)-1].end
	if oneLine {
		return splice(s.text, last, last, ", "+element)
	}
	comma := s.comma(last, c.end)
	if comma >= 0 { // a trailing comma: the new element gets one too
		at := s.lineEnd(comma+1, c.end)
		return splice(s.text, at, at, s.nl+indent+element+",")
	}
	at := s.lineEnd(last, c.end)
	out := splice(s.text, at, at, s.nl+indent+element)
	return splice(out, last, last, ",")
}

// comma returns the offset of the comma after an element, or -1. It skips comments.
func (s style) comma(from, to int) int {
	for i := from; i < to; i++ {
		switch {
		case s.text[i] == ',':
			return i
		case bytes.HasPrefix(s.text[i:to], []byte("//")):
			i += bytes.IndexByte(s.text[i:to], '\n')
		case bytes.HasPrefix(s.text[i:to], []byte("/*")):
			i += bytes.Index(s.text[i:to], []byte("*/")) + 1
		case s.text[i] == '}' || s.text[i] == ']':
			return -1
		}
	}
	return -1
}

// lineEnd returns the end of the line after an element, including a comment, or from if
// anything else follows in the line.
func (s style) lineEnd(from, to int) int {
	end := bytes.IndexByte(s.text[from:to], '\n')
	if end < 0 {
		return from
	}
	rest := bytes.TrimSpace(s.text[from : from+end])
	whole := bytes.HasPrefix(rest, []byte("/*")) && bytes.Index(rest, []byte("*/")) == len(rest)-2
	if len(rest) > 0 && !bytes.HasPrefix(rest, []byte("//")) && !whole {
		return from
	}
	return from + len(bytes.TrimRight(s.text[from:from+end], "\r"))
}

// remove removes an element from a container, with its comma and its line.
func (s style) remove(c container, i int) []byte {
	e := c.elements[i]
	from := e.start
	if s.startsLine(from) {
		from = s.lineStart(from)
		if from > 0 {
			from-- // the line ending before it
			if from > 0 && s.text[from-1] == '\r' {
				from--
			}
		}
	}
	comma := s.comma(e.end, c.end)
	if comma >= 0 { // the comma after the element is removed with it
		to := comma + 1
		if from == e.start {
			for to < c.end && s.text[to] == ' ' {
				to++
			}
		}
		return splice(s.text, from, to, "")
	}
	if i == 0 {
		if len(bytes.TrimSpace(s.text[c.start+1:from])) == 0 && len(bytes.TrimSpace(s.text[e.end:c.end-1])) == 0 {
			return splice(s.text, c.start+1, c.end-1, "")
		}
		return splice(s.text, from, e.end, "")
	}
	before := s.comma(c.elements[i-1].end, e.start)
	if from == e.start && len(bytes.TrimSpace(s.text[before+1:from])) == 0 { // in the same line as the previous element
		return splice(s.text, before, e.end, "")
	}
	out := splice(s.text, from, e.end, "")
	return splice(out, before, before+1, "")
}
