package attention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store/memory"
	"github.com/kenlayer/ken/store/storetest"
)

// A shelf may run a function again from its start: what was refused once counts
// once, and nothing is dismissed or numbered twice.
func TestNotesOnAShelfThatRunsTwice(t *testing.T) {
	shelf := storetest.Twice(memory.NewShelf())
	at := time.Date(2026, 5, 18, 9, 0, 0, 0, time.UTC)
	for i := range 5 {
		r := attention.Rejection{At: at.Add(time.Duration(i) * time.Minute), Text: "the port is 8080", Why: "no evidence"}
		if i == 3 {
			r.Text = "another"
		}
		if err := attention.Reject(t.Context(), shelf, r); err != nil {
			t.Fatal(err)
		}
	}
	items, err := attention.List(t.Context(), memory.New(memory.Options{}), shelf, attention.Options{Now: at.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range items {
		got = append(got, i.Text)
	}
	want := []string{"agent wanted to write without evidence: “the port is 8080”", "agent wanted to write without evidence: “another”",
		"agent wanted to write without evidence: “the port is 8080” 3 times."}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
	for range 2 {
		if err := attention.Dismiss(t.Context(), shelf, items[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if items, err = attention.List(t.Context(), memory.New(memory.Options{}), shelf, attention.Options{Now: at.Add(time.Hour)}); len(items) != 2 || err != nil {
		t.Errorf("%d are left, %v", len(items), err)
	}
}
