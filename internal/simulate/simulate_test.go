package simulate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func TestSameSeedGivesTheSameSessions(t *testing.T) {
	a, b := Work(1, 20), Work(1, 20)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave different sessions")
	}
	if reflect.DeepEqual(Work(2, 20), a) {
		t.Error("another seed gave the same sessions")
	}
	if got := Sessions(1, 20); len(got) != 20 || !reflect.DeepEqual(got[3], a[3].Messages) {
		t.Error("Sessions and Work differ")
	}
}

// A session that no agent could have had would measure nothing.
func TestSessionsAreWellFormed(t *testing.T) {
	agentsSeen, tools := map[string]bool{}, map[string]int{}
	total := 0
	for _, s := range Work(7, 60) {
		agentsSeen[s.Agent] = true
		total += len(s.Messages)
		if len(s.Files) != len(s.Messages) {
			t.Fatalf("%s: %d messages and files of %d", s.ID, len(s.Messages), len(s.Files))
		}
		open := map[string]bool{}
		for i, m := range s.Messages {
			switch m.Role {
			case "assistant":
				for _, c := range m.ToolCalls {
					if !json.Valid([]byte(c.Arguments)) {
						t.Errorf("%s: arguments %q", s.ID, c.Arguments)
					}
					if open[c.ID] {
						t.Errorf("%s: call %s twice", s.ID, c.ID)
					}
					open[c.ID] = true
					tools[c.Name]++
				}
			case "tool":
				if !open[m.ToolCallID] {
					t.Errorf("%s: a result of no call", s.ID)
				}
			case "user":
			default:
				t.Errorf("role %q", m.Role)
			}
			for name, h := range s.Files[i] {
				if m.Role != "tool" || strings.HasPrefix(name, "/") || h != "" && !strings.HasPrefix(h, "sha256:") {
					t.Errorf("%s: file %q with hash %q beside a %s message", s.ID, name, h, m.Role)
				}
			}
		}
	}
	if len(agentsSeen) != len(agents) {
		t.Errorf("agents %v", agentsSeen)
	}
	for _, tool := range []string{"Read", "Edit", "Bash", "shell", "apply_patch", "execute_command", "mcp__filesystem__read_text_file", "run_shell_command", "WebFetch"} {
		if tools[tool] == 0 {
			t.Errorf("no call of %s: %v", tool, tools)
		}
	}
	if per := total / 60; per < 15 || per > 120 {
		t.Errorf("%d messages a session", per)
	}
}

func claim(text string) *ken.Claim { return &ken.Claim{Kind: ken.KindFact, Text: text} }

func TestJunk(t *testing.T) {
	for text, want := range map[string]string{
		"ok":                                   "says nothing",
		"something":                            "says nothing",
		"it works fine now":                    "names nothing",
		"The change was made and all is well.": "names nothing",
		"The user asked about store/log.go.":   "speaks of the session",
		"Let me check the file go.mod":         "speaks of the session",
		"You're welcome, run go test":          "speaks of the session",
		"Is port 8080 free?":                   "is a question",
		"the report is in /tmp/report-1.html":  "does not last",
		"a\nb\nc\nd\ne\nf\ng\nh go test":       "is a copy",
	} {
		if got, junk := Junk(claim(text)); !junk || got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The rule must not pass for strict by calling knowledge junk.
func TestKnowledgeIsNoJunk(t *testing.T) {
	for _, text := range []string{
		"Shell command succeeds: go test ./...", "store/log.go: Go package store, declares Open", "The API listens on port 8080.", "Caroline works in Berlin.",
		"Always run the linter first.", "Never push to main.", "Prefer short answers.", "`ErrNotFound` is in store/errors.go", "/money/ is owned by @paylane/core (CODEOWNERS)",
		"Decision 0003 \"Webhooks are signed\" is accepted", "The user prefers tabs.", "deploys happen on Tuesday",
	} {
		if why, junk := Junk(claim(text)); junk {
			t.Errorf("%q: %s", text, why)
		}
	}
	command := &ken.Claim{Kind: ken.KindPattern, Text: "Shell command succeeds: make seed", Entities: []string{"make seed"}}
	if why, junk := Junk(command); junk {
		t.Errorf("a command: %s", why)
	}
	vague := &ken.Claim{Kind: ken.KindFact, Text: "the work went on as planned", Entities: []string{"work", "the thing itself"}}
	if _, junk := Junk(vague); !junk {
		t.Error("entities that the text does not name, or that are mere words, make knowledge of it")
	}
	episode := &ken.Claim{Kind: ken.KindEpisode, Text: "The user asked for a limit in store/log.go.\na\nb\nc\nd\ne\nf\ng\nh"}
	if why, junk := Junk(episode); junk {
		t.Errorf("an episode: %s", why)
	}
}

func TestRepeats(t *testing.T) {
	var list []ken.Claim
	for _, s := range []string{"Use port 8080.", "use port 8080", "Use port 8081.", "port 8080: use!", "Do not use port 8080."} {
		list = append(list, *claim(s))
	}
	if got := Repeats(list); !reflect.DeepEqual(got, []int{1, 3}) {
		t.Errorf("%v", got)
	}
}
