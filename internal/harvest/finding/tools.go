package finding

import (
	"strings"
	"unicode"
)

// Role is what a tool does, as far as findings ask.
type Role string

// Roles.
const (
	Read   Role = "read"   // shows a file
	Search Role = "search" // finds files or passages by a pattern
	List   Role = "list"   // shows what a folder holds
	Write  Role = "write"  // makes or changes files
	Delete Role = "delete"
	Move   Role = "move"
	Run    Role = "run"   // runs a command
	Fetch  Role = "fetch" // brings in what is outside the project
)

// Roles lists every role, in the order above.
func Roles() []Role { return []Role{Read, Search, List, Write, Delete, Move, Run, Fetch} }

// Tool is what is known of a tool.
type Tool struct {
	Name string // in canonical spelling: lower case, words joined by underscores
	Role Role
	// Argument names the argument that holds the entity; empty means that the
	// usual names of its role are tried in order.
	Argument string
}

// Tools is a table of tools by name. The zero value is Defaults. A value is not
// changed once made, so it is safe for concurrent use.
type Tools struct {
	byName map[string]Tool
}

// Lookup returns what is known of a tool by the name that a call gives. The case
// and the spelling of words do not matter (ReadFile, read-file and read_file are
// one), and of a name with a prefix, such as mcp__filesystem__read_file or
// functions.read_file, the last part decides. Where a server's name is joined by
// an underscore, as in filesystem_read_file, what is left of the name must be two
// words at least: a tool that ends in "run" or "list" may be anything.
func (t Tools) Lookup(name string) (Tool, bool) {
	known := t.byName
	if known == nil {
		known = defaults
	}
	name = canonical(name)
	for rest := name; rest != ""; {
		if tool, ok := known[rest]; ok {
			return tool, true
		}
		_, next, cut := cutAny(rest, "__", ".", ":", "/")
		if !cut {
			break
		}
		rest = next
	}
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		name = name[i+1:]
	}
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	for {
		_, rest, ok := strings.Cut(name, "_")
		if !ok || !strings.Contains(rest, "_") {
			return Tool{}, false
		}
		if tool, ok := known[rest]; ok {
			return tool, true
		}
		name = rest
	}
}

// cutAny cuts at the first of several separators.
func cutAny(s string, seps ...string) (before, after string, ok bool) {
	at, width := -1, 0
	for _, sep := range seps {
		if i := strings.Index(s, sep); i >= 0 && (at < 0 || i < at) {
			at, width = i, len(sep)
		}
	}
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+width:], true
}

// canonical spells a name in lower case with underscores between its words.
func canonical(name string) string {
	var b strings.Builder
	var prev rune
	for _, r := range strings.TrimSpace(name) {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case unicode.IsUpper(r) && (unicode.IsLower(prev) || unicode.IsDigit(prev)):
			b.WriteByte('_')
		}
		prev = r
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
