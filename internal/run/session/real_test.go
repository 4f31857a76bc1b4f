package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/run/session"
)

// TestRealSession plays the requests of a real session with an agent, each of which
// repeats the messages of those before it, with a restart after every third. What is
// kept is what was said, once.
func TestRealSession(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "session"), "hermes_session_2026-05-15_en.txt"))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, session.Options{})
	said, kept := map[string]map[string]bool{}, map[string]int{}
	requests, id := 0, ""
	for line := range strings.Lines(string(raw)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var turns [][]struct{ Role, Content, Timestamp string }
		if err := json.Unmarshal([]byte(line), &turns); err != nil {
			t.Fatal(err)
		}
		if requests++; len(turns) == 1 { // a conversation that starts anew
			id = fmt.Sprint("conversation-", requests)
			said[id] = map[string]bool{}
		}
		var msgs []ken.Message
		for _, turn := range turns {
			for _, m := range turn {
				said[id][m.Timestamp+m.Role+m.Content] = true
				msgs = append(msgs, ken.Message{Role: m.Role, Text: m.Content})
			}
		}
		kept[id] += len(b.append(t, id, msgs...))
		if requests%3 == 0 {
			b.restart(session.Options{})
		}
	}
	total := 0
	for id, messages := range said {
		if total += len(messages); kept[id] != len(messages) || b.info(t, id).Messages != len(messages) {
			t.Errorf("%s: kept %d of %d messages", id, kept[id], len(messages))
		}
	}
	if total == 0 {
		t.Fatal("nothing was said")
	}
	t.Logf("%d requests, %d conversations, %d messages", requests, len(said), total)
}
