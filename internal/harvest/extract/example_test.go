package extract_test

import (
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

func ExampleDraft() {
	at := time.Date(2026, time.March, 2, 10, 0, 0, 0, time.UTC)
	d := extract.Draft(&session.Transcript{Entries: []session.Entry{
		{Seq: 1, At: at, Message: ken.Message{Role: "user", Text: "Hi! The ledger moved to Oslo yesterday, can you update the runbook? And please use tabs instead of spaces."}},
		{Seq: 2, At: at, Message: ken.Message{Role: "assistant", Text: "You love tabs. I updated the runbook."}},
	}}, extract.Options{})
	for _, s := range d.Statements {
		fmt.Printf("%s: %s\n", s.Sort, s.Text)
	}
	fmt.Println(d.Summary)
	// Output:
	// fact: The ledger moved to Oslo yesterday (1 March 2026)
	// instruction: User: Please use tabs instead of spaces.
	// Session, 2 March 2026.
	// Goal: The ledger moved to Oslo yesterday, can you update the runbook? please use tabs instead of spaces.
	// Instructions and preferences: Please use tabs instead of spaces.
	// Where it stopped: I updated the runbook.
	// (Extracted by rules, without a model.)
}
