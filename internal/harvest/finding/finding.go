package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// Kind is what sort of thing was found out.
type Kind string

// Kinds of findings.
const (
	Observation  Kind = "observation" // of a file, or of where something is
	Change       Kind = "change"      // of a file
	Ownership    Kind = "ownership"
	Architecture Kind = "architectural_decision"
	Dependency   Kind = "dependency"
	Pitfall      Kind = "pitfall" // what failed, and why
)

// MaxText is the longest text of a finding, in characters.
const MaxText = 400

// Confidence is that of every finding: a tool said so, and nobody looked again.
const Confidence = 0.85

// Finding is something that a tool call found out or changed.
type Finding struct {
	Entity string // what it is about: a path, a pattern, a command, a package
	Kind   Kind
	Text   string // one short statement, at most MaxText characters
	Path   string // the file that it rests on, relative to the project; "" for none
	Hash   string // of that file when it was seen, as in session.Entry.Files; "" when unknown

	Tool     string // as called
	CallID   string
	Seq      uint64    // of the result's entry
	At       time.Time // of it
	ExitCode *int      // of the command, nil when there is none or nobody named it

	// Files are the hashes of further files that it rests on: what a search found.
	Files map[string]string
	// External says that it repeats what something outside the project said.
	External bool

	weight int // of several, what is more useful has more
}

// passing is how long a finding stands that no file vouches for, such as what a
// folder held: nothing shows when it is no longer true. A month is a guess.
const passing = 30 * 24 * time.Hour

var importance = map[Kind]float64{Observation: 0.4, Change: 0.5, Ownership: 0.5, Architecture: 0.7, Dependency: 0.5, Pitfall: 0.7}

// Claim returns the finding as a claim of the session's. Its key names kind,
// entity and scope, so that a later finding of the same entity is a new version of
// it, and the log keeps the earlier ones.
//
// A finding that rests on files whose content was hashed has these files as its
// only evidence: it stands as long as one of them does, and is Guessed once all
// have changed. The result of the tool is no further evidence then, since it would
// go on vouching for a file that is no longer the same. Any other finding has
// tool_result evidence, and exit_code evidence when a command said so; what rests
// on neither file nor exit code expires after a month.
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
		c.ExpiresAt = f.At.Add(passing)
	}
	return c
}

func (f Finding) messageID() string { return (&session.Entry{Seq: f.Seq}).ID() }

func (f Finding) key(info session.Info) string {
	key := "finding:" + string(f.Kind) + ":" + short(f.Entity)
	return key + within(info)
}

// within keeps the keys of one owner's projects apart.
func within(info session.Info) string {
	switch {
	case !info.Scope.IsZero():
		return ":" + info.Scope.String()
	case info.Project != "":
		return ":" + info.Project
	}
	return ""
}

// short bounds a part of a key; a long one is told apart by its hash.
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

// evidence of a file has no session or call in its reference, so that the same
// content seen again is the same piece.
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
