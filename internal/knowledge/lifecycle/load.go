package lifecycle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/spelling"
)

// FileName is the policy's file in the folder of the project's knowledge.
const FileName = "lifecycle.yaml"

// maxBytes bounds the file, and with it what hostile nesting costs the parser. The
// documented example has a tenth of that.
const maxBytes = 32 << 10

// Load reads the file at path; without a file, the policy is Default. An ErrInvalid
// names the key and, in its message, file and line. A file that is not understood
// to the last line is refused whole: a window that was misspelled must not be
// replaced by a shorter default.
func Load(path string) (Policy, error) {
	b, err := projectfile.ReadFile(path, maxBytes)
	switch {
	case errors.Is(err, projectfile.ErrTooLarge):
		d := decoder{file: path}
		return Policy{}, d.tooLarge()
	case errors.Is(err, fs.ErrNotExist):
		return Default(), nil
	case err != nil:
		return Policy{}, fmt.Errorf("read lifecycle policy: %w", err)
	}
	return parse(path, b)
}

// Parse reads a policy that is not in a file.
func Parse(b []byte) (Policy, error) { return parse("", b) }

func parse(file string, b []byte) (Policy, error) {
	d := decoder{file: file, policy: Default(), lines: map[string]int{}}
	if err := d.decode(bytes.TrimPrefix(b, []byte("\uFEFF"))); err != nil {
		return Policy{}, err
	}
	return d.policy, nil
}

type decoder struct {
	file   string
	policy Policy
	lines  map[string]int // where each key stands
}

func (d *decoder) decode(b []byte) error {
	switch {
	case len(b) > maxBytes:
		return d.tooLarge()
	case !utf8.Valid(b):
		return d.wrong(0, "", "not valid UTF-8", "Save the file as UTF-8.")
	}
	// Repeated keys are let through because set reports them with both places.
	tree, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return d.syntax(err)
	}
	seen := false
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		entries, ok := doc.Body.(ast.MapNode)
		switch {
		case seen:
			return d.wrong(line(doc.Body), "", "a second document", "Keep the settings above the line --- and delete the rest.")
		case !ok:
			return d.wrong(line(doc.Body), "", "not a list of settings", "Write one setting a line, as in journal_grace_days: 7.")
		}
		seen = true
		for it := entries.MapRange(); it.Next(); {
			if err := d.set(it.Key(), it.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) tooLarge() error {
	return d.wrong(0, "", fmt.Sprintf("a lifecycle policy has at most %d bytes", maxBytes), "Check that this is the right file.")
}

// set reads one line "name: value".
func (d *decoder) set(name ast.MapKeyNode, value ast.Node) error {
	at := line(name)
	s, ok := name.(*ast.StringNode)
	if !ok {
		return d.wrong(at, "", "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported.")
	}
	if first, dup := d.lines[s.Value]; dup {
		return d.wrong(at, s.Value, "set again after line "+strconv.Itoa(first), "Keep one of the two.")
	}
	d.lines[s.Value] = at
	for _, k := range keys {
		if k.name != s.Value {
			continue
		}
		n, ok := whole(value)
		if !ok || n != Never && (n < k.least || n > most) {
			return d.wrong(at, k.name, shown(value)+" is not "+k.want(), "Write "+k.want()+", or delete the line for "+strconv.Itoa(k.fallback)+".")
		}
		*k.at(&d.policy) = n
		return nil
	}
	return d.wrong(at, s.Value, "unknown key", suggest(s.Value))
}

func (k *key) want() string {
	return fmt.Sprintf("a whole number of days from %d to %d, or %d for never", k.least, most, Never)
}

// whole reads a decimal number. goccy/go-yaml gives a uint64 for one without a
// sign, and an int64 for one with it.
func whole(n ast.Node) (int, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(fmt.Sprint(i.GetValue()))
	return v, err == nil
}

// shown is a value in a message.
func shown(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	}
	const longest = 40
	text := "the value"
	if tk := n.GetToken(); tk != nil {
		text = strings.Join(strings.Fields(tk.Value), " ")
	}
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// suggest names the key that was most likely meant: two letters in three agree.
func suggest(name string) string {
	best, lowest := "", len(name)/3+1
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
		if n := spelling.Distance(name, k.name); n < lowest {
			best, lowest = k.name, n
		}
		if strings.TrimSuffix(k.name, "_days") == name {
			best, lowest = k.name, 0
		}
	}
	if best != "" {
		return "Use " + best + "."
	}
	return "Use one of " + strings.Join(all, ", ") + "."
}

// syntax translates the parser's error, whose own text would show lines of the file.
func (d *decoder) syntax(err error) error {
	msg, at := "not valid YAML", 0
	var e yaml.Error
	if errors.As(err, &e) {
		msg, at = msg+": "+e.GetMessage(), tokenLine(e.GetToken())
	}
	return d.wrong(at, "", msg, "Check the indentation and the quotes around that line.")
}

// wrong is an error with its place; line 0 is unknown.
func (d *decoder) wrong(line int, field, msg, try string) error {
	place := d.file
	if line > 0 {
		if place != "" {
			place += ":"
		} else {
			place = "line "
		}
		place += strconv.Itoa(line)
	}
	if place != "" {
		msg += " (" + place + ")"
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func line(n ast.Node) int { return tokenLine(n.GetToken()) }

func tokenLine(tk *token.Token) int {
	if tk == nil || tk.Position == nil {
		return 0
	}
	return tk.Position.Line
}
