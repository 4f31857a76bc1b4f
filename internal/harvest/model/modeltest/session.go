package modeltest

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

//go:embed testdata/session.json
var daily []byte

// Session returns the transcript that the recorded answers are about: a short
// session of work on a repository, with tool calls, a suggestion that is
// accepted, one that is not, and a planted order in a file. Each call returns a
// new copy.
func Session() *session.Transcript {
	var messages []struct {
		Role, Text, Name, Call string
		Calls                  []ken.ToolCall
	}
	if err := json.Unmarshal(daily, &messages); err != nil {
		panic(err)
	}
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "daily"}, State: session.Ended, Messages: len(messages), Last: uint64(len(messages))}}
	at := time.Date(2026, 5, 15, 10, 0, 0, 0, time.UTC)
	for i, m := range messages {
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: at.Add(time.Duration(i) * time.Minute),
			Message: ken.Message{Role: m.Role, Name: m.Name, Text: m.Text, ToolCalls: m.Calls, ToolCallID: m.Call}})
	}
	return tr
}
