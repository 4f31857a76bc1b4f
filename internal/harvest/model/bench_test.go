package model

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/run/session"
)

// BenchmarkTwoHundredMessages is what a harvest costs beside the calls: rendering
// a session of 200 messages, and reading and judging an answer of 12 facts.
func BenchmarkTwoHundredMessages(b *testing.B) {
	daily := modeltest.Session()
	tr := &session.Transcript{}
	for i := range 200 {
		e := daily.Entries[i%len(daily.Entries)]
		e.Seq = uint64(i + 1)
		tr.Entries = append(tr.Entries, e)
	}
	a := modeltest.Answer{Summary: "The user had the nightly build repaired."}
	for i := range 12 {
		a.Facts = append(a.Facts, modeltest.Fact{Text: fmt.Sprintf("The user prefers small commits, case %d.", i), Quote: "I prefer small commits, one change each",
			Message: 1 + 11*i, Sort: "preference", Entities: []string{"commits"}, Confidence: 0.9})
	}
	text, err := json.Marshal(a)
	if err != nil {
		b.Fatal(err)
	}
	c := New(Options{Model: "m"})
	t := c.task("extract")
	b.ReportAllocs()
	for b.Loop() {
		all := messages(tr)
		room, _ := c.budget(t)
		parts := c.cut(all, room)
		l := newFactChecker(c.opts, all)
		l.add(read(string(text), func(seq uint64) bool { return seq <= 200 }).facts)
		if got := l.best(); len(got) != 12 || len(parts) == 0 {
			b.Fatal(len(got), len(parts))
		}
	}
}
