package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// Session is one simulated session.
type Session struct {
	ID       string
	Agent    string
	Start    time.Time
	Messages []ken.Message
	// Files holds, for each message, the hashes of the files that a tool's result is
	// about at that moment, by path; "" if there is no file.
	Files []map[string]string
}

// monday is the start of the first session.
var monday = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Step is the time between two messages of a session.
const Step = 40 * time.Second

// Work returns n sessions on one repository, whose files change during the sessions.
func Work(seed uint64, n int) []Session {
	rng := rand.New(rand.NewPCG(seed, 60))
	fs := files()
	var out []Session
	for i := range n {
		d := &sessionWriter{rng: rng, fs: fs, a: &agents[rng.IntN(len(agents))]}
		d.s = Session{ID: fmt.Sprintf("session-%03d", i+1), Agent: d.a.name, Start: monday.Add(time.Duration(i/3)*24*time.Hour + time.Duration(i%3)*3*time.Hour)}
		d.begin()
		for range 1 + rng.IntN(3) {
			scenes[rng.IntN(len(scenes))](d)
		}
		d.end()
		out = append(out, d.s)
	}
	return out
}

// Sessions returns the messages of n sessions: see Work.
func Sessions(seed uint64, n int) [][]ken.Message {
	var out [][]ken.Message
	for _, s := range Work(seed, n) {
		out = append(out, s.Messages)
	}
	return out
}

// sessionWriter writes one session.
type sessionWriter struct {
	rng   *rand.Rand
	fs    map[string]string
	a     *agent
	s     Session
	calls int
}

func (d *sessionWriter) pick(list ...string) string { return list[d.rng.IntN(len(list))] }

// part selects a package and one of its files and functions.
func (d *sessionWriter) part() (p *part, file, fn string) {
	p = &parts[d.rng.IntN(len(parts))]
	names := p.fileNames()
	name := names[d.rng.IntN(len(names))]
	return p, p.name + "/" + name + ".go", p.files[name][d.rng.IntN(len(p.files[name]))]
}

func (d *sessionWriter) message(m ken.Message, files ...string) {
	d.s.Messages = append(d.s.Messages, m)
	var noted map[string]string
	if len(files) > 0 {
		noted = map[string]string{}
	}
	for _, f := range files {
		noted[f] = hash(d.fs[f])
	}
	d.s.Files = append(d.s.Files, noted)
}

func hash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (d *sessionWriter) user(text string) { d.message(ken.Message{Role: "user", Text: text}) }
func (d *sessionWriter) say(text string)  { d.message(ken.Message{Role: "assistant", Text: text}) }

// call adds a call and its result; files are the files that it is about.
func (d *sessionWriter) call(tool, arguments, result string, files ...string) {
	d.calls++
	id := fmt.Sprintf("call_%s_%d", strings.TrimPrefix(d.s.ID, "session-"), d.calls)
	d.message(ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: tool, Arguments: arguments}}})
	d.message(ken.Message{Role: "tool", ToolCallID: id, Text: result}, files...)
}

// bash runs a command.
func (d *sessionWriter) bash(command, output string, code int) {
	if d.a.name == "codex" {
		d.shell(command, output, code)
		return
	}
	d.call(d.a.run, args("command", command, "description", "Run a command"), d.a.framed(command, output, code))
}

// shell runs a command as codex does.
func (d *sessionWriter) shell(command, output string, code int, files ...string) {
	d.call("shell", args("command", []string{"bash", "-lc", command}, "workdir", root), d.a.framed(command, output, code), files...)
}

// read shows a file, or a part of it.
func (d *sessionWriter) read(file string, piece ...int) {
	text, ok := d.fs[file]
	from, n := 0, 400
	if len(piece) == 2 {
		from, n = piece[0], piece[1]
	}
	if d.a.name == "codex" {
		out, code := d.a.shown(text, from, n), 0
		if !ok {
			out, code = "sed: can't read "+file+": No such file or directory", 2
		}
		d.shell(fmt.Sprintf("sed -n '%d,%dp' %s", from+1, from+n, file), out, code, file)
		return
	}
	arguments := args(d.a.pathName, d.a.path(file))
	if from > 0 {
		arguments = args(d.a.pathName, d.a.path(file), "offset", from+1, "limit", n)
	}
	if !ok {
		d.call(d.a.read, arguments, "Error: ENOENT: no such file or directory, open '"+d.a.path(file)+"'", file)
		return
	}
	d.call(d.a.read, arguments, d.a.shown(text, from, n), file)
}

// grep searches the repository.
func (d *sessionWriter) grep(pattern string) {
	var hits, lines []string
	for _, name := range slices.Sorted(maps.Keys(d.fs)) {
		if name == ".env" {
			continue
		}
		for i, l := range strings.Split(d.fs[name], "\n") {
			if strings.Contains(l, pattern) {
				if !slices.Contains(hits, name) {
					hits = append(hits, name)
				}
				lines = append(lines, name+":"+strconv.Itoa(i+1)+":"+l)
			}
		}
	}
	noted := hits[:min(len(hits), 8)]
	switch {
	case d.a.name == "codex":
		code := 0
		if len(lines) == 0 {
			code = 1
		}
		d.shell("rg -n '"+pattern+"'", strings.Join(lines, "\n"), code, noted...)
	case len(hits) == 0:
		d.call(d.a.grep, args("pattern", pattern), "No files found")
	case d.a.name == "claude-code":
		d.call(d.a.grep, args("pattern", pattern, "output_mode", "files_with_matches"), fmt.Sprintf("Found %d files\n%s", len(hits), strings.Join(hits, "\n")), noted...)
	default:
		d.call(d.a.grep, args("pattern", pattern), strings.Join(lines, "\n"), noted...)
	}
}

// edit replaces a text in a file.
func (d *sessionWriter) edit(file, old, next string) {
	if !strings.Contains(d.fs[file], old) {
		d.call(d.editTool(), d.editArgs(file, old, next), d.a.failure("String to replace not found in file.\nString: "+old), file)
		return
	}
	d.fs[file] = strings.Replace(d.fs[file], old, next, 1)
	d.call(d.editTool(), d.editArgs(file, old, next), "The file "+d.a.path(file)+" has been updated.", file)
}

func (d *sessionWriter) editTool() string {
	if d.a.name == "codex" {
		return "apply_patch"
	}
	return d.a.edit
}

func (d *sessionWriter) editArgs(file, old, next string) string {
	switch d.a.name {
	case "codex":
		return args("input", "*** Begin Patch\n*** Update File: "+file+"\n@@\n-"+strings.ReplaceAll(old, "\n", "\n-")+"\n+"+strings.ReplaceAll(next, "\n", "\n+")+"\n*** End Patch")
	case "roo":
		return args("path", file, "edits", []map[string]string{{"oldText": old, "newText": next}})
	}
	return args(d.a.pathName, d.a.path(file), "old_string", old, "new_string", next)
}

func (a *agent) failure(text string) string {
	if a.name == "claude-code" {
		return "<tool_use_error>" + text + "</tool_use_error>"
	}
	return "Error: " + text
}

// write creates a file.
func (d *sessionWriter) write(file, text string) {
	d.fs[file] = text
	if d.a.name == "codex" {
		d.call("apply_patch", args("input", "*** Begin Patch\n*** Add File: "+file+"\n+"+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+")+"\n*** End Patch"), "Success. Updated the following files:\nA "+file, file)
		return
	}
	d.call(d.a.write, args(d.a.pathName, d.a.path(file), "content", text), "File created successfully at: "+d.a.path(file), file)
}

// list shows a folder.
func (d *sessionWriter) list(dir string) {
	var names []string
	for _, f := range slices.Sorted(maps.Keys(d.fs)) {
		if rest, ok := strings.CutPrefix(f, dir+"/"); ok && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	if d.a.name == "codex" {
		d.bash("ls "+dir, strings.Join(names, "\n"), 0)
		return
	}
	d.call(d.a.list, args("path", d.a.path(dir)), strings.Join(names, "\n"))
}
