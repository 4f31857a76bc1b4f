package session

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
)

// JobHarvest is the kind of the job that Journal.End adds; its payload is a
// HarvestJob.
const JobHarvest = "harvest"

// HarvestJob asks for a session to be harvested as far as its journal went when
// it ended.
type HarvestJob struct {
	Session string `json:"session"`
	Part    int    `json:"part"`
	Upto    uint64 `json:"upto"` // the journal's last message, by Entry.Seq
}

// About says whose messages they are. Everything but ID may be empty.
type About struct {
	ID      string      `json:"id"`
	Parent  string      `json:"parent,omitempty"` // the session that started this one, for a sub-agent's
	Project string      `json:"project,omitempty"`
	Branch  string      `json:"branch,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Model   string      `json:"model,omitempty"`
	Key     string      `json:"key,omitempty"`  // of the gateway, by its name, if all turns came with this one
	Scope   ken.Scope   `json:"scope,omitzero"` // of what is learned in it
	Scopes  []ken.Scope `json:"scopes,omitempty"`

	DistrustUser bool `json:"distrust_user,omitempty"` // see ken.Turn; of one turn it holds for the session
}

// State is where a session stands.
type State string

// States of a session.
const (
	Open      State = "open"      // messages may still come
	Ended     State = "ended"     // a job to harvest it waits or runs
	Harvested State = "harvested" // what it taught is in the store; its messages go after the grace period
	Failed    State = "failed"    // its job is dead; the messages stay
)

// Reason is why a session ended.
type Reason string

// Reasons.
const (
	Idle     Reason = "idle"     // nothing came for session.idle
	Closed   Reason = "closed"   // its program said so
	Deleted  Reason = "deleted"  // the conversation was deleted; its messages go right after the harvest
	Shutdown Reason = "shutdown" // the process ended
	Died     Reason = "died"     // the process was gone without a word
)

// Info is what is known of a session beside its messages.
type Info struct {
	About
	State   State  `json:"state"`
	Reason  Reason `json:"reason,omitempty"`
	Part    int    `json:"part"`    // from 1; a session that goes on after its messages were deleted starts another
	Process string `json:"process"` // that last wrote to it

	Started   time.Time `json:"started"`
	Active    time.Time `json:"active"` // the last message
	Ended     time.Time `json:"ended,omitzero"`
	Harvested time.Time `json:"harvested,omitzero"`

	Messages int    `json:"messages"` // in the journal
	Last     uint64 `json:"last"`     // Seq of the last one, counted over all parts

	Outcome *Outcome `json:"outcome,omitempty"` // of the last harvest
}

// Outcome is what came of a harvest. The lists hold ids of claims.
type Outcome struct {
	Episode    string         `json:"episode,omitempty"`
	Learned    []string       `json:"learned,omitempty"`    // new facts
	Reinforced []string       `json:"reinforced,omitempty"` // known already
	Superseded []string       `json:"superseded,omitempty"` // replaced by a new one
	Disputed   []string       `json:"disputed,omitempty"`   // contradicted, and now in the attention queue
	Patterns   []string       `json:"patterns,omitempty"`   // candidates, new or seen again
	Findings   []string       `json:"findings,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"` // what was not kept, by reason: echo, unquoted, reasoning, limit, …
	Model      string         `json:"model,omitempty"`   // that extracted; empty: the deterministic extractors
	Note       string         `json:"note,omitempty"`    // such as why there was no model
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

// Entry is one message of a journal, as it was kept: without reasoning, secrets
// and control characters, and cut to the journal's limit. Blocks that the layer
// injected are never entries.
type Entry struct {
	Seq     uint64      `json:"seq"` // from 1, rising, not reused
	At      time.Time   `json:"at"`  // when the layer saw it, or the message's own time
	Message ken.Message `json:"message"`
	Cut     int         `json:"cut,omitempty"` // bytes left out of the text

	// Files are the hashes ("sha256:" and hex) of the files that the message is
	// about, as they were when it came, by path relative to the project's root. An
	// empty hash means that there was no such file.
	Files map[string]string `json:"files,omitempty"`
}

// ID names the entry in evidence.
func (e *Entry) ID() string { return messageID(e.Seq) }

// Injection is a piece of knowledge that the layer put before the model in this
// session.
type Injection struct {
	ID   string    `json:"id"` // of the claim or chunk
	Kind ken.Kind  `json:"kind"`
	Text string    `json:"text"` // as injected
	At   time.Time `json:"at"`   // first
}

// Transcript is a whole session as far as its journal holds it.
type Transcript struct {
	Info     Info
	Entries  []Entry
	Injected []Injection
	// Checkpoint is the last one; nil when there is none.
	Checkpoint *Checkpoint
	// Upto is the last message that a harvest has read, by Entry.Seq; 0 when there was none.
	Upto uint64
}

// Checkpoint is where a session stands, small enough to be put before the model
// again when the conversation was cut or resumed.
type Checkpoint struct {
	At          time.Time `json:"at"`
	Seq         uint64    `json:"seq"`                   // the last message that it covers
	Goal        string    `json:"goal,omitempty"`        // what the user is after, in the user's words
	Focal       []string  `json:"focal,omitempty"`       // entities of the structure in focus, as analysis.Entity spells them; newest first
	Aspects     []string  `json:"aspects,omitempty"`     // of them, "entity: aspect", as far as claims under them were injected; newest first
	Entities    []string  `json:"entities,omitempty"`    // what else was named, newest first
	Files       []string  `json:"files,omitempty"`       // touched, newest first
	Open        []string  `json:"open,omitempty"`        // questions without an answer yet
	Constraints []string  `json:"constraints,omitempty"` // that surfaced, as injected
	LastStep    string    `json:"last_step,omitempty"`   // what was done last
}

// fileFields are names of arguments that hold a file, as the tools of well-known
// agents and of file servers have them, lower case without separators.
var fileFields = []string{"filepath", "filename", "targetfile", "notebookpath", "absolutepath", "relativeworkspacepath"}

// pathFields hold a file or a folder, or lists of them.
var pathFields = []string{"path", "file", "files", "paths", "filepaths", "relativepath", "source", "destination", "uri"}

// filesOf are the files that an entry is about, by its calls and its annotation.
func filesOf(e *Entry) []string {
	var out []string
	for i := range e.Message.ToolCalls {
		if v, ok := decode(e.Message.ToolCalls[i].Arguments); ok {
			out = collectFiles(out, "", v)
		}
	}
	return append(out, slices.Sorted(maps.Keys(e.Files))...)
}

// collectFiles appends the files in a JSON value that stands under a field.
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

// fileIn reads the value of a field as a file. Of a field that may hold a folder,
// only what looks like a file counts.
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

// mainFields hold what a call is about, the most telling first.
var mainFields = []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt"}

// describe says what a call does, such as "bash: go test ./...".
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
