package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/finding/outcome"
	"github.com/kenlayer/ken/internal/harvest/finding/shell"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// evidenceIn is a piece of evidence in an agent's arguments.
type evidenceIn struct {
	Kind string `json:"kind" rule:"enum=agent_assertion|user_statement|message|tool_result|url|file|git_history|exit_code|test_result|model_inference" jsonschema:"file needs path; git_history: commit; exit_code: a command that ran in this session; test_result: a test that passed in it; tool_result: tool_call_id; url: url. agent_assertion is your own word, model_inference your conclusion"`

	Detail   string `json:"detail,omitempty" rule:"chars=1000" jsonschema:"quote or summary"`
	Path     string `json:"path,omitempty" rule:"chars=500"`
	Line     int    `json:"line,omitempty" rule:"min=1;max=10000000"`
	URL      string `json:"url,omitempty" rule:"chars=2000"`
	Commit   string `json:"commit,omitempty" rule:"chars=64"`
	Command  string `json:"command,omitempty" rule:"chars=2000" jsonschema:"as it was run"`
	ExitCode *int   `json:"exit_code,omitempty" rule:"min=-1;max=255"`
	Test     string `json:"test,omitempty" rule:"chars=500"`
	Call     string `json:"tool_call_id,omitempty" rule:"chars=200"`
	Message  string `json:"message_id,omitempty" rule:"chars=200"`
}

// checkedEvidence is evidence that may be stored, with notes about pieces that were not accepted as
// given.
type checkedEvidence struct {
	pieces []ken.Evidence
	notes  []string
}

// evidence converts an agent's pieces of evidence, which get at most an agent's trust. A hard piece
// that Ken can't check is stored as the agent's assertion, with a note that says why. It returns
// ErrInvalid for a piece without its reference, and for a file that does not exist. It never reads
// files of another owner's project.
func (c *Call) evidence(ctx context.Context, given []evidenceIn) (checkedEvidence, error) {
	var out checkedEvidence
	w := recordedRuns{c: c}
	for i := range given {
		field := fmt.Sprintf("evidence[%d]", i)
		e, why, err := c.piece(ctx, &w, &given[i], field)
		if err != nil {
			return out, err
		}
		if why != "" {
			out.notes = append(out.notes, field+": "+why+"; kept as your assertion")
			e = ken.FromAgentAssertion(c.Agent, assertion(&given[i]))
		}
		e.FetchedAt = c.Now()
		e.Trust = min(e.Speaker(), ken.TrustAgent)
		e.SessionID = cmp.Or(e.SessionID, sessionOf(e.Kind, c.Session))
		out.pieces = append(out.pieces, e)
	}
	return out, nil
}

// sessionOf returns the session that is stored with a piece of evidence. A check has none: with
// different sessions, the same check would count twice.
func sessionOf(k ken.EvidenceKind, session string) string {
	switch k {
	case ken.EvidenceAgentAssertion, ken.EvidenceToolResult:
		return session
	}
	return ""
}

// foreignProject is the reason for not reading the project's files for another owner's agent. The
// answer would tell the agent what the files contain.
const foreignProject = "the files of this project are not those of this caller's owner"

// piece converts one piece of evidence. why is the reason why Ken could not check it; "" if it
// could.
func (c *Call) piece(ctx context.Context, w *recordedRuns, g *evidenceIn, field string) (e ken.Evidence, why string, err error) {
	need := func(name, value, example string) bool {
		if strings.TrimSpace(value) != "" {
			return true
		}
		err = invalid(field+"."+name, "is missing in "+g.Kind+" evidence", "Set "+name+", such as "+example+", or use another kind.")
		return false
	}
	switch ken.EvidenceKind(g.Kind) {
	case ken.EvidenceUserStatement:
		e = ken.FromUserStatement(c.Session, g.Message)
		e.Detail = g.Detail
	case ken.EvidenceMessage:
		e = ken.FromMessage(c.Session, g.Message, g.Detail)
	case ken.EvidenceToolResult:
		if need("tool_call_id", g.Call, "call_1") {
			e = ken.FromToolResult(g.Call, g.Detail)
		}
	case ken.EvidenceURL:
		if need("url", g.URL, "https://example.org/page") {
			e, err = provenance.Page(field+".url", g.URL, c.Now())
			e.Detail = g.Detail
		}
	case ken.EvidenceModelInference:
		e = ken.FromModelInference(c.Session, g.Message, g.Detail)
	case ken.EvidenceFile:
		if !need("path", g.Path, "internal/retry.go") {
			break
		}
		if c.checkOwner() != nil {
			return e, foreignProject, nil
		}
		if e, err = c.file(g.Path, field); err == nil {
			e.Line, e.Detail = g.Line, g.Detail
		}
	case ken.EvidenceGitHistory:
		if !need("commit", g.Commit, "4f9a2c71") {
			break
		}
		if c.checkOwner() != nil {
			return e, foreignProject, nil
		}
		e, why, err = c.commit(ctx, g.Commit, field)
	case ken.EvidenceExitCode:
		if need("command", g.Command, "go test ./...") {
			e, why, err = w.exitCode(ctx, g.Command, g.ExitCode)
		}
	case ken.EvidenceTestResult:
		if need("test", g.Test, "TestRetry") {
			e, why, err = w.testResult(ctx, g.Test)
		}
	default:
		e = ken.FromAgentAssertion(c.Agent, g.Detail)
	}
	return e, why, err
}

// assertion returns the text of evidence that Ken could not check.
func assertion(g *evidenceIn) string {
	said := g.Kind
	for _, s := range []string{g.Path, g.Command, g.Test, g.Commit} {
		if s != "" {
			said += " " + s
		}
	}
	if g.ExitCode != nil {
		said += fmt.Sprintf(" exited with %d", *g.ExitCode)
	}
	if g.Detail != "" {
		said += ": " + g.Detail
	}
	return said + " (not seen by Ken)"
}

// newEvidence returns the pieces of more that have does not contain.
func newEvidence(have, more []ken.Evidence) []ken.Evidence {
	seen := map[string]bool{}
	name := func(e ken.Evidence) string {
		return string(e.Kind) + "\x00" + e.Reference() + "\x00" + e.ContentHash
	}
	for _, e := range have {
		seen[name(e)] = true
	}
	var out []ken.Evidence
	for _, e := range more {
		if !seen[name(e)] {
			seen[name(e)] = true
			out = append(out, e)
		}
	}
	return out
}

// commitTimeout is the time limit for looking up a commit.
const commitTimeout = 3 * time.Second

// file returns a file of the project as evidence, with the hash of its content.
func (c *Call) file(name, field string) (ken.Evidence, error) {
	e, err := provenance.Evidence(c.r.layer.Root(), name)
	if why, ok := errors.AsType[*ken.Error](err); ok {
		return e, invalid(field+".path", why.Msg, "Check the path, which is relative to the project's root, or use agent_assertion.")
	}
	return e, err
}

var commitHash = lazyregexp.New(`^[0-9a-fA-F]{7,64}$`)

// commit returns a commit of the project's repository as evidence, if git knows it.
func (c *Call) commit(ctx context.Context, hash, field string) (e ken.Evidence, why string, err error) {
	if hash = strings.TrimSpace(hash); !commitHash.MatchString(hash) {
		return e, "", invalid(field+".commit", clip(hash)+" is not the hash of a commit", "Give at least 7 hexadecimal digits, as git log shows them.")
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-C", c.r.layer.Root(),
		"log", "-1", "--no-show-signature", "--no-notes", "--no-decorate", "--no-color", "--no-patch", "--encoding=UTF-8", "--format=%H%x00%s", hash, "--")
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
	out, err := cmd.Output()
	if err != nil {
		return e, "git does not know commit " + clip(hash) + " in the project", nil
	}
	full, subject, _ := strings.Cut(strings.TrimSpace(string(out)), "\x00")
	return ken.FromGitHistory("", full, analysis.Clip(subject, 200)), "", nil
}

// recordedRuns finds the commands that ran in the caller's session, if its messages are journaled.
// What an agent says about a run is only its assertion; what the journal has is evidence.
type recordedRuns struct {
	c     *Call
	read  bool
	calls []finding.Call
}

// commands returns the commands that ran in the session.
func (w *recordedRuns) commands(ctx context.Context) ([]finding.Call, error) {
	if w.read || w.c.Session == "" {
		return w.calls, nil
	}
	tr, err := w.c.r.layer.Operator().Transcript(ctx, w.c.Owner, w.c.Session)
	if err != nil && !errors.Is(err, ken.ErrNotFound) {
		return nil, err
	}
	w.read = true
	for _, call := range finding.Calls(&tr, w.c.r.findingTools) {
		if call.Role == finding.Run {
			w.calls = append(w.calls, call)
		}
	}
	return w.calls, nil
}

// exitCode returns the exit code of a command's last run in the session as evidence. A command that
// changes or tests nothing, or whose status is that of a pipe, proves nothing.
func (w *recordedRuns) exitCode(ctx context.Context, command string, said *int) (e ken.Evidence, why string, err error) {
	calls, err := w.commands(ctx)
	if err != nil {
		return e, "", err
	}
	for _, call := range slices.Backward(calls) {
		sh := call.Shell()
		if call.Exit == nil || collapseSpaces(call.Command) != collapseSpaces(command) && collapseSpaces(sh.Text) != collapseSpaces(command) {
			continue
		}
		if said != nil && *said != *call.Exit {
			return e, fmt.Sprintf("Ken has seen that command exit with %d, not %d", *call.Exit, *said), nil
		}
		if !proves(sh) {
			return e, "the exit status of that command proves nothing", nil
		}
		return ken.FromExitCode(sh.Text, *call.Exit), "", nil
	}
	return e, "Ken has not seen this command run in this session", nil
}

// testResult returns a test as evidence if its last run in the session passed.
func (w *recordedRuns) testResult(ctx context.Context, name string) (e ken.Evidence, why string, err error) {
	calls, err := w.commands(ctx)
	if err != nil {
		return e, "", err
	}
	for _, call := range slices.Backward(calls) {
		if !proves(call.Shell()) {
			continue
		}
		for _, t := range outcome.Tests(outcome.Text(call.Output)) {
			switch {
			case t.Name != strings.TrimSpace(name):
			case !t.Passed:
				return e, "the test failed when it ran last", nil
			default:
				return ken.FromTestResult(t.Name, analysis.Clip(collapseSpaces(call.Command), 200)), "", nil
			}
		}
	}
	return e, "Ken has not seen this test pass in this session", nil
}

// proves reports whether a command's exit status is its own and means something.
func proves(sh shell.Command) bool { return sh.Text != "" && sh.OwnExit && !sh.Trivial }

func collapseSpaces(s string) string { return strings.Join(strings.Fields(s), " ") }
