package harvest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// In a long chat about one project, statements share most of their words, and few replace another.
// Two values change in this one.
func TestALongChatReplacesLittle(t *testing.T) {
	if race.Enabled {
		t.Skip("takes a minute under the race detector, and has one goroutine")
	}
	r := newRig(t)
	for i, messages := range longChat(t, "100K-1") {
		id := "s" + strconv.Itoa(i)
		r.say(t, id, messages...)
		r.end(t, id)
		r.clock.pass(24 * time.Hour)
	}
	facts, noted := r.kind(t, ken.KindFact), 0
	for _, c := range facts {
		if strings.Contains(c.Text, "until ") && strings.Contains(c.Text, ", now ") {
			noted++
			t.Log(c.Text)
		}
	}
	if len(facts) < 50 || noted*10 > len(facts) {
		t.Errorf("%d of %d facts have a note that they changed", noted, len(facts))
	}
}

// longChat returns a conversation of the data set BEAM in sessions of eight questions.
func longChat(t *testing.T, conversation string) (sessions [][]ken.Message) {
	corpus, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "beam-dev"), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range bytes.Lines(corpus) {
		var m struct {
			Text     string
			Metadata struct{ Conv, Role string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m.Metadata.Conv != conversation {
			continue
		}
		if m.Metadata.Role == "user" {
			if asked%8 == 0 {
				sessions = append(sessions, nil)
			}
			asked++
		}
		last := len(sessions) - 1
		sessions[last] = append(sessions[last], ken.Message{Role: m.Metadata.Role, Text: m.Text})
	}
	return sessions
}
