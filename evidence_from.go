package ken

import "time"

// FromMessage is evidence from a chat message; quote is the passage relied on.
func FromMessage(sessionID, messageID, quote string) Evidence {
	return Evidence{Kind: EvidenceMessage, SessionID: sessionID, MessageID: messageID, Detail: quote}
}

// FromToolResult is evidence from the result of a tool call.
func FromToolResult(toolCallID, summary string) Evidence {
	return Evidence{Kind: EvidenceToolResult, ToolCallID: toolCallID, Detail: summary}
}

// FromUserStatement is evidence from something that the user said in a session.
func FromUserStatement(sessionID, messageID string) Evidence {
	return Evidence{Kind: EvidenceUserStatement, SessionID: sessionID, MessageID: messageID}
}

// FromArtifact is evidence from a produced file, report or output.
func FromArtifact(artifactID, path string) Evidence {
	return Evidence{Kind: EvidenceArtifact, ArtifactID: artifactID, Path: path}
}

// FromFile is evidence from a file. Set ContentHash on the result when the
// claim should stop standing once the file changes.
func FromFile(path, repo, commit string) Evidence {
	return Evidence{Kind: EvidenceFile, Path: path, Repo: repo, CommitSHA: commit}
}

// FromURL is evidence from a web page. Without a content hash ("sha256:…") it
// is weak, because the page may change or vanish.
func FromURL(url string, fetchedAt time.Time, contentHash string) Evidence {
	return Evidence{Kind: EvidenceURL, URL: url, FetchedAt: fetchedAt, ContentHash: contentHash}
}

// FromModelInference is evidence from a model's own reasoning: the weakest kind.
func FromModelInference(sessionID, messageID, rationale string) Evidence {
	return Evidence{Kind: EvidenceModelInference, SessionID: sessionID, MessageID: messageID, Detail: rationale}
}

// FromHumanAssertion is a person's word outside the conversation ("I checked
// this by hand"). It is as good as that person's check: say what was checked.
func FromHumanAssertion(userID string, assertedAt time.Time, detail string) Evidence {
	return Evidence{Kind: EvidenceHumanAssertion, ID: userID, FetchedAt: assertedAt, Detail: detail}
}

// FromTestResult is evidence from a test run; id names the test.
func FromTestResult(id, summary string) Evidence {
	return Evidence{Kind: EvidenceTestResult, ID: id, Detail: summary}
}

// FromExitCode is evidence from a command's exit status; command is the
// reference, so the same command run twice is one piece.
func FromExitCode(command string, code int) Evidence {
	return Evidence{Kind: EvidenceExitCode, ID: command, ExitCode: &code}
}

// FromValidator is evidence from a check that passed; id names the validator.
func FromValidator(id, summary string) Evidence {
	return Evidence{Kind: EvidenceValidator, ID: id, Detail: summary}
}

// FromGitHistory is evidence from a commit of a repository.
func FromGitHistory(repo, commit, subject string) Evidence {
	return Evidence{Kind: EvidenceGitHistory, Repo: repo, CommitSHA: commit, Detail: subject}
}

// FromAgentAssertion is an agent's word, with nothing behind it.
func FromAgentAssertion(agentID, detail string) Evidence {
	return Evidence{Kind: EvidenceAgentAssertion, ID: agentID, Detail: detail}
}

// FromDecision is evidence from a recorded decision; id is that claim's id.
func FromDecision(id string) Evidence {
	return Evidence{Kind: EvidenceDecision, ID: id}
}

// FromRepositoryMemory is evidence from another claim that the layer harvested;
// id is that claim's id. Forgetting it forgets what was derived from it.
func FromRepositoryMemory(id string) Evidence {
	return Evidence{Kind: EvidenceRepositoryMemory, ID: id}
}
