package pattern

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
)

// Source is the kind of activity in which a pattern was found.
type Source string

// Sources.
const (
	Command Source = "command" // a command that succeeded
	Test    Source = "test"    // a test that passed
	File    Source = "file"    // a file that was written more than once
	Failure Source = "failure" // a command that failed more than once
)

var prefixes = map[Source]string{
	Command: "Shell command succeeds: ",
	Test:    "Test passes: ",
	File:    "File is modified repeatedly in sessions: ",
	Failure: "Shell command fails repeatedly: ",
}

// Body is the body of a pattern's claim. One of Command, Test and File is set.
type Body struct {
	Source    Source `json:"source"`
	Command   string `json:"command,omitempty"`
	Test      string `json:"test,omitempty"`
	File      string `json:"file,omitempty"`
	Count     int    `json:"count"`                // times in the most recent session
	LastError string `json:"last_error,omitempty"` // error line of the last failure
	ExitCode  *int   `json:"exit_code,omitempty"`  // exit code of the last failure
	AsRun     string `json:"as_run,omitempty"`     // the command line that was run last, if it differs
}

// Values of a candidate before anybody reviewed it. They are equal for all
// candidates, so that the number of reinforcements decides. They are chosen, not
// measured.
const (
	confidence = 0.6
	importance = 0.4
	maxAsRun   = 300 // bytes
)

// found is a pattern before it is a claim.
type found struct {
	source    Source
	name      string // the command, test or file
	count     int
	rank      int
	last      *finding.Call
	asRun     string
	lastError string
	evidence  []ken.Evidence
	calls     []*finding.Call // calls that are evidence if there is no other
}

// Key returns the key of a pattern's claim. It is the same in every session of a
// scope, or of a project if there is no scope.
func Key(s Source, name string, info session.Info) string {
	where := info.Scope.String()
	where = cmp.Or(where, info.Project)
	sum := sha256.Sum256([]byte(where + "\x00" + prefixes[s] + name))
	return "pattern:" + string(s) + ":" + hex.EncodeToString(sum[:12])
}

func (f *found) claim(info session.Info) ken.Claim {
	b := Body{Source: f.source, Count: f.count, LastError: f.lastError}
	if f.source == Failure {
		b.ExitCode = f.last.Exit
	}
	if line := strings.Join(strings.Fields(f.asRun), " "); f.source != Test && line != f.name && len(line) <= maxAsRun {
		b.AsRun = line
	}
	switch f.source {
	case Test:
		b.Test = f.name
	case File:
		b.File = f.name
	default:
		b.Command = f.name
	}
	c := ken.Claim{
		Key: Key(f.source, f.name, info), Kind: ken.KindPattern, Text: prefixes[f.source] + f.name, Domain: string(f.source),
		Entities: []string{f.name}, Evidence: f.evidence, Status: ken.StatusHypothesis, Confidence: confidence, Importance: importance,
		Scope: info.Scope, Project: info.Project, Session: info.ID, Branch: info.Branch, Actor: ken.Actor{Type: "system", ID: "harvest"},
		Source: info.ID, SourceType: "harvest", CreatedAt: f.last.At,
	}
	c.Body, _ = json.Marshal(b) // strings and numbers always can be
	for _, call := range f.calls {
		e := ken.FromToolResult(call.ID, call.Name+" "+f.name)
		if e.ToolCallID == "" { // the older form of calls has none
			e.ToolCallID = (&session.Entry{Seq: call.Seq}).ID()
		}
		e.SessionID, e.MessageID, e.FetchedAt, e.Trust = info.ID, (&session.Entry{Seq: call.Seq}).ID(), call.At, ken.TrustAgent
		c.Evidence = append(c.Evidence, e)
	}
	return c
}
