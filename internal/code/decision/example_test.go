package decision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kenlayer/ken/internal/code/decision"
)

func ExampleParse() {
	r, problems := decision.Parse("docs/adr/0012-use-bbolt.md", []byte(`# 12. Use bbolt

- Status: Accepted
- Date: 2026-05-29

## Context

Writes get lost.

## Decision

The log is in bbolt, see `+"`store.Log`"+`.

## Alternatives considered

- **SQLite.** Needs cgo.
`))
	fmt.Println(r.ID.Text, r.Title.Text, r.Status, r.Date.Format(time.DateOnly))
	fmt.Printf("%q on line %d\n", r.Options[0].Title.Text, r.Options[0].Title.Line)
	for _, t := range decision.Targets(r) {
		fmt.Println("governs", t.Name, t.Exact)
	}
	fmt.Println(len(problems), "problems")
	// Output:
	// ADR-0012 Use bbolt accepted 2026-05-29
	// "SQLite" on line 16
	// governs store.Log false
	// 0 problems
}

func ExampleClaim() {
	r, _ := decision.Parse("docs/adr/0012-use-bbolt.md", []byte("# 12. Use bbolt\n\nStatus: accepted\nGoverns: store/bolt\n\n## Context\n\nWrites get lost.\n\n## Decision\n\nThe log is in bbolt.\n"))
	c, err := decision.Claim(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Heading)
	fmt.Println(c.Text)
	fmt.Println(c.Status, c.Support(nil).Tier, c.Entities, c.Source)
	// Output:
	// ADR-0012 Use bbolt
	// Decision: The log is in bbolt.
	//
	// Context: Writes get lost.
	// observed Inferred [store/bolt] docs/adr/0012-use-bbolt.md:10
}

func ExampleExport() {
	r, _ := decision.Parse("docs/adr/0012-use-bbolt.md", []byte("# 12. Use bbolt\n\nStatus: superseded by ADR-0014\n\n## Considered Options\n\n- bbolt\n- SQLite\n\n## Decision\n\nChosen option: \"bbolt\".\n"))
	text, err := json.Marshal(decision.Export(r))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
	// Output:
	// {"id":"ADR-0012","title":"Use bbolt","status":"Superseded","context":"","decision":"Chosen option: \"bbolt\".","alternatives":[{"title":"bbolt","chosen":true},{"title":"SQLite"}],"consequences":"","governs":[],"supersededBy":["ADR-0014"]}
}

func ExampleRegistry() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	r, err := decision.Open(ctx, dir, decision.Options{Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	if _, err := r.Create(ctx, decision.Draft{Title: "Retry three times", Status: decision.Accepted, Decision: "Three times.", Tags: []string{"wire"}}); err != nil {
		fmt.Println(err)
		return
	}
	old, latest, err := r.SupersedeBy(ctx, "retry", decision.Draft{Title: "Retry with backoff", Decision: "Until the deadline, ever slower."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(old.Handle, old.StatusText.Text)
	text, err := os.ReadFile(filepath.Join(dir, latest.Path))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	for _, h := range r.Search(decision.Query{Words: "slow retries"}).Hits {
		fmt.Println(h.Record.Handle, h.Record.Status, h.Record.Title.Text)
	}
	// Output:
	// ADR-0001 superseded by ADR-0002
	// ---
	// id: ADR-0002
	// status: accepted
	// date: 2026-11-22
	// supersedes: [ADR-0001]
	// ---
	//
	// # Retry with backoff
	//
	// ## Decision Outcome
	//
	// Until the deadline, ever slower.
	// ADR-0002 accepted Retry with backoff
	// ADR-0001 superseded Retry three times
}
