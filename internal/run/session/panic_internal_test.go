package session

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store/memory"
)

// A message that can't be digested leaves its session's checkpoint as it was. It is kept
// itself, and so is what came together with it.
func TestRecordSurvivesAMessage(t *testing.T) {
	sum = func(prev *Checkpoint, entries []Entry, s *Step, now time.Time) Checkpoint {
		for i := range entries {
			if strings.Contains(entries[i].Message.Text, "exploder") {
				panic("what a text")
			}
		}
		return Digest(prev, entries, s, now)
	}
	defer func() { sum = Digest }()
	j := NewJournal(memory.NewShelf(), Options{Process: "p", Log: slog.New(slog.DiscardHandler)})
	var notes []Note
	for _, id := range []string{"good", "bad", "fine"} {
		text := "Move the ledger to port 2000."
		if id == "bad" {
			text = "Move the exploder to port 2000."
		}
		notes = append(notes, Note{About: About{ID: id}, Messages: []ken.Message{{Role: "user", Text: text}}, Step: &Step{}})
	}
	for i, n := range j.Record(t.Context(), notes, nil) {
		if n.Err != nil || len(n.Entries) != 1 {
			t.Errorf("%s: %+v", notes[i].About.ID, n)
		}
		c, _, err := j.Checkpoint(t.Context(), notes[i].About.ID)
		if bad := notes[i].About.ID == "bad"; err != nil || (c.Goal == "") != bad {
			t.Errorf("%s: checkpoint %+v, %v", notes[i].About.ID, c, err)
		}
	}
}
