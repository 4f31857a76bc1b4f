package pattern_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/finding"
	"github.com/kenlayer/ken/internal/harvest/pattern"
	"github.com/kenlayer/ken/internal/run/session"
)

// A session in which the tests passed and the linter was missing.
func ExampleExtract() {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "monday", Project: "pay"}}}
	run := func(command, output string) {
		id := fmt.Sprint("c", len(tr.Entries))
		for _, m := range []ken.Message{
			{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: id, Name: "Bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}}},
			{Role: "tool", ToolCallID: id, Text: output},
		} {
			tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(len(tr.Entries) + 1), At: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), Message: m})
		}
	}
	run("cd /src/pay && timeout 300 go test ./...", "ok  \tpay/store\t0.2s")
	run("make lint", "Exit code 2\nmake: golangci-lint: No such file or directory")
	run("make lint 2>&1", "Exit code 2\nmake: golangci-lint: No such file or directory")
	for _, c := range pattern.Extract(tr, finding.Defaults()) {
		fmt.Println(c.Status, strings.Join(strings.Split(c.Key, ":")[:2], ":"), c.Text)
	}
	// Output:
	// hypothesis pattern:failure Shell command fails repeatedly: make lint
	// hypothesis pattern:command Shell command succeeds: go test ./...
	// hypothesis pattern:test Test passes: pay/store
}
