package consolidate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/harvest/draft"
)

// What a model said of a pair decides, for a claim of another session that nothing protects.
func TestAModelDecidesWhatIsReplaced(t *testing.T) {
	const before, after = "The reporting models run on Snowflake.", "All reporting reads from BigQuery."
	const moved, later = "The deploy day is Tuesday.", "The deploy day is Thursday now."
	for name, tt := range map[string]struct {
		before, after string
		session       string // of the later claim
		change        func(*ken.Claim)
		replaced      bool
		want          bool // the earlier claim is marked as past or superseded
	}{
		"replaced, in other words":                  {before, after, "s2", nil, true, true},
		"not replaced, in other words":              {before, after, "s2", nil, false, false},
		"not replaced, though rules would think so": {moved, later, "s2", nil, false, false},
		"what a person verified stays":              {before, after, "s2", byPerson, true, false},
		"within a session it is not asked":          {before, after, "s1", nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := opened(t)
			earlier := said("s1", 0, tt.before)
			if tt.change != nil {
				tt.change(&earlier)
			}
			earlier = write(t, st, earlier)
			replaced := [][]int{nil}
			if tt.replaced {
				replaced[0] = []int{0}
			}
			judged := consolidate.NewJudged([]ken.Claim{earlier}, []draft.Dated{{Text: tt.after}}, replaced)
			if _, err := consolidate.Learn(t.Context(), st, said(tt.session, 7, tt.after), judged); err != nil {
				t.Fatal(err)
			}
			if all := state(t, st); (strings.Contains(all, "until") || strings.Contains(all, "superseded")) != tt.want {
				t.Errorf("after %s:\n%s", earlier.ID, all)
			}
		})
	}
}

// A note on a long statement is at the clause that is replaced, and has the clause that replaces it. The year of a
// date and the parts of a list are no clauses.
func TestANoteNamesClauses(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"We track the issues of the shop in Jira, and Mira prints the list for the round on Monday.",
			"We switched to Linear for the issues of the shop, and I'd like to have the same labels there.",
			"We track the issues of the shop in Jira (until 9 March 2026, now We switched to Linear for the issues of the shop), and Mira prints"},
		{"The lease of the flat ends on June 1, 2026, and the keys are with Aunt Ida, Karl and the caretaker.",
			"The caretaker handed the keys of the flat to the agency, because nobody of the family is in town.",
			"ends on June 1, 2026, and the keys are with Aunt Ida, Karl and the caretaker (until 9 March 2026, now The caretaker handed the keys of the flat to the agency)"},
	} {
		st := opened(t)
		earlier := write(t, st, said("s1", 0, tt.before))
		judged := consolidate.NewJudged([]ken.Claim{earlier}, []draft.Dated{{Text: tt.after}}, [][]int{{0}})
		if _, err := consolidate.Learn(t.Context(), st, said("s2", 7, tt.after), judged); err != nil {
			t.Fatal(err)
		}
		if all := state(t, st); !strings.Contains(all, tt.want) {
			t.Errorf("want %q in\n%s", tt.want, all)
		}
	}
}

// A model is asked about claims of other sessions that were said before, and not about what says
// the same, and about so many of them at most.
func TestReplaceable(t *testing.T) {
	fresh := said("s2", 7, "The gates talk to an EMQX cluster on port 8883.")
	known := []ken.Claim{
		said("s2", 6, "The gates are grey."),            // of the same session
		said("s1", 9, "The gates are locked at night."), // said later
		said("s1", 0, "The gates talk to an EMQX cluster on port 8883."),
	}
	if got := consolidate.Replaceable(fresh, known, 10); len(got) != 0 {
		t.Errorf("asked about %v", got)
	}
	for _, text := range []string{"The gates talk to mosquitto on port 1884.", "Oda paints gates.", "There are nine gates.", "Gates open inwards.", "Staging has no gates.", "The gates are from Oslo.", "Gates beep.",
		"Gates rust.", "Gates are old.", "Oslo has gates.", "Gates squeak.", "Gates weigh a ton."} {
		known = append(known, said("s1", 1, text))
	}
	got := consolidate.Replaceable(fresh, known, 10)
	if len(got) != 10 || got[0].Text != "The gates talk to mosquitto on port 1884." {
		t.Errorf("asked about %+v", got)
	}
}

// TestOneDraftReplacesNothingOfItself checks that a date in one fact of a model is no new value for
// another fact of the same session. What a person said twice still has its last value.
func TestOneDraftReplacesNothingOfItself(t *testing.T) {
	const release = "The keyset paging release moved to Monday, 2026-04-13, because the app review at Apple hangs."
	const index = "The index for keyset paging was not created yet on 2026-04-09, because Wen is out sick until 2026-04-13, and is still to do before the release."
	for _, worded := range []ken.Status{ken.StatusInferred, ken.StatusObserved} {
		st := opened(t)
		write(t, st, said("s1", 0, release, status(worded)))
		later := said("s1", 0, index, status(worded))
		later.Evidence[0].FetchedAt = later.Evidence[0].FetchedAt.Add(time.Minute)
		if _, err := consolidate.Learn(t.Context(), st, later, nil); err != nil {
			t.Fatal(err)
		}
		if all := state(t, st); strings.Contains(all, "no longer") == (worded == ken.StatusInferred) {
			t.Errorf("%s:\n%s", worded, all)
		}
	}
}
