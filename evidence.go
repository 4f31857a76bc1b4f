package ken

import (
	"strconv"
	"strings"
	"time"
)

// EvidenceKind is the type of a piece of evidence.
type EvidenceKind string

// The kinds of evidence. The first eight come from conversations, artifacts and people;
// the others come from checks, the repository and the layer itself.
const (
	EvidenceMessage        EvidenceKind = "message"
	EvidenceToolResult     EvidenceKind = "tool_result"
	EvidenceUserStatement  EvidenceKind = "user_statement"
	EvidenceArtifact       EvidenceKind = "artifact"
	EvidenceFile           EvidenceKind = "file"
	EvidenceURL            EvidenceKind = "url"
	EvidenceModelInference EvidenceKind = "model_inference"
	EvidenceHumanAssertion EvidenceKind = "human_assertion"

	EvidenceTestResult       EvidenceKind = "test_result"
	EvidenceExitCode         EvidenceKind = "exit_code"
	EvidenceValidator        EvidenceKind = "validator"
	EvidenceGitHistory       EvidenceKind = "git_history"
	EvidenceAgentAssertion   EvidenceKind = "agent_assertion"
	EvidenceDecision         EvidenceKind = "decision"
	EvidenceRepositoryMemory EvidenceKind = "repository_memory"
)

// evidenceRule holds how a kind is rated: its strength, and the trust in its source if
// the evidence does not set it.
type evidenceRule struct {
	hard   bool // mechanical proof: two independent pieces verify a claim
	backed bool // refers to something outside the conversation: one piece makes a claim Inferred
	trust  Trust
}

var evidenceRules = map[EvidenceKind]evidenceRule{
	EvidenceMessage:          {trust: TrustAgent},
	EvidenceToolResult:       {backed: true, trust: TrustExternal},
	EvidenceUserStatement:    {trust: TrustOperator},
	EvidenceArtifact:         {backed: true, trust: TrustAgent},
	EvidenceFile:             {backed: true, trust: TrustOperator},
	EvidenceURL:              {trust: TrustExternal}, // backed only with a content hash
	EvidenceModelInference:   {trust: TrustAgent},
	EvidenceHumanAssertion:   {backed: true, trust: TrustOperator},
	EvidenceTestResult:       {hard: true, trust: TrustAgent},
	EvidenceExitCode:         {hard: true, trust: TrustAgent},
	EvidenceValidator:        {hard: true, trust: TrustAgent},
	EvidenceGitHistory:       {hard: true, trust: TrustOperator},
	EvidenceAgentAssertion:   {trust: TrustAgent},
	EvidenceDecision:         {backed: true, trust: TrustOperator},
	EvidenceRepositoryMemory: {backed: true, trust: TrustAgent},
}

// EvidenceKinds returns every known kind, in the order of the constants.
func EvidenceKinds() []EvidenceKind {
	return []EvidenceKind{
		EvidenceMessage, EvidenceToolResult, EvidenceUserStatement, EvidenceArtifact, EvidenceFile,
		EvidenceURL, EvidenceModelInference, EvidenceHumanAssertion, EvidenceTestResult, EvidenceExitCode,
		EvidenceValidator, EvidenceGitHistory, EvidenceAgentAssertion, EvidenceDecision, EvidenceRepositoryMemory,
	}
}

// Evidence is a typed reference to something that supports a claim. Only the fields
// that its kind uses are set; the FromX constructors set them.
type Evidence struct {
	Kind        EvidenceKind `json:"kind"`
	ID          string       `json:"id,omitempty"` // id of a user, test, validator or other claim
	SessionID   string       `json:"session_id,omitempty"`
	MessageID   string       `json:"message_id,omitempty"`
	ToolCallID  string       `json:"tool_call_id,omitempty"`
	ArtifactID  string       `json:"artifact_id,omitempty"`
	Path        string       `json:"path,omitempty"` // slash-separated, relative to the repository
	Line        int          `json:"line,omitempty"` // first line of the passage, from 1; 0 is unknown
	Repo        string       `json:"repo,omitempty"`
	CommitSHA   string       `json:"commit_sha,omitempty"`
	URL         string       `json:"url,omitempty"`
	ContentHash string       `json:"content_hash,omitempty"` // "sha256:" and hex, of the whole file or page
	ExitCode    *int         `json:"exit_code,omitempty"`
	FetchedAt   time.Time    `json:"fetched_at,omitzero"` // when it was collected
	Detail      string       `json:"detail,omitempty"`    // a quote, a summary, a rationale
	Trust       Trust        `json:"trust,omitzero"`      // trust in its source; TrustUnknown uses the kind's default
}

// Reference identifies the piece within its kind: pieces of one kind with the same
// reference count as one piece.
func (e Evidence) Reference() string {
	line := ""
	if e.Line > 0 {
		line = strconv.Itoa(e.Line)
	}
	return strings.Join([]string{
		e.ID, e.SessionID, e.MessageID, e.ToolCallID, e.ArtifactID, e.Path, line, e.Repo, e.CommitSHA, e.URL,
	}, "\x1f")
}

// Speaker returns the trust in the source of this piece: its own Trust when set, else the
// default of its kind. A kind that the layer does not know is external.
func (e Evidence) Speaker() Trust {
	if e.Trust != TrustUnknown {
		return e.Trust
	}
	if rule, ok := evidenceRules[e.Kind]; ok {
		return rule.trust
	}
	return TrustExternal
}

// Hard reports whether the piece is a mechanical proof: a test result, an exit code, a
// validator's result, or git history.
func (e Evidence) Hard() bool { return evidenceRules[e.Kind].hard }

// Backed reports whether the piece refers to something outside the conversation. A URL
// counts only with a content hash, because a page may change.
func (e Evidence) Backed() bool {
	return evidenceRules[e.Kind].backed || e.Kind == EvidenceURL && e.ContentHash != ""
}

// Validate returns an error for a piece with an unknown kind or without its reference.
func (e Evidence) Validate() error {
	if _, ok := evidenceRules[e.Kind]; !ok {
		return invalid("kind", "unknown evidence kind "+strconv.Quote(string(e.Kind)),
			"Use one of "+joinKinds(EvidenceKinds())+".")
	}
	need := map[EvidenceKind][2]string{
		EvidenceFile: {"path", e.Path}, EvidenceURL: {"url", e.URL}, EvidenceToolResult: {"tool_call_id", e.ToolCallID},
	}[e.Kind]
	if need[0] != "" && need[1] == "" {
		return invalid(need[0], "empty in "+string(e.Kind)+" evidence", "Set "+need[0]+", or use another kind.")
	}
	if err := writable("fetched_at", e.FetchedAt); err != nil {
		return err
	}
	if e.Line < 0 {
		return invalid("line", "negative", "Count lines from 1, or leave it out.")
	}
	return nil
}

func joinKinds[T ~string](kinds []T) string {
	s := make([]string, len(kinds))
	for i, k := range kinds {
		s[i] = string(k)
	}
	return strings.Join(s, ", ")
}

// FromMessage returns evidence from a chat message; quote is the relevant passage.
func FromMessage(sessionID, messageID, quote string) Evidence {
	return Evidence{Kind: EvidenceMessage, SessionID: sessionID, MessageID: messageID, Detail: quote}
}

// FromToolResult returns evidence from the result of a tool call.
func FromToolResult(toolCallID, summary string) Evidence {
	return Evidence{Kind: EvidenceToolResult, ToolCallID: toolCallID, Detail: summary}
}

// FromUserStatement returns evidence from a user's statement in a session.
func FromUserStatement(sessionID, messageID string) Evidence {
	return Evidence{Kind: EvidenceUserStatement, SessionID: sessionID, MessageID: messageID}
}

// FromArtifact returns evidence from a produced file, report or output.
func FromArtifact(artifactID, path string) Evidence {
	return Evidence{Kind: EvidenceArtifact, ArtifactID: artifactID, Path: path}
}

// FromFile returns evidence from a file. Set ContentHash on the result if the evidence
// should no longer count once the file changes.
func FromFile(path, repo, commit string) Evidence {
	return Evidence{Kind: EvidenceFile, Path: path, Repo: repo, CommitSHA: commit}
}

// FromURL returns evidence from a web page. Without a content hash ("sha256:…") it is
// weak, because the page may change or vanish.
func FromURL(url string, fetchedAt time.Time, contentHash string) Evidence {
	return Evidence{Kind: EvidenceURL, URL: url, FetchedAt: fetchedAt, ContentHash: contentHash}
}

// FromModelInference returns evidence from a model's own reasoning: the weakest kind.
func FromModelInference(sessionID, messageID, rationale string) Evidence {
	return Evidence{Kind: EvidenceModelInference, SessionID: sessionID, MessageID: messageID, Detail: rationale}
}

// FromHumanAssertion returns evidence from a person's statement outside the
// conversation ("I checked this by hand"). detail should say what the person checked.
func FromHumanAssertion(userID string, assertedAt time.Time, detail string) Evidence {
	return Evidence{Kind: EvidenceHumanAssertion, ID: userID, FetchedAt: assertedAt, Detail: detail}
}

// FromTestResult returns evidence from a test run; id names the test.
func FromTestResult(id, summary string) Evidence {
	return Evidence{Kind: EvidenceTestResult, ID: id, Detail: summary}
}

// FromExitCode returns evidence from a command's exit status. The command is the
// reference, so the same command run twice is one piece.
func FromExitCode(command string, code int) Evidence {
	return Evidence{Kind: EvidenceExitCode, ID: command, ExitCode: &code}
}

// FromValidator returns evidence from a check that passed; id names the validator.
func FromValidator(id, summary string) Evidence {
	return Evidence{Kind: EvidenceValidator, ID: id, Detail: summary}
}

// FromGitHistory returns evidence from a commit of a repository.
func FromGitHistory(repo, commit, subject string) Evidence {
	return Evidence{Kind: EvidenceGitHistory, Repo: repo, CommitSHA: commit, Detail: subject}
}

// FromAgentAssertion returns evidence from an agent's statement without further
// support.
func FromAgentAssertion(agentID, detail string) Evidence {
	return Evidence{Kind: EvidenceAgentAssertion, ID: agentID, Detail: detail}
}

// FromDecision returns evidence from a recorded decision; id is the id of its claim.
func FromDecision(id string) Evidence {
	return Evidence{Kind: EvidenceDecision, ID: id}
}

// FromRepositoryMemory returns evidence from another claim that the layer harvested; id
// is the id of that claim. Forgetting that claim also forgets the claims derived from
// it.
func FromRepositoryMemory(id string) Evidence {
	return Evidence{Kind: EvidenceRepositoryMemory, ID: id}
}
