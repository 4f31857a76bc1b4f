package ken_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

var someDay = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// samples has one piece of every kind, made by that kind's constructor, with
// what the layer must believe of it.
var samples = []struct {
	kind         ken.EvidenceKind
	piece        ken.Evidence
	hard, backed bool
	speaker      ken.Trust
	alone        ken.Tier // of a claim that has nothing else
}{
	{ken.EvidenceMessage, ken.FromMessage("s1", "m1", "we use sagas"), false, false, ken.TrustAgent, ken.Assumed},
	{ken.EvidenceToolResult, ken.FromToolResult("tc1", "ok"), false, true, ken.TrustExternal, ken.Inferred},
	{ken.EvidenceUserStatement, ken.FromUserStatement("s1", "m1"), false, false, ken.TrustOperator, ken.Assumed},
	{ken.EvidenceArtifact, ken.FromArtifact("report-7", "out/report.txt"), false, true, ken.TrustAgent, ken.Inferred},
	{ken.EvidenceFile, ken.FromFile("a.go", "acme/payments", "abc123"), false, true, ken.TrustOperator, ken.Inferred},
	{ken.EvidenceURL, ken.FromURL("https://example.com", someDay, ""), false, false, ken.TrustExternal, ken.Assumed},
	{ken.EvidenceURL, ken.FromURL("https://example.com", someDay, "sha256:00"), false, true, ken.TrustExternal, ken.Inferred},
	{ken.EvidenceModelInference, ken.FromModelInference("s1", "m1", "it seems"), false, false, ken.TrustAgent, ken.Assumed},
	{ken.EvidenceHumanAssertion, ken.FromHumanAssertion("ada", someDay, "checked"), false, true, ken.TrustOperator, ken.Inferred},
	{ken.EvidenceTestResult, ken.FromTestResult("TestSaga", "ok"), true, false, ken.TrustAgent, ken.Inferred},
	{ken.EvidenceExitCode, ken.FromExitCode("go vet ./...", 0), true, false, ken.TrustAgent, ken.Inferred},
	{ken.EvidenceValidator, ken.FromValidator("schema", "ok"), true, false, ken.TrustAgent, ken.Inferred},
	{ken.EvidenceGitHistory, ken.FromGitHistory("acme/payments", "abc123", "add saga"), true, false, ken.TrustOperator, ken.Inferred},
	{ken.EvidenceAgentAssertion, ken.FromAgentAssertion("reviewer", "I think so"), false, false, ken.TrustAgent, ken.Assumed},
	{ken.EvidenceDecision, ken.FromDecision("0198-decision"), false, true, ken.TrustOperator, ken.Inferred},
	{ken.EvidenceRepositoryMemory, ken.FromRepositoryMemory("0198-memory"), false, true, ken.TrustAgent, ken.Inferred},
}

func TestEvidenceRulesPerKind(t *testing.T) {
	seen := map[ken.EvidenceKind]bool{}
	for _, s := range samples {
		t.Run(string(s.kind), func(t *testing.T) {
			e := s.piece
			if e.Kind != s.kind {
				t.Errorf("the constructor makes kind %q", e.Kind)
			}
			if err := e.Validate(); err != nil {
				t.Errorf("the constructor's piece is refused: %v", err)
			}
			if e.Hard() != s.hard || e.Backed() != s.backed {
				t.Errorf("hard %v backed %v, want %v %v", e.Hard(), e.Backed(), s.hard, s.backed)
			}
			if e.Speaker() != s.speaker {
				t.Errorf("speaker %v, want %v", e.Speaker(), s.speaker)
			}
			c := claimWith(e)
			if got := c.Support(nil).Tier; got != s.alone {
				t.Errorf("alone it earns %v, want %v", got, s.alone)
			}
		})
		seen[s.kind] = true
	}
	for _, k := range ken.EvidenceKinds() {
		if !seen[k] {
			t.Errorf("kind %s has no constructor in this table", k)
		}
	}
	if len(seen) != len(ken.EvidenceKinds()) {
		t.Errorf("EvidenceKinds lists %d kinds, the constructors make %d", len(ken.EvidenceKinds()), len(seen))
	}
}

func TestEvidenceConstructorsKeepTheirArguments(t *testing.T) {
	code := 2
	for _, tt := range []struct {
		name      string
		got, want ken.Evidence
	}{
		{"message", ken.FromMessage("s", "m", "q"), ken.Evidence{Kind: "message", SessionID: "s", MessageID: "m", Detail: "q"}},
		{"tool_result", ken.FromToolResult("c", "q"), ken.Evidence{Kind: "tool_result", ToolCallID: "c", Detail: "q"}},
		{"user_statement", ken.FromUserStatement("s", "m"), ken.Evidence{Kind: "user_statement", SessionID: "s", MessageID: "m"}},
		{"artifact", ken.FromArtifact("a", "p"), ken.Evidence{Kind: "artifact", ArtifactID: "a", Path: "p"}},
		{"file", ken.FromFile("p", "r", "c"), ken.Evidence{Kind: "file", Path: "p", Repo: "r", CommitSHA: "c"}},
		{"url", ken.FromURL("u", someDay, "h"), ken.Evidence{Kind: "url", URL: "u", FetchedAt: someDay, ContentHash: "h"}},
		{"model_inference", ken.FromModelInference("s", "m", "q"), ken.Evidence{Kind: "model_inference", SessionID: "s", MessageID: "m", Detail: "q"}},
		{"human_assertion", ken.FromHumanAssertion("u", someDay, "q"), ken.Evidence{Kind: "human_assertion", ID: "u", FetchedAt: someDay, Detail: "q"}},
		{"test_result", ken.FromTestResult("i", "q"), ken.Evidence{Kind: "test_result", ID: "i", Detail: "q"}},
		{"exit_code", ken.FromExitCode("make", 2), ken.Evidence{Kind: "exit_code", ID: "make", ExitCode: &code}},
		{"validator", ken.FromValidator("i", "q"), ken.Evidence{Kind: "validator", ID: "i", Detail: "q"}},
		{"git_history", ken.FromGitHistory("r", "c", "q"), ken.Evidence{Kind: "git_history", Repo: "r", CommitSHA: "c", Detail: "q"}},
		{"agent_assertion", ken.FromAgentAssertion("a", "q"), ken.Evidence{Kind: "agent_assertion", ID: "a", Detail: "q"}},
		{"decision", ken.FromDecision("i"), ken.Evidence{Kind: "decision", ID: "i"}},
		{"repository_memory", ken.FromRepositoryMemory("i"), ken.Evidence{Kind: "repository_memory", ID: "i"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEvidenceSpeaker(t *testing.T) {
	e := ken.FromToolResult("tc1", "ok")
	e.Trust = ken.TrustOperator
	if e.Speaker() != ken.TrustOperator {
		t.Error("a piece's own trust must win over its kind's")
	}
	if got := (ken.Evidence{Kind: "rumour"}).Speaker(); got != ken.TrustExternal {
		t.Errorf("an unknown kind speaks as %v, want external", got)
	}
}

func TestEvidenceReference(t *testing.T) {
	base := ken.Evidence{Kind: ken.EvidenceFile, Path: "a.go"}
	different := map[string]func(*ken.Evidence){
		"id":           func(e *ken.Evidence) { e.ID = "x" },
		"session_id":   func(e *ken.Evidence) { e.SessionID = "x" },
		"message_id":   func(e *ken.Evidence) { e.MessageID = "x" },
		"tool_call_id": func(e *ken.Evidence) { e.ToolCallID = "x" },
		"artifact_id":  func(e *ken.Evidence) { e.ArtifactID = "x" },
		"path":         func(e *ken.Evidence) { e.Path = "b.go" },
		"line":         func(e *ken.Evidence) { e.Line = 7 },
		"repo":         func(e *ken.Evidence) { e.Repo = "x" },
		"commit_sha":   func(e *ken.Evidence) { e.CommitSHA = "x" },
		"url":          func(e *ken.Evidence) { e.URL = "x" },
	}
	seen := map[string]string{base.Reference(): "nothing"}
	for name, change := range different {
		e := base
		change(&e)
		if other, ok := seen[e.Reference()]; ok {
			t.Errorf("changing %s gives the same reference as changing %s", name, other)
		}
		seen[e.Reference()] = name
	}
	for name, change := range map[string]func(*ken.Evidence){
		"detail":       func(e *ken.Evidence) { e.Detail = "another summary" },
		"fetched_at":   func(e *ken.Evidence) { e.FetchedAt = someDay },
		"content_hash": func(e *ken.Evidence) { e.ContentHash = "sha256:11" },
		"exit_code":    func(e *ken.Evidence) { e.ExitCode = new(int) },
		"trust":        func(e *ken.Evidence) { e.Trust = ken.TrustOperator },
	} {
		e := base
		change(&e)
		if e.Reference() != base.Reference() {
			t.Errorf("%s must not make another piece of it", name)
		}
	}
}

func TestEvidenceValidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		e     ken.Evidence
		field string // "" for valid
	}{
		{"no kind", ken.Evidence{}, "kind"},
		{"unknown kind", ken.Evidence{Kind: "rumour"}, "kind"},
		{"file without path", ken.Evidence{Kind: ken.EvidenceFile}, "path"},
		{"url without url", ken.Evidence{Kind: ken.EvidenceURL}, "url"},
		{"tool result without call", ken.Evidence{Kind: ken.EvidenceToolResult}, "tool_call_id"},
		{"negative line", ken.Evidence{Kind: ken.EvidenceFile, Path: "a.go", Line: -1}, "line"},
		{"line", ken.Evidence{Kind: ken.EvidenceFile, Path: "a.go", Line: 3}, ""},
		{"bare message", ken.Evidence{Kind: ken.EvidenceMessage}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { wantField(t, tt.e.Validate(), tt.field) })
	}
}

// wantField checks that err is an ErrInvalid at a field that says what to do,
// or nil when field is empty.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	var e *ken.Error
	if !errors.As(err, &e) || !errors.Is(err, ken.ErrInvalid) {
		t.Fatalf("got %v, want an ErrInvalid at %s", err, field)
	}
	if e.Field != field {
		t.Errorf("field %q, want %q (%v)", e.Field, field, err)
	}
	if ken.Hint(err) == "" {
		t.Errorf("no hint in %v", err)
	}
}

func claimWith(evidence ...ken.Evidence) ken.Claim {
	return ken.Claim{Kind: ken.KindFact, Text: "payments uses sagas", Status: ken.StatusObserved,
		Confidence: 1, CreatedAt: someDay, Evidence: evidence}
}
