package life

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/run/session"
)

// request is what the client of a recorded agent sent: all messages so far.
type request struct {
	at       time.Time
	messages []ken.Message
}

// requests reads a recording of a real agent: a line is one request.
func requests(t *testing.T) (out []request) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "session"), "hermes_session_2026-05-15_en.txt"))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var turns [][]struct {
			Role, Content string
			Timestamp     time.Time
		}
		if err := json.Unmarshal(in.Bytes(), &turns); err != nil {
			t.Fatal(err)
		}
		var r request
		for _, turn := range turns {
			for _, m := range turn {
				_, text, _ := strings.Cut(m.Content, ": ") // it repeats the role
				r.messages = append(r.messages, ken.Message{Role: m.Role, Text: text})
				r.at = m.Timestamp
			}
		}
		out = append(out, r)
	}
	return out
}

// A day of a real agent goes through the layer, request by request as its client sent
// them, with all earlier messages each time. Each message is journaled once, every
// conversation is harvested, and the next day's questions find what was said.
//
//	go test -run RealAgent -v ./internal/evals/life
func TestARealAgentsDayIsRememberedTheNextDay(t *testing.T) {
	var c clock
	l := layer(t, &c)
	owner := l.Config().Knowledge.Owner
	var ids []string
	for _, r := range requests(t) {
		id := "talk about " + fmt.Sprintf("%.40q", r.messages[0].Text)
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		c.set(r.at)
		l.Assemble(t.Context(), ken.Turn{Session: id, Agent: "hermes", Messages: r.messages})
	}
	for _, id := range ids {
		if err := l.End(t.Context(), owner, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Harvest(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	all, err := l.Operator().Journal(owner).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, s := range all {
		messages += s.Messages
		if s.State != session.Harvested || s.Outcome == nil {
			t.Errorf("%s is %s: %+v", s.ID, s.State, s.Outcome)
			continue
		}
		t.Logf("%-50.50s %3d messages: %d facts, %v", s.ID, s.Messages, len(s.Outcome.Learned), s.Outcome.Dropped)
	}
	t.Logf("%d requests, %d conversations, %d messages", len(requests(t)), len(all), messages)

	c.pass(24 * time.Hour)
	for question, want := range map[string]string{
		"How many hours of speech do we have to collect, and for which languages?": "22K hours",
		"Do the recordings need a transcription?":                                  "No text transcription",
	} {
		r := l.Assemble(t.Context(), ken.Turn{Session: "tomorrow", Messages: []ken.Message{{Role: "user", Text: question}}}).Receipt
		if !strings.Contains(r.Block, want) {
			t.Errorf("%s\n%s\nwant %q", question, r.Block, want)
		}
	}
}
