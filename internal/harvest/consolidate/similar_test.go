package consolidate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/race"
)

type labelled struct {
	Old, New string
	Want     consolidate.Relation
}

func labelledPairs(t testing.TB) []labelled {
	t.Helper()
	var out []labelled
	for _, file := range []string{"development.jsonl", "second.jsonl", "third.jsonl", "fourth.jsonl"} {
		b, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var p labelled
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
	}
	return out
}

// The decision can only be as good as the search before it: in a store with the
// old statements of all pairs, the one that is to be merged or disputed is found.
func TestSimilarFindsWhatIsToBeMerged(t *testing.T) { recall(t, nil, 0.98) }

// The same with a thousand turns of real conversations among them.
func TestSimilarFindsItAmongConversations(t *testing.T) {
	race.SkipLong(t)
	b, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "locomo-dev"), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var turns []string
	for line := range strings.Lines(string(b)) {
		var turn struct{ Text string }
		if err := json.Unmarshal([]byte(line), &turn); err != nil {
			t.Fatal(err)
		}
		if turns = append(turns, turn.Text); len(turns) == 1000 {
			break
		}
	}
	recall(t, turns, 0.97)
}

func recall(t *testing.T, noise []string, floor float64) {
	st := opened(t)
	pairs := labelledPairs(t)
	ids := map[string]string{}
	for _, p := range pairs {
		if ids[p.Old] == "" {
			ids[p.Old] = write(t, st, said("s0", 0, p.Old)).ID
		}
	}
	for _, text := range noise {
		write(t, st, said("talk", 0, text))
	}
	found, wanted := 0, 0
	for _, p := range pairs {
		if p.Want == consolidate.Distinct {
			continue
		}
		wanted++
		got, err := consolidate.Similar(t.Context(), st, said("s1", 1, p.New))
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(got, func(k ken.Claim) bool { return k.ID == ids[p.Old] }) {
			found++
		} else {
			t.Logf("not found: %q for %q", p.Old, p.New)
		}
	}
	t.Logf("found %d of %d within %d of %d claims", found, wanted, consolidate.Near, len(ids)+len(noise))
	if float64(found) < floor*float64(wanted) {
		t.Errorf("found %d of %d", found, wanted)
	}
}

// A claim's entities find what shares none of its other words, and another scope's
// claims are not among what is found.
func TestSimilarByEntityAndScope(t *testing.T) {
	st := opened(t)
	scope := ken.Scope{Type: ken.ScopeRepo, ID: "acme/ledger"}
	scoped := func(c *ken.Claim) { c.Scope = scope }
	named := func(c *ken.Claim) { c.Entities = []string{"Zephyr"} }
	mine := write(t, st, said("s0", 0, "It keeps its data in PostgreSQL", scoped, named))
	write(t, st, said("s0", 0, "It keeps its data in PostgreSQL", named, func(c *ken.Claim) { c.Key = "another" }))
	got, err := consolidate.Similar(t.Context(), st, said("s1", 1, "The storage engine was exchanged", scoped, named))
	if err != nil || len(got) != 1 || got[0].ID != mine.ID {
		t.Errorf("%+v, %v", got, err)
	}
}
