package finding

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// attempt is one run of a command.
type attempt struct {
	call   *Call
	failed bool
}

// runs collects the attempts at each command, and what happened between them.
type runs struct {
	order    []string // commands in order of their first run
	attempts map[string][]attempt
	changed  []uint64 // sequence numbers of results of calls that changed files
	unseen   []uint64 // and of what may have changed something: messages of the user, unknown tools, scripts
	others   []attempt
	texts    map[*Call]string
}

func newRuns() *runs { return &runs{attempts: map[string][]attempt{}, texts: map[*Call]string{}} }

// see records a call. A command counts only if its exit code is known and is its
// own.
func (r *runs) see(c *Call) {
	switch c.Role {
	case Write, Delete, Move:
		if !c.Failed {
			r.changed = append(r.changed, c.Seq)
		}
		return
	case Run:
	default:
		return
	}
	cmd := c.Shell()
	if cmd.Trivial || cmd.Text == "" {
		if !cmd.Routine {
			r.unseen = append(r.unseen, c.Seq)
		}
		return
	}
	r.texts[c] = cmd.Text
	r.others = append(r.others, attempt{call: c})
	if c.Exit == nil || !cmd.OwnExit {
		return
	}
	if len(r.attempts[cmd.Text]) == 0 {
		r.order = append(r.order, cmd.Text)
	}
	r.attempts[cmd.Text] = append(r.attempts[cmd.Text], attempt{c, *c.Exit != 0})
}

// pitfalls returns the commands that failed for a reason worth knowing. A command
// that passed after files were changed failed because of unfinished work, which
// is not worth knowing.
func (r *runs) pitfalls() (out []Finding) {
	for _, text := range r.order {
		tries := r.attempts[text]
		var failed, passed *Call
		times := 0
		for _, a := range tries {
			if a.failed {
				failed, passed = a.call, nil
				times++
			} else if failed != nil && passed == nil {
				passed = a.call
			}
		}
		if failed == nil || failed.Error == "" {
			continue
		}
		why := failed.Error + failedTests(failed.Output)
		says := "`" + clip(text, 160) + "` fails with exit code " + strconv.Itoa(*failed.Exit) + ": " + why
		if passed != nil {
			after, ok := r.between(text, failed.Seq, passed.Seq)
			switch {
			case !ok, after == "" && slices.ContainsFunc(r.unseen, func(seq uint64) bool { return failed.Seq < seq && seq < passed.Seq }):
				continue
			case after == "":
				says = "`" + clip(text, 160) + "` is unreliable: it failed and then passed with nothing changed; the failure was: " + why
			default:
				says = strings.TrimRight(says, ".") + "; it passed after `" + clip(after, 120) + "`"
			}
		}
		out = append(out, Finding{Entity: text, Kind: Pitfall, Text: clip(says, MaxText), Tool: failed.Name, CallID: failed.ID,
			Seq: failed.Seq, At: failed.At, ExitCode: failed.Exit, External: fetches(failed.Command), weight: 500 + min(times, 9)})
	}
	return out
}

// failedTests names the failed tests, if there are three at most.
func failedTests(output string) string {
	var names []string
	for _, t := range outcome.Tests(output) {
		if !t.Passed && !t.Group && !strings.Contains(t.Name, "/") {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 || len(names) > 3 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// between returns the last command that ran between two attempts, "" if there was
// none. ok is false if files were changed between them.
func (r *runs) between(text string, from, to uint64) (after string, ok bool) {
	for _, seq := range r.changed {
		if from < seq && seq < to {
			return "", false
		}
	}
	for _, a := range r.others {
		if t := r.texts[a.call]; from < a.call.Seq && a.call.Seq < to && t != text && !a.call.Failed {
			after = t
		}
	}
	return after, true
}

// outOfDate matches what a tool reports when the agent had an older text of a
// file. It says nothing about the file.
var outOfDate = lazyregexp.New(`(?i)not (?:been )?(?:found|read|unique|match)|no (?:match|such|changes|replacement)|modified since|unexpectedly modified|does not (?:exist|match)|context|multiple|identical|user`)

// failedEdits returns the files that edits kept failing on. Failures because the
// agent had an older text do not count.
func failedEdits(calls []Call) (out []Finding) {
	type file struct {
		times int
		last  *Call
	}
	files := map[string]*file{}
	var order []string
	for i := range calls {
		c := &calls[i]
		if c.Role != Write {
			continue
		}
		for _, ch := range c.changes {
			switch f := files[ch.path]; {
			case !c.Failed:
				delete(files, ch.path)
			case f == nil:
				files[ch.path] = &file{1, c}
				order = append(order, ch.path)
			default:
				f.times++
				f.last = c
			}
		}
	}
	for _, name := range order {
		f := files[name]
		if f == nil || f.times < 2 || f.last.Error == "" || outOfDate.MatchString(f.last.Error) || f.last.project.outside(name) {
			continue
		}
		delete(files, name)
		out = append(out, Finding{Entity: name, Kind: Pitfall, Tool: f.last.Name, CallID: f.last.ID, Seq: f.last.Seq, At: f.last.At,
			Text: clip(name+": "+f.last.Name+" failed "+strconv.Itoa(f.times)+" times and was given up: "+f.last.Error, MaxText), weight: 500})
	}
	return out
}

// fetches reports whether a command downloads content that others wrote.
func fetches(command string) bool {
	for w := range strings.FieldsSeq(command) {
		switch path.Base(w) {
		case "curl", "wget", "gh", "glab", "ssh", "lynx", "http", "httpie":
			return true
		}
	}
	return false
}

// Parse returns Defaults changed by a list of entries, in order. The entry
// "role:name" or "role:name:argument" adds a tool or replaces one of the same
// name. The entry "-name" removes a tool. An error is an ErrInvalid that names
// the entry.
func Parse(list []string) (Tools, error) {
	t := Defaults()
	for i, entry := range list {
		bad := func(msg, try string) error {
			return &ken.Error{Code: ken.CodeInvalid, Field: "tools[" + strconv.Itoa(i) + "]", Msg: strconv.Quote(entry) + ": " + msg, Try: try}
		}
		entry = strings.TrimSpace(entry)
		if name, ok := strings.CutPrefix(entry, "-"); ok {
			name = canonical(name)
			if _, known := t.byName[name]; !known {
				return Tools{}, bad("there is no such tool to be left out", "Check the spelling, or drop the entry.")
			}
			delete(t.byName, name)
			continue
		}
		role, rest, ok := strings.Cut(entry, ":")
		name, argument, _ := strings.Cut(rest, ":")
		name, argument = canonical(name), strings.TrimSpace(argument)
		switch {
		case !ok || name == "":
			return Tools{}, bad("no role and name", "Write it as role:name or role:name:argument, such as read:open_doc:doc_path.")
		case !slices.Contains(roles(), Role(role)):
			return Tools{}, bad("unknown role "+strconv.Quote(role), "Use one of "+roleNames()+".")
		case strings.HasSuffix(entry, ":") || strings.ContainsAny(argument, ": \t"):
			return Tools{}, bad("no name of an argument after the second colon", "Name one argument of the tool, or leave the colon out.")
		}
		t.byName[name] = Tool{Name: name, Role: Role(role), Argument: argument}
	}
	return t, nil
}

func roleNames() string {
	var names []string
	for _, r := range roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// Role is what a tool does, as far as it matters for findings.
type Role string

// Roles.
const (
	Read   Role = "read"   // shows a file
	Search Role = "search" // finds files or passages by a pattern
	List   Role = "list"   // shows the entries of a folder
	Write  Role = "write"  // creates or changes files
	Delete Role = "delete"
	Move   Role = "move"
	Run    Role = "run"   // runs a command
	Fetch  Role = "fetch" // gets something from outside the project
)

// roles returns every role, in the order above.
func roles() []Role { return []Role{Read, Search, List, Write, Delete, Move, Run, Fetch} }

// Tool describes a tool.
type Tool struct {
	Name string // canonical name: lower case, words joined by underscores
	Role Role
	// Argument names the argument that holds the entity. If it is empty, the
	// usual names for the role are tried in order.
	Argument string
}

// Tools is a table of tools by name. The zero value is the same as Defaults. A
// value never changes, so it is safe for concurrent use.
type Tools struct {
	byName map[string]Tool
}

// Lookup returns the tool with the name that a call gives. Case and word
// separators do not matter (ReadFile, read-file and read_file are the same). If
// the name has a prefix, as in mcp__filesystem__read_file or functions.read_file,
// the last part counts. If a server's name is joined by an underscore, as in
// filesystem_read_file, the rest must be at least two words: a tool whose name
// ends in "run" or "list" may do anything.
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

// cutAny cuts s at the first of several separators.
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

// canonical returns a name in lower case with underscores between its words.
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
