package harvest_test

import (
	"bufio"
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
	f, err := os.Open(filepath.Join(evaldata.Dir(t, "beam-dev"), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	asked := 0
	for lines.Scan() {
		var line struct {
			Text     string
			Metadata struct{ Conv, Role string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		switch {
		case line.Metadata.Conv != conversation:
		case line.Metadata.Role == "user":
			if asked%8 == 0 {
				sessions = append(sessions, nil)
			}
			asked++
			sessions[len(sessions)-1] = append(sessions[len(sessions)-1], user(line.Text))
		case len(sessions) > 0:
			sessions[len(sessions)-1] = append(sessions[len(sessions)-1], assistant(line.Text))
		}
	}
	return sessions
}
