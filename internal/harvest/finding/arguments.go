package finding

import (
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/harvest/finding/shell"
)

// argumentNames are the names under which the arguments of a role hold what the
// call is about, best first. They are compared without case, underscores and
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

// arguments reads the arguments of a call. They may be cut short, or be no JSON
// at all; whatever is there is used.
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

// first returns the first argument of these names that is there.
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
	if !ok && a.values == nil && t.Role != Write { // the only argument, as plain text
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

// cleanPath reads a path as models write it, and "" for what is none.
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

// pattern returns what a search looks for.
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

// command returns the line that a call runs.
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
	case v.IsObject(): // local_shell wraps it once more
		return readArguments(v.Raw).command(Tool{})
	}
	return strings.TrimSpace(v.String())
}

// folder returns where a command runs, "" for the project's own folder.
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
	u.User, u.RawQuery, u.Fragment = nil, "", "" // whatever is in them, it names nothing
	return u.String()
}
