package pattern

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/run/session"
)

var someDay = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// script writes a transcript call by call.
type script struct{ session.Transcript }

func newScript() *script {
	return &script{session.Transcript{Info: session.Info{About: session.About{ID: "s1", Project: "pay"}}}}
}

func (s *script) call(tool, arguments, result string) *script {
	n := uint64(len(s.Entries) + 1)
	id := fmt.Sprintf("call_%d", n)
	for i, m := range []ken.Message{{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: tool, Arguments: arguments}}}, {Role: "tool", ToolCallID: id, Text: result}} {
		s.Entries = append(s.Entries, session.Entry{Seq: n + uint64(i), At: someDay.Add(time.Duration(n) * time.Minute), Message: m})
	}
	return s
}

// run runs a command with a tool that names every exit code.
func (s *script) run(command string, code int, output string) *script {
	b, _ := json.Marshal(command) // a string always can be
	return s.call("run_command", `{"command":`+string(b)+`}`, fmt.Sprintf("Exit code: %d\nOutput:\n%s", code, output))
}

// unknown runs one with a tool that names none.
func (s *script) unknown(command, output string) *script {
	b, _ := json.Marshal(command)
	return s.call("run_command", `{"command":`+string(b)+`}`, output)
}

func (s *script) edit(path string) *script {
	return s.call("Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"abcd","new_string":"efgh"}`, path), "ok")
}

func (s *script) patterns() []ken.Claim { return Extract(&s.Transcript, finding.Tools{}) }

func (s *script) texts() []string {
	var out []string
	for _, c := range s.patterns() {
		out = append(out, c.Text)
	}
	return out
}

func body(t testing.TB, c ken.Claim) (b Body) {
	t.Helper()
	if err := json.Unmarshal(c.Body, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func kinds(c ken.Claim) string {
	s := ""
	for i, e := range c.Evidence {
		if i > 0 {
			s += " "
		}
		s += string(e.Kind)
	}
	return s
}
