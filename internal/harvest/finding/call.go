package finding

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/patch"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
	"github.com/kenlayer/ken/internal/lazyregexp"
	"github.com/kenlayer/ken/internal/run/session"
)

// Call is a tool call of a session with its result.
type Call struct {
	ID   string // the provider's; empty in the older form of calls
	Name string // name of the tool, as called
	Role Role   // what the call did; for a command that only shows a file it is Read
	Seq  uint64 // sequence number of the result's entry
	At   time.Time

	Paths   []string // files that it names, relative to the project if they are in it
	Pattern string   // what a Search searches for
	Command string   // command line of a Run, as written; also of a command that does what a file tool does
	Address string   // URL of a Fetch, without its query

	Output string // what the tool returned
	// Exit is the exit code, nil if the result names none. Implied says that the
	// result names none because the tool only names codes other than 0.
	Exit    *int
	Implied bool
	Failed  bool
	Error   string // why it failed, one line; may be empty

	Files map[string]string // session.Entry.Files of the result

	changes []change
	project *project
}

// Calls returns the calls of known tools that have a result, in the order of the
// results.
func Calls(tr *session.Transcript, t Tools) []Call {
	p := &project{root: rootOf(tr, t)}
	open := map[string]ken.ToolCall{}
	var out []Call
	for i := range tr.Entries {
		e := &tr.Entries[i]
		for _, c := range e.Message.ToolCalls {
			open[callKey(c.ID, c.Name)] = c
		}
		if e.Message.Role != "tool" && e.Message.Role != "function" {
			continue
		}
		key := callKey(e.Message.ToolCallID, e.Message.Name)
		asked, ok := open[key]
		if !ok {
			continue
		}
		delete(open, key)
		if c, ok := readCall(e, asked, t, p); ok {
			out = append(out, c)
		}
	}
	implySuccess(out)
	return out
}

// Shell returns the call's command in the form in which it is remembered, see
// shell.Parse.
func (c *Call) Shell() shell.Command {
	root := ""
	if c.project != nil {
		root = c.project.root
	}
	return shell.Parse(c.Command, root)
}

// Changed returns the files of the project that the call wrote, moved or deleted.
// It returns nothing if the call failed. Generated files and files with secrets are
// left out.
func (c *Call) Changed() []string {
	if c.Failed || c.Role != Write && c.Role != Delete && c.Role != Move {
		return nil
	}
	var out []string
	for _, name := range c.Paths {
		if !ignored(c, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// callKey identifies a call by its id or, in the form without ids, by its tool.
func callKey(id, name string) string {
	if id != "" {
		return "id " + id
	}
	return "name " + name
}

func readCall(e *session.Entry, asked ken.ToolCall, t Tools, p *project) (Call, bool) {
	tool, ok := t.Lookup(asked.Name)
	if !ok {
		return Call{}, false
	}
	c := Call{ID: asked.ID, Name: asked.Name, Seq: e.Seq, At: e.At, Output: e.Message.Text, Files: e.Files, project: p}
	s := subjectOf(tool, asked.Arguments)
	c.Role, c.Pattern, c.Command, c.Address, c.changes = s.role, s.pattern, s.command, s.address, s.changes
	for i := range c.changes {
		c.changes[i].path, c.changes[i].to = p.relative(c.changes[i].path), p.relative(c.changes[i].to)
	}
	for _, name := range s.paths {
		c.Paths = append(c.Paths, p.relative(name))
	}
	c.Error, c.Failed = outcome.Failed(c.Output)
	if c.Command == "" {
		return c, c.Role != ""
	}
	if code, ok := outcome.Exit(c.Output); ok {
		c.Exit = &code
		c.Failed = code != 0 || c.Failed && c.Role != Run
	} else if c.Role == Run { // its output may contain anything
		c.Failed = false
	}
	if c.Failed && c.Exit != nil {
		c.Error = outcome.ErrorLine(c.Output)
	}
	return c, c.Role != ""
}

// unfinished matches what a tool reports for a command that was not completed.
var unfinished = lazyregexp.New(`(?i)^(?:command (?:running|was|is|did not|timed)|process running|\[?request interrupted|the user|error)|timed out after|running in (?:the )?background`)

// implySuccess sets the exit code 0 where a result names none. It does so for a
// tool that names codes other than 0 and never 0 in this session. Claude Code's
// Bash is known to do so without an example.
func implySuccess(calls []Call) {
	said := map[string][2]bool{} // by tool: whether it named a code other than 0, and whether it named 0
	for i := range calls {
		if c := &calls[i]; c.Exit != nil {
			s := said[c.Name]
			s[0], s[1] = s[0] || *c.Exit != 0, s[1] || *c.Exit == 0
			said[c.Name] = s
		}
	}
	for i := range calls {
		c := &calls[i]
		if c.Exit != nil || c.Command == "" || c.Failed {
			continue
		}
		if s := said[c.Name]; (c.Name == "Bash" || s[0]) && !s[1] && !unfinished.MatchString(edges(c.Output)) {
			c.Exit, c.Implied = new(int), true
		}
	}
}

// edges returns the beginning and the end of an output, where a tool writes its own
// messages.
func edges(output string) string {
	const n = 200 // bytes
	s := strings.TrimSpace(output)
	if len(s) <= 2*n {
		return s
	}
	return s[:n] + "\n" + s[len(s)-n:]
}

// subject is what a call is about, by its arguments only.
type subject struct {
	role    Role
	paths   []string
	pattern string
	command string
	address string
	changes []change
}

func subjectOf(t Tool, raw string) subject {
	a := readArguments(raw)
	s := subject{role: t.Role}
	switch t.Role {
	case Read, List, Delete:
		s.paths = a.paths(t)
	case Search:
		s.pattern = a.pattern(t)
	case Fetch:
		s.address = a.address(t)
	case Move:
		s.paths = a.paths(t)
		to, _ := a.text(moveTargets)
		if s.paths = append(s.paths, cleanPath(to)); len(s.paths) != 2 || s.paths[1] == "" {
			return subject{}
		}
	case Write:
		if v, _ := a.text([]string{"command"}); v == "view" {
			s.role, s.paths = Read, a.paths(t)
		} else {
			s.changes = a.changes(t)
		}
	case Run:
		s.command = a.command(t)
		s.act(a.folder())
	}
	for _, c := range s.changes {
		s.paths = append(s.paths, c.path)
		if c.to != "" {
			s.paths = append(s.paths, c.to)
		}
	}
	return s
}

// act parses a command that does what a file tool does.
func (s *subject) act(folder string) {
	a, ok := shell.Acts(s.command)
	if !ok {
		return
	}
	in := func(p string) string {
		if p = cleanPath(p); p == "" || folder == "" || isAbsolute(p) {
			return p
		}
		return path.Join(folder, p)
	}
	for i := range a.Paths {
		a.Paths[i] = in(a.Paths[i])
	}
	a.Paths = a.Paths[:min(len(a.Paths), maxPaths)]
	switch a.Verb {
	case shell.Reads:
		s.role, s.paths = Read, a.Paths
	case shell.Lists:
		s.role, s.paths = List, a.Paths
	case shell.Searches:
		s.role, s.pattern = Search, oneLine(a.Pattern)
	case shell.Deletes:
		s.role, s.paths = Delete, a.Paths
	case shell.Moves:
		s.role, s.paths = Move, a.Paths
	case shell.Writes:
		s.role = Write
		s.changes = []change{{path: a.Paths[0], op: patch.Update, new: a.Text, full: a.Known}}
	case shell.Patches:
		s.role, s.changes = Write, patched(a.Text, "")
		for i := range s.changes {
			s.changes[i].path = in(s.changes[i].path)
		}
	}
}

// argumentNames are the names of the arguments that hold what a call is about, by
// role, in order of preference. They are compared without case, underscores and
// hyphens.
var argumentNames = map[Role][]string{
	Read:   {"filepath", "path", "filename", "targetfile", "file", "absolutepath", "relativepath", "relativeworkspacepath", "notebookpath", "uri", "paths", "files", "filepaths"},
	Search: {"pattern", "query", "regex", "regexp", "searchterm", "searchquery", "globpattern", "glob", "includepattern", "search", "symbol", "q"},
	List:   {"path", "dirpath", "directory", "directorypath", "targetdirectory", "relativeworkspacepath", "dir", "filepath"},
	Run:    {"command", "cmd", "commandline", "script", "commands", "input", "action"},
	Fetch:  {"url", "uri", "urls", "link"},
	Move:   {"source", "oldpath", "src", "from", "filepath", "path", "sourcepath", "oldname"},
}

var (
	moveTargets = []string{"destination", "newpath", "dst", "dest", "to", "destinationpath", "targetpath", "newname", "target"}
	oldTexts    = []string{"oldstring", "oldstr", "oldtext", "oldcontent", "search", "find", "targetcontent"}
	newTexts    = []string{"newstring", "newstr", "newtext", "newcontent", "replace", "replacement", "replacementcontent", "insertedtext", "newsource"}
	fullTexts   = []string{"content", "contents", "filetext", "filecontent", "codecontent", "text", "body", "fulltext", "codeedit", "code"}
	patchTexts  = []string{"patch", "diff", "input", "patchtext", "blocks"}
	editLists   = []string{"edits", "replacements", "replacementchunks", "operations", "chunks"}
	folders     = []string{"workdir", "cwd", "workingdirectory", "dirpath", "directory"}
)

// arguments holds the parsed arguments of a call. Truncated or invalid JSON is
// accepted; what can be parsed of it is used.
type arguments struct {
	raw    string
	values map[string]gjson.Result // by name in lower case without separators
}

func readArguments(raw string) arguments {
	a := arguments{raw: raw}
	text := strings.TrimSpace(raw)
	if !strings.HasPrefix(text, "{") {
		return a
	}
	a.values = map[string]gjson.Result{}
	gjson.Parse(text).ForEach(func(k, v gjson.Result) bool {
		if name := plainName(k.Str); name != "" {
			if _, twice := a.values[name]; !twice {
				a.values[name] = v
			}
		}
		return len(a.values) < 100
	})
	return a
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func plainName(s string) string { return strings.ToLower(separators.Replace(s)) }

// first returns the first argument with one of these names that is set.
func (a arguments) first(names []string) (gjson.Result, bool) {
	for _, n := range names {
		if v, ok := a.values[n]; ok && v.Type != gjson.Null {
			return v, true
		}
	}
	return gjson.Result{}, false
}

func (a arguments) text(names []string) (string, bool) {
	for _, n := range names {
		if v, ok := a.values[n]; ok && v.Type == gjson.String {
			return v.Str, true
		}
	}
	return "", false
}

// maxPaths bounds the files of one call.
const maxPaths = 16

// paths returns the files that a call names.
func (a arguments) paths(t Tool) []string {
	names := argumentNames[Read]
	if t.Role == List || t.Role == Move {
		names = argumentNames[t.Role]
	}
	if t.Argument != "" {
		names = []string{plainName(t.Argument)}
	}
	v, ok := a.first(names)
	if !ok && a.values == nil && t.Role != Write { // the only argument, as text
		v = gjson.Result{Type: gjson.String, Str: strings.TrimSpace(a.raw)}
	}
	var out []string
	add := func(s string) {
		if s = cleanPath(s); s != "" && len(out) < maxPaths {
			out = append(out, s)
		}
	}
	switch {
	case v.IsArray():
		v.ForEach(func(_, e gjson.Result) bool {
			if e.IsObject() {
				e, _ = readArguments(e.Raw).first(argumentNames[Read])
			}
			add(e.String())
			return len(out) < maxPaths
		})
	case v.Type == gjson.String:
		add(v.Str)
	}
	return out
}

// cleanPath normalises a path as models write it. It returns "" for an invalid one.
func cleanPath(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "\"'`")
	if rest, ok := strings.CutPrefix(s, "file://"); ok {
		if u, err := url.PathUnescape(rest); err == nil {
			s = u
		}
	}
	if s == "" || len(s) > 1024 || strings.ContainsAny(s, "\n\r\x00") || strings.Contains(s, "://") {
		return ""
	}
	if strings.Contains(s, `\`) && !strings.Contains(s, "/") {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	return s
}

// pattern returns what a search searches for.
func (a arguments) pattern(t Tool) string {
	names := argumentNames[Search]
	if t.Argument != "" {
		names = []string{plainName(t.Argument)}
	}
	v, ok := a.first(names)
	if !ok && a.values == nil {
		return oneLine(a.raw)
	}
	if v.IsArray() {
		v = v.Get("0")
	}
	return oneLine(v.String())
}

// command returns the command line of a call.
func (a arguments) command(t Tool) string {
	names := argumentNames[Run]
	if t.Argument != "" {
		names = []string{plainName(t.Argument)}
	}
	v, ok := a.first(names)
	switch {
	case !ok && a.values == nil:
		return strings.TrimSpace(a.raw)
	case v.IsArray():
		var words []string
		v.ForEach(func(_, w gjson.Result) bool {
			words = append(words, w.String())
			return len(words) < 1000
		})
		return shell.Join(words)
	case v.IsObject(): // local_shell nests the arguments
		return readArguments(v.Raw).command(Tool{})
	}
	return strings.TrimSpace(v.String())
}

// folder returns the folder in which a command runs, "" for the project's own
// folder.
func (a arguments) folder() string {
	s, _ := a.text(folders)
	return cleanPath(s)
}

func (a arguments) address(t Tool) string {
	names := argumentNames[Fetch]
	if t.Argument != "" {
		names = []string{plainName(t.Argument)}
	}
	v, _ := a.first(names)
	if v.IsArray() {
		v = v.Get("0")
	}
	u, err := url.Parse(strings.TrimSpace(v.String()))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", "" // they may hold secrets, and do not identify the page
	return u.String()
}
