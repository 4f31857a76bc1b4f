package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// Distinct facts that differ in a number, a day or a negation are all kept: other
// layers merged them by likeness.
func TestNearDuplicates(t *testing.T) {
	for _, tt := range []struct {
		name, a, b string
		both       bool
	}{
		{"the same", "The staging database is pg-stage-2.", "The staging database is pg-stage-2.", false},
		{"in other words of no weight", "The staging database is pg-stage-2.", "So the staging database is pg-stage-2!", false},
		{"a day", "The demo for Acme is on Oct 15.", "The demo for Acme is on Oct 16.", true},
		{"a number", "The ledger holds 300 invoices a day in Oslo.", "The ledger holds 400 invoices a day in Oslo.", true},
		{"negation", "The ledger service in Oslo does log invoices.", "The ledger service in Oslo doesn't log invoices.", true},
		{"another thing", "The staging database runs in Oslo.", "The production database runs in Bergen.", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := extract.Draft(held("user: "+tt.a, "assistant: ok", "user: "+tt.b), extract.Options{})
			want := 1
			if tt.both {
				want = 2
			}
			if len(d.Statements) != want || d.Dropped["duplicate"] != 2-want {
				t.Errorf("%v, dropped %v", d.Statements, d.Dropped)
			}
		})
	}
	var said []string
	for _, service := range []string{"auth", "mailer", "billing", "search", "ledger", "export", "import", "report"} {
		said = append(said, "user: The "+service+" service is owned by Cy.", "user: The "+service+" service is deployed to the Oslo cluster at night.", "assistant: ok")
	}
	if got := taught(t, held(said...)); len(got) < 12 {
		t.Errorf("of statements of one form about 8 things %d are kept: %q", len(got), got)
	}
	if d := extract.Draft(held(said...), extract.Options{MaxFacts: 40}); len(d.Statements) != 16 {
		t.Errorf("16 statements about different things: %d kept, dropped %v", len(d.Statements), d.Dropped)
	}
	if got := taught(t, held("Ana/user: I love the sea near Oslo.", "Ben/assistant: I love the sea near Oslo.")); len(got) != 2 {
		t.Errorf("two people who say the same: %q", got)
	}
}

// What changes how the next session goes comes first.
func TestTheLimitKeepsWhatMattersMost(t *testing.T) {
	var said []string
	for i := range 10 {
		said = append(said, fmt.Sprintf("user: The handler of module %c reads the body and checks the header.", 'a'+i))
	}
	said = append(said, "user: Never log request bodies.", "user: We decided to drop Oracle because nobody can run it.",
		"user: Remember that Priya owns the export.")
	for _, tt := range []struct {
		max  int
		want []string
	}{
		{1, []string{"Priya owns the export."}},
		{2, []string{"User: Never log request bodies.", "Priya owns the export."}},
		{3, []string{"User: Never log request bodies.", "User: We decided to drop Oracle because nobody can run it.", "Priya owns the export."}},
	} {
		d := extract.Draft(held(said...), extract.Options{MaxFacts: tt.max})
		var got []string
		for _, s := range d.Statements {
			got = append(got, s.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d (-want +got):\n%s", tt.max, diff)
		}
	}
}

// The limit grows with what was said, not with the tools' noise, and ends at 40.
func TestTheLimitGrowsWithTheSession(t *testing.T) {
	sizes := map[int]int{}
	for _, n := range []int{4, 40, 60, 400} {
		var said []string
		for i := range n {
			said = append(said, fmt.Sprintf("user: Host h%d in rack r%d belongs to team t%d and runs image i%d.", i, i*7, i*3, i*11), "assistant: ok", "tool: x")
		}
		sizes[n] = len(extract.Draft(held(said...), extract.Options{}).Statements)
	}
	if diff := cmp.Diff(map[int]int{4: 4, 40: 26, 60: 36, 400: 40}, sizes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that was found is accounted for.
func TestDroppedAddsUp(t *testing.T) {
	var said []string
	for i := range 50 {
		said = append(said, fmt.Sprintf("user: Host h%d in rack r%d belongs to team t%d.", i, i*7, i*3))
	}
	for _, limit := range []int{1, 12, 39, 40, 45, 60} {
		d := extract.Draft(held(said...), extract.Options{MaxFacts: limit})
		n := len(d.Statements)
		for _, k := range d.Dropped {
			n += k
		}
		if n != 50 {
			t.Errorf("limit %d: %d statements, dropped %v", limit, len(d.Statements), d.Dropped)
		}
	}
}

func TestDraftIsAPureFunction(t *testing.T) {
	for _, tr := range []*session.Transcript{long(60), transcript(t, "testdata/friends.json"), transcript(t, "testdata/coding.json")} {
		before := fmt.Sprint(*tr)
		first := extract.Draft(tr, extract.Options{})
		results := make(chan draft.Draft)
		for range 4 {
			go func() { results <- extract.Draft(tr, extract.Options{}) }()
		}
		for range 4 {
			if diff := cmp.Diff(first, <-results); diff != "" {
				t.Errorf("another draft of the same session:\n%s", diff)
			}
		}
		if fmt.Sprint(*tr) != before {
			t.Error("the transcript was changed")
		}
	}
}

// A session of 5,000 messages is read to its end.
func TestAVeryLongSession(t *testing.T) {
	race.SkipLong(t)
	tr := long(5000)
	tr.Entries = append(tr.Entries, held("user: Remember that the demo for Acme is on 5 June. Never deploy on Fridays.").Entries...)
	tr.Entries[5000].Seq = 5001
	d := extract.Draft(tr, extract.Options{})
	holds(t, tr, d, extract.Options{})
	var texts []string
	for _, s := range d.Statements {
		texts = append(texts, s.Text)
	}
	for _, want := range []string{"The demo for Acme is on 5 June.", "User: Never deploy on Fridays."} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in\n%s", want, strings.Join(texts, "\n"))
		}
	}
}
