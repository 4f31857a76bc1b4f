package consolidate_test

import (
	"strings"
	"testing"

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
			judged := consolidate.Judged{}
			judged.Add(draft.Pair{Earlier: tt.before, Later: tt.after}, tt.replaced)
			if _, err := consolidate.Learn(t.Context(), st, said(tt.session, 7, tt.after), judged); err != nil {
				t.Fatal(err)
			}
			if all := state(t, st); (strings.Contains(all, "until") || strings.Contains(all, "superseded")) != tt.want {
				t.Errorf("after %s:\n%s", earlier.ID, all)
			}
		})
	}
}

// A model is asked about claims of other sessions that were said before, and not about what says
// the same, and about five of them at most.
func TestPairs(t *testing.T) {
	fresh := said("s2", 7, "The gates talk to an EMQX cluster on port 8883.")
	known := []ken.Claim{
		said("s2", 6, "The gates are grey."),            // of the same session
		said("s1", 9, "The gates are locked at night."), // said later
		said("s1", 0, "The gates talk to an EMQX cluster on port 8883."),
	}
	if got := consolidate.Pairs(fresh, known); len(got) != 0 {
		t.Errorf("asked about %q", got)
	}
	for _, text := range []string{"The gates talk to mosquitto on port 1884.", "Oda paints gates.", "There are nine gates.", "Gates open inwards.", "Staging has no gates.", "The gates are from Oslo.", "Gates beep."} {
		known = append(known, said("s1", 1, text))
	}
	got := consolidate.Pairs(fresh, known)
	if len(got) != 5 || got[0].Earlier != "The gates talk to mosquitto on port 1884." || got[0].Later != fresh.Text || !got[0].LaterAt.After(got[0].EarlierAt) {
		t.Errorf("asked about %+v", got)
	}
}
