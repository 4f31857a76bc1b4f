package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// long is a session of n messages: a quarter of a user, and calls with results
// between them.
func long(n int) *session.Transcript {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "long"}}}
	at := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	for i := range n {
		var m ken.Message
		switch i % 4 {
		case 0:
			m = ken.Message{Role: "user", Text: fmt.Sprintf("The staging database of team %d is pg-%d and its backups run at %d:30. I prefer small commits, and we decided to drop module %d because nobody uses it. "+
				"By the way, my colleague Priya moved to office %d last week. Can you look at handler_%d.go and tell me why request %d fails?", i, i, i%24, i, i, i, i)}
		case 1:
			m = ken.Message{Role: "assistant", Text: "I will run the tests first, then look at the handler.",
				ToolCalls: []ken.ToolCall{{ID: fmt.Sprint("c", i), Name: "bash", Arguments: fmt.Sprintf(`{"command":"go test ./pkg%d/..."}`, i)}}}
		case 2:
			m = ken.Message{Role: "tool", ToolCallID: fmt.Sprint("c", i-1), Text: strings.Repeat("=== RUN   TestX\n--- PASS: TestX (0.00s)\n", 100) + "--- FAIL: TestY\nexit status 1"}
		default:
			m = ken.Message{Role: "assistant", Text: strings.Repeat("The handler reads the body twice, so the second read is empty. ", 10) + "\n\nNext steps:\n- read the body once\n- add a test"}
		}
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), At: at.Add(time.Duration(i) * time.Minute), Message: m})
	}
	return tr
}

func BenchmarkDraft(b *testing.B) {
	for _, n := range []int{20, 200, 5000} {
		tr := long(n)
		b.Run(fmt.Sprint(n, "-messages"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				extract.Draft(tr, extract.Options{})
			}
		})
	}
}
