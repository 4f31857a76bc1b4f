package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Kind is the kind of a finding.
type Kind string

// Kinds of findings.
const (
	Observation  Kind = "observation" // about a file, or about where something is
	Change       Kind = "change"      // of a file
	Ownership    Kind = "ownership"
	Architecture Kind = "architectural_decision"
	Dependency   Kind = "dependency"
	Pitfall      Kind = "pitfall" // a failure and its cause
)

// MaxText is the maximum length of a finding's text, in characters.
const MaxText = 400

// Confidence is the confidence of every finding: a tool reported it, and nobody
// verified it.
const Confidence = 0.85

// Finding is something that a tool call found out or changed.
type Finding struct {
	Entity string // what it is about: a path, a pattern, a command, a package
	Kind   Kind
	Text   string // one short statement, at most MaxText characters
	Path   string // the file that is its evidence, relative to the project; "" for none
	Hash   string // hash of that file at the time, as in session.Entry.Files; "" if unknown

	Tool     string // name of the tool, as called
	CallID   string
	Seq      uint64    // sequence number of the result's entry
	At       time.Time // time of that entry
	ExitCode *int      // exit code of the command; nil if there is none or it is unknown

	// Files holds the hashes of further files that are evidence: those that a
	// search found.
	Files map[string]string
	// External says that it repeats the words of something outside the project.
	External bool

	weight int // a more useful finding has a greater weight
}

// unbackedLifetime is how long a finding without a file as evidence is valid, such as the
// content of a folder. Nothing shows when it is no longer true. A month is an
// estimate.
const unbackedLifetime = 30 * 24 * time.Hour

var importance = map[Kind]float64{Observation: 0.4, Change: 0.5, Ownership: 0.5, Architecture: 0.7, Dependency: 0.5, Pitfall: 0.7}

// Claim returns the finding as a claim of the session. The key contains kind,
// entity and scope, so that a later finding about the same entity becomes a new
// version of it, and the log keeps the earlier ones.
//
// A finding about files whose content was hashed has these files as its only
// evidence. It is valid as long as one of them is unchanged, and Guessed once all
// have changed. The tool's result is then no additional evidence, since it would
// still support the claim after the file has changed. Any other finding has
// tool_result evidence, and exit_code evidence if the exit code is known. A
// finding with neither a file nor an exit code expires after a month.
func (f Finding) Claim(info session.Info) ken.Claim {
	c := ken.Claim{
		Key: f.key(info), Kind: ken.KindFinding, Text: f.Text, Domain: string(f.Kind), Entities: f.entities(),
		Status: ken.StatusObserved, Confidence: Confidence, Importance: importance[f.Kind], Evidence: f.evidence(info),
		Scope: info.Scope, Project: info.Project, Session: info.ID, Branch: info.Branch, Actor: ken.Actor{Type: "tool", ID: f.Tool},
		Source: info.ID, SourceType: "tool:" + f.Tool, CreatedAt: f.At,
	}
	body := struct {
		Tool    string `json:"tool"`
		Call    string `json:"tool_call_id,omitempty"`
		Message string `json:"message_id"`
		Exit    *int   `json:"exit_code,omitempty"`
	}{f.Tool, f.CallID, f.messageID(), f.ExitCode}
	c.Body, _ = json.Marshal(body) // strings and a number always can be
	if !f.At.IsZero() && f.ExitCode == nil && !slices.ContainsFunc(c.Evidence, func(e ken.Evidence) bool { return e.Kind == ken.EvidenceFile }) && f.Kind == Observation {
		c.ExpiresAt = f.At.Add(unbackedLifetime)
	}
	return c
}

func (f Finding) messageID() string { return (&session.Entry{Seq: f.Seq}).ID() }

func (f Finding) key(info session.Info) string {
	key := "finding:" + string(f.Kind) + ":" + short(f.Entity)
	return key + within(info)
}

// within returns the suffix that separates the keys of different scopes or
// projects.
func within(info session.Info) string {
	switch {
	case !info.Scope.IsZero():
		return ":" + info.Scope.String()
	case info.Project != "":
		return ":" + info.Project
	}
	return ""
}

// short bounds a part of a key. The end of a long part is replaced by a hash.
func short(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return clip(s, 100) + hex.EncodeToString(sum[:8])
}

func (f Finding) entities() []string {
	out := []string{f.Entity}
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(f.Path)
	for _, name := range slices.Sorted(maps.Keys(f.Files)) {
		add(name)
	}
	return out
}

// evidence returns the evidence of the finding. File evidence has no session or
// call in its reference, so that equal content read again is the same piece of
// evidence.
func (f Finding) evidence(info session.Info) []ken.Evidence {
	files := map[string]string{}
	maps.Copy(files, f.Files)
	if f.Path != "" && f.Hash != "" {
		files[f.Path] = f.Hash
	}
	var out []ken.Evidence
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			continue
		}
		e := ken.FromFile(name, "", "")
		e.ContentHash, e.FetchedAt, e.Detail, e.Trust = files[name], f.At, f.Tool+": "+clip(f.Text, 120), ken.TrustAgent
		out = append(out, e)
	}
	if f.ExitCode != nil {
		e := ken.FromExitCode(f.Entity, *f.ExitCode)
		e.FetchedAt, e.Detail = f.At, clip(f.Text, 120)
		out = append(out, e)
	}
	if len(out) > 0 && !f.External {
		return out
	}
	id := f.CallID
	if id == "" { // the older form of calls has none
		id = f.messageID()
	}
	e := ken.FromToolResult(id, f.Tool+": "+clip(f.Text, 120))
	e.SessionID, e.MessageID, e.FetchedAt = info.ID, f.messageID(), f.At
	if !f.External {
		e.Trust = ken.TrustAgent
	}
	return append(out, e)
}

func (x *extractor) change(c *Call, ch change) {
	name := ch.path
	if ignored(c, name) {
		return
	}
	before, after := "", ch.new
	if f := x.seen[name]; f != nil {
		before = f.text
		if !ch.full && ch.old != "" {
			after = strings.Replace(f.text, ch.old, ch.new, 1)
			f.text = after
		}
		f.outdated = true
	}
	l := x.left[name]
	l.changed = c.Seq
	x.left[name] = l
	special := false
	if ch.full || isDecision(name) || path.Base(name) == "CODEOWNERS" {
		special = x.says(c, name, after)
	}
	for _, r := range required(name, ch.new, ch.old) {
		x.drop(Dependency, r.name)
	}
	for _, r := range required(name, ch.old, ch.new) {
		x.add(onFile(c, Dependency, r.name, r.text(name), name, weightRequire))
		special = true
	}
	e := x.edits[name]
	if e == nil {
		e = &edited{}
		x.edits[name] = e
	}
	e.add(ch, before)
	if special {
		return
	}
	if text := e.text(name); text != "" {
		f := onFile(c, Change, name, text, name, weightChange+min(e.calls, heaviestRepeats))
		if ch.to != "" && !isAbsolute(ch.to) {
			f.Path, f.Hash = ch.to, c.Files[ch.to]
		}
		x.add(f)
	}
}

// settle compares the findings with the state in which the session left the files.
// A change and a requirement get the final state of the file as evidence, whatever
// happened after them. Other findings about a file from before its last change are
// dropped, since they may no longer be true and no evidence could support them.
func (x *extractor) settle() {
	x.found = slices.DeleteFunc(x.found, func(f Finding) bool {
		for name := range f.Files {
			if x.outdated(name, f.Files[name], f.Seq) {
				delete(f.Files, name)
				if len(f.Files) == 0 {
					return true
				}
			}
		}
		if f.weight == weightList && x.refilled(f.Entity, f.Seq) {
			return true
		}
		return f.Path != "" && f.Kind != Change && f.Kind != Dependency && x.outdated(f.Path, f.Hash, f.Seq)
	})
	for i := range x.found {
		if f := &x.found[i]; f.Path != "" && (f.Kind == Change || f.Kind == Dependency) && x.left[f.Path].noted {
			f.Hash = x.left[f.Path].hash
		}
	}
	clear(x.last) // indices have changed
	for i, f := range x.found {
		x.last[string(f.Kind)+" "+f.Entity] = i
	}
}

// refilled reports whether a file of a folder was written, moved or deleted after
// the folder was listed.
func (x *extractor) refilled(dir string, seq uint64) bool {
	for name, l := range x.left {
		if path.Dir(name)+"/" == dir && l.changed > seq {
			return true
		}
	}
	return false
}

// outdated reports whether a file changed after the result seq, in which it had
// the hash.
func (x *extractor) outdated(name, hash string, seq uint64) bool {
	l := x.left[name]
	return l.changed > seq || l.noted && hash != "" && l.hash != hash
}

// wellKnown lists the tools of well-known coding agents and common MCP servers by
// role, each as name or name:argument. A name that several of them use is listed
// once, with the first.
var wellKnown = map[Role][]string{
	Read: {
		"read notebook_read",                                                           // Claude Code
		"view view_file view_file_outline view_code_item",                              // Windsurf, Crush, Zencoder
		"read_file read_many_files:paths read_files open_file",                         // Cline, Roo, Cursor, Gemini CLI, goose, fuseraft
		"read_text_file read_multiple_files:paths get_file_contents read_media_file:-", // MCP filesystem and GitHub servers
		"file_read fs_read cat open show_file",                                         // OpenHands, Amazon Q, SWE-agent
		"resource_read read_resource:uri",                                              // MCP
	},
	Search: {
		"grep glob", // Claude Code, opencode, Crush, Gemini CLI
		"grep_file grep_search grep_files search_files search_file_content search_code codebase_search:query file_search:query",
		"ripgrep rg find_files find_file:pattern search_dir:search_term search_file:search_term search_project",
		"list_code_usages:symbol_name find_references find_symbol:name_path find_by_name:pattern semantic_search:query text_search",
	},
	List: {
		"ls list list_dir list_directory list_files list_directory_with_sizes directory_tree list_code_definition_names read_folder get_file_info",
		"git_status:repo_path git_diff:repo_path git_diff_staged:repo_path git_diff_unstaged:repo_path git_log:repo_path git_show:revision git_branch:repo_path",
	},
	Write: {
		"write edit multi_edit multiedit notebook_edit", // Claude Code, opencode, Crush
		"apply_patch patch",                             // Codex, opencode, Copilot
		"write_to_file replace_in_file apply_diff insert_content search_and_replace new_file",                                                      // Cline, Roo
		"edit_file search_replace str_replace create_file edit_notebook insert_edit_into_file replace_string_in_file multi_replace_string_in_file", // Cursor, Copilot
		"write_file replace save_file", // Gemini CLI, MCP filesystem
		"str_replace_editor str_replace_based_edit_tool file_editor text_editor fs_write edit_block", // OpenHands, Anthropic, Amazon Q, Desktop Commander
		"replace_file_content multi_replace_file_content write_file_content propose_code append_file insert file_write file_edit create_or_update_file",
	},
	Delete: {"delete_file delete remove_file rm file_delete delete_path"},
	Move:   {"move_file move rename rename_file move_path"},
	Run: {
		"bash", // Claude Code, OpenHands, opencode, Crush
		"shell exec_command local_shell container.exec shell_command",                                           // Codex
		"execute_command run_shell_command run_terminal_cmd run_terminal_command run_in_terminal run_command",   // Cline, Roo, Gemini CLI, Cursor, Copilot, Windsurf
		"execute_bash terminal cmd_run start_process developer__shell launch_process run_shell exec shell_exec", // OpenHands, Desktop Commander, goose
	},
	Fetch: {
		"web_fetch webfetch fetch fetch_url read_url_content browse http_get url_fetch fetch_webpage:urls scrape_url",
	},
}

var defaults = func() map[string]Tool {
	m := map[string]Tool{}
	for role, lines := range wellKnown {
		for _, line := range lines {
			for entry := range strings.FieldsSeq(line) {
				name, argument, _ := strings.Cut(entry, ":")
				if argument == "-" { // images
					continue
				}
				m[name] = Tool{Name: name, Role: role, Argument: argument}
			}
		}
	}
	return m
}()

// Defaults returns the tools of well-known coding agents (Claude Code, Codex,
// Cursor, Cline, Roo, Copilot, Gemini CLI, Windsurf, opencode, Crush, goose,
// OpenHands, SWE-agent) and of MCP servers for files, git and web pages.
func Defaults() Tools { return Tools{byName: maps.Clone(defaults)} }
