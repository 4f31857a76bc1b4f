package finding

import (
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/internal/simulate"
	"github.com/kenlayer/ken/internal/store/clean"
)

var someDay = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// script writes a transcript call by call.
type script struct {
	session.Transcript
}

func newScript() *script {
	return &script{session.Transcript{Info: session.Info{About: session.About{ID: "s1", Project: "pay"}}}}
}

func (s *script) add(m ken.Message, files map[string]string) {
	n := uint64(len(s.Entries) + 1)
	s.Entries = append(s.Entries, session.Entry{Seq: n, At: someDay.Add(time.Duration(n) * time.Minute), Message: m, Files: files})
}

// call adds a call and its result; files are paths and hashes in turn.
func (s *script) call(tool, arguments, result string, files ...string) *script {
	id := fmt.Sprintf("call_%d", len(s.Entries))
	s.add(ken.Message{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: tool, Arguments: arguments}}}, nil)
	var noted map[string]string
	for i := 0; i+1 < len(files); i += 2 {
		if noted == nil {
			noted = map[string]string{}
		}
		noted[files[i]] = files[i+1]
	}
	s.add(ken.Message{Role: "tool", ToolCallID: id, Text: result}, noted)
	return s
}

func (s *script) bash(command, result string) *script {
	return s.call("Bash", fmt.Sprintf(`{"command":%q}`, command), result)
}

// says adds a message of the user.
func (s *script) says(text string) *script {
	s.add(ken.Message{Role: "user", Text: text}, nil)
	return s
}

func (s *script) calls() []Call       { return Calls(&s.Transcript, Tools{}) }
func (s *script) findings() []Finding { return Extract(&s.Transcript, Tools{}) }

// only returns the single finding, "" for none.
func (s *script) only(t testing.TB) Finding {
	t.Helper()
	switch fs := s.findings(); len(fs) {
	case 0:
		return Finding{}
	case 1:
		return fs[0]
	default:
		t.Fatalf("%d findings: %+v", len(fs), fs)
		return Finding{}
	}
}

// transcript is a simulated session as its journal keeps it.
func transcript(s simulate.Session) *session.Transcript {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: s.ID, Project: "paylane", Agent: s.Agent}}}
	for i, m := range s.Messages {
		m.Text = clean.Text(m.Text)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Arguments = clean.Text(m.ToolCalls[j].Arguments)
		}
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: s.Start.Add(time.Duration(i) * simulate.Step), Message: m, Files: s.Files[i]})
	}
	return tr
}
