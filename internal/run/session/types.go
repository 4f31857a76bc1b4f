package session

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// JobHarvest is the kind of the job that Journal.End adds; its payload is a
// HarvestJob.
const JobHarvest = "harvest"

// HarvestJob is the payload of a job that harvests a session, up to the message
// that was last when it ended.
type HarvestJob struct {
	Session string `json:"session"`
	Part    int    `json:"part"`
	Upto    uint64 `json:"upto"` // the last message to harvest, by Entry.Seq
}

// About describes the origin of a session's messages. All fields but ID may be
// empty.
type About struct {
	ID      string      `json:"id"`
	Parent  string      `json:"parent,omitempty"` // for a sub-agent: the session that started this one
	Project string      `json:"project,omitempty"`
	Branch  string      `json:"branch,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Model   string      `json:"model,omitempty"`
	Key     string      `json:"key,omitempty"`  // name of the gateway's key, if all turns came with the same key
	Scope   ken.Scope   `json:"scope,omitzero"` // scope of what is learned in the session
	Scopes  []ken.Scope `json:"scopes,omitempty"`

	DistrustUser bool `json:"distrust_user,omitempty"` // see ken.Turn; once set by a turn, it stays set
	// TrustUser says that all processes that received the session trusted its user because each served
	// one person; see knowledge.trust_user. So it does not matter which process harvests it.
	TrustUser bool `json:"trust_user,omitempty"`
}

// State is the state of a session.
type State string

// States of a session.
const (
	Open      State = "open"      // messages may still come
	Ended     State = "ended"     // its harvest job waits or runs
	Harvested State = "harvested" // its claims are stored; its messages are deleted after the grace period
	Failed    State = "failed"    // its harvest job is dead; the messages stay
)

// Reason is why a session ended.
type Reason string

// Reasons.
const (
	Idle     Reason = "idle"     // nothing came for session.idle
	Closed   Reason = "closed"   // the program ended it
	Deleted  Reason = "deleted"  // the conversation was deleted; its messages are deleted right after the harvest
	Shutdown Reason = "shutdown" // the process shut down
	Died     Reason = "died"     // the process disappeared
)

// Info describes a session, without its messages.
type Info struct {
	About
	State   State  `json:"state"`
	Reason  Reason `json:"reason,omitempty"`
	Part    int    `json:"part"`    // from 1; a session that continues after a sweep starts another part
	Process string `json:"process"` // the last process that wrote to it

	Started   time.Time `json:"started"`
	Active    time.Time `json:"active"` // time of the last message
	Ended     time.Time `json:"ended,omitzero"`
	Harvested time.Time `json:"harvested,omitzero"`

	Messages int    `json:"messages"` // in the journal
	Last     uint64 `json:"last"`     // Seq of the last message, counted over all parts

	Outcome *Outcome `json:"outcome,omitempty"` // of the last harvest
}

// Outcome is the result of a harvest. The lists hold ids of claims.
type Outcome struct {
	Episode    string         `json:"episode,omitempty"`
	Learned    []string       `json:"learned,omitempty"`    // new facts
	Reinforced []string       `json:"reinforced,omitempty"` // existed already
	Superseded []string       `json:"superseded,omitempty"` // replaced by a new claim
	Disputed   []string       `json:"disputed,omitempty"`   // contradicted, and now in the attention queue
	Patterns   []string       `json:"patterns,omitempty"`   // candidates, new or seen again
	Findings   []string       `json:"findings,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"` // number of dropped candidates by reason: echo, unquoted, reasoning, limit, …
	Model      string         `json:"model,omitempty"`   // the model that extracted; empty for the deterministic extractors
	Note       string         `json:"note,omitempty"`    // such as why no model was used
}

// EpisodeBody is the body of a claim of kind episode.
type EpisodeBody struct {
	Session  string    `json:"session"`
	Part     int       `json:"part"`
	Messages int       `json:"messages"`
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended"`
	Model    string    `json:"model,omitempty"` // that summarised; empty: rules
	Note     string    `json:"note,omitempty"`
	Files    []string  `json:"files,omitempty"` // touched, newest first
	Open     []string  `json:"open,omitempty"`  // questions without an answer
}

// Entry is one message as the journal stores it: without reasoning, secrets and
// control characters, and cut to the journal's limit. Blocks that the layer
// injected are never entries.
type Entry struct {
	Seq     uint64      `json:"seq"` // from 1, increasing, never reused
	At      time.Time   `json:"at"`  // when the layer saw it, or the message's own time
	Message ken.Message `json:"message"`
	Cut     int         `json:"cut,omitempty"` // bytes removed from the text

	// Files holds the hashes ("sha256:" and hex) of the files that the message is
	// about, as they were when it came, by path relative to the project's root. An
	// empty hash means that the file did not exist.
	Files map[string]string `json:"files,omitempty"`
}

// ID returns the name of the entry in evidence.
func (e *Entry) ID() string { return "m" + strconv.FormatUint(e.Seq, 10) }

// Injection is a piece of knowledge that the layer put before the model in this
// session.
type Injection struct {
	ID   string    `json:"id"` // of the claim or chunk
	Kind ken.Kind  `json:"kind"`
	Text string    `json:"text"` // as injected, after cleaning
	At   time.Time `json:"at"`   // time of the first injection
}

// Transcript is the journal's content of one session.
type Transcript struct {
	Info     Info
	Entries  []Entry
	Injected []Injection
	// Checkpoint is the session's checkpoint; nil if there is none.
	Checkpoint *Checkpoint
	// Upto is the Entry.Seq of the last message that a harvest covered; 0 if there
	// was no harvest.
	Upto uint64
}

// Checkpoint summarises the state of a session. It is small enough to be put
// before the model again when the conversation was cut or resumed.
type Checkpoint struct {
	At          time.Time `json:"at"`
	Seq         uint64    `json:"seq"`                   // the last message that it covers, by Entry.Seq
	Goal        string    `json:"goal,omitempty"`        // what the user wants, in the user's words
	Focal       []string  `json:"focal,omitempty"`       // entities of the structure in focus, as analysis.Entity spells them; newest first
	Aspects     []string  `json:"aspects,omitempty"`     // "entity: aspect" of those entities, if claims under the aspect were injected; newest first
	Entities    []string  `json:"entities,omitempty"`    // other names that were mentioned, newest first
	Files       []string  `json:"files,omitempty"`       // files of tool calls, newest first
	Open        []string  `json:"open,omitempty"`        // unanswered questions
	Constraints []string  `json:"constraints,omitempty"` // rules that were injected, as injected
	LastStep    string    `json:"last_step,omitempty"`   // what was done last
}

// fileFields are the argument names that hold a file in the tools of well-known
// agents and file servers, in lower case without separators.
var fileFields = []string{"filepath", "filename", "targetfile", "notebookpath", "absolutepath", "relativeworkspacepath"}

// pathFields are the argument names that hold a file, a folder, or a list of them.
var pathFields = []string{"path", "file", "files", "paths", "filepaths", "relativepath", "source", "destination", "uri"}

// filesOf returns the files that an entry is about, from its calls and its
// annotation.
func filesOf(e *Entry) []string {
	var out []string
	for i := range e.Message.ToolCalls {
		if v, ok := decode(e.Message.ToolCalls[i].Arguments); ok {
			out = collectFiles(out, "", v)
		}
	}
	return append(out, slices.Sorted(maps.Keys(e.Files))...)
}

// collectFiles appends the files in a JSON value of a field.
func collectFiles(out []string, field string, v any) []string {
	switch v := v.(type) {
	case string:
		if p, ok := fileIn(field, v); ok {
			out = append(out, p)
		}
	case []any:
		for _, e := range v {
			out = collectFiles(out, field, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = collectFiles(out, k, v[k])
		}
	}
	return out
}

// fileIn returns the file that a field's value names, and whether it names one.
// For a field that may hold a folder, only a value that looks like a file counts.
func fileIn(field, value string) (string, bool) {
	field = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(field))
	value = strings.TrimPrefix(strings.TrimSpace(value), "file://")
	sure := slices.Contains(fileFields, field)
	if !sure && !slices.Contains(pathFields, field) || value == "" || len(value) > maxPoint || strings.ContainsAny(value, "\n*?{}<>|\"") ||
		strings.Contains(value, "://") || strings.HasSuffix(value, "/") {
		return "", false
	}
	value = path.Clean(strings.ReplaceAll(value, "\\", "/"))
	base := path.Base(value)
	named := strings.LastIndexByte(base, '.') > 0 || strings.HasPrefix(base, ".") && len(base) > 2 ||
		slices.Contains([]string{"Makefile", "Dockerfile", "LICENSE", "Gemfile", "Rakefile", "Procfile", "Jenkinsfile"}, base)
	return value, base != "." && base != "/" && base != ".." && (sure || named)
}

// mainFields are the argument names that describe a call best, in order of
// preference.
var mainFields = []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"}

// describe returns a short description of a call, such as "bash: go test ./...".
func describe(c *ken.ToolCall) string {
	v, ok := decode(c.Arguments)
	if args, is := v.(map[string]any); ok && is {
		for _, f := range slices.Concat(mainFields, slices.Sorted(maps.Keys(args))) {
			if s, is := args[f].(string); is && strings.TrimSpace(s) != "" {
				return c.Name + ": " + s
			}
		}
	}
	return c.Name
}
