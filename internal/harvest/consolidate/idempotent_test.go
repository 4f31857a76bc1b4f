package consolidate_test

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/consolidate"
	"github.com/kenlayer/ken/internal/race"
)

// sayings say the same few things in many ways: again, in other words, with more
// words, changed and contradicted.
var sayings = []string{
	"Ana works at Google", "Ana is working at Google", "Ana works at Google as a designer", "Ana joined Microsoft", "Ana does not work at Google",
	"The ledger listens on port 5432", "The ledger listens on port 5433", "The ledger now listens on port 5434", "The port of the ledger is 5432",
	"The cache is enabled", "The cache is disabled", "The cache is enabled because reads are slow", "The cache is not enabled",
	"The user prefers tabs", "The user prefers spaces", "The user prefers spaces instead of tabs", "The user prefers tabs in Go files",
	"The team uses npm", "The team switched from npm to pnpm", "The team no longer uses npm", "Never push to main", "Push to main",
}

// random is some saying, by somebody, of some standing, on some day.
func random(rng *rand.Rand, session string) ken.Claim {
	c := said(session, rng.IntN(60), sayings[rng.IntN(len(sayings))])
	c.Confidence = 0.5 + float64(rng.IntN(5))/10
	switch rng.IntN(8) {
	case 0:
		byAssistant(&c)
	case 1:
		c.Status = ken.StatusHypothesis
	case 2:
		c.Constraint = true
	}
	return c
}

// standing is state without the evidence: a job that runs again long after others
// may find that what it says is known by now, and add to it, once.
func standing(t *testing.T, st ken.Store) string {
	return regexp.MustCompile(`\(.*\)`).ReplaceAllString(state(t, st), "")
}

// Harvesting a session twice changes nothing, whatever else is known and whatever
// was harvested in between, out of order or not.
func TestHarvestTwiceChangesNothing(t *testing.T) {
	race.SkipLong(t)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		st := inMemory()
		if rng.IntN(2) == 0 {
			write(t, st, said("s0", rng.IntN(60), sayings[rng.IntN(len(sayings))], byPerson))
		}
		var all []ken.Claim
		for range 6 {
			session := "s" + string(rune('a'+rng.IntN(26)))
			var part []ken.Claim
			for range 1 + rng.IntN(4) {
				c := random(rng, session)
				part = append(part, c)
				learn(t, st, c)
			}
			before := state(t, st)
			for _, c := range part {
				if r := learn(t, st, c); r.Action.Do != consolidate.Skip && !r.Action.Resume {
					t.Errorf("seed %d: %q again: %+v", seed, c.Text, r.Action)
				}
			}
			if after := state(t, st); after != before {
				t.Fatalf("seed %d: the second time it is\n%s\nwas\n%s", seed, after, before)
			}
			all = append(all, part...)
		}
		before := standing(t, st)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for range 2 {
			for _, c := range all {
				learn(t, st, c)
			}
		}
		if after := standing(t, st); after != before {
			t.Errorf("seed %d: after all jobs ran again it is\n%s\nwas\n%s", seed, after, before)
		}
	}
}

// What was verified by a person is as it was, whatever is harvested later.
func TestVerifiedClaimsSurviveAnyHarvest(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		st := inMemory()
		kept := write(t, st, said("s0", rng.IntN(60), sayings[rng.IntN(len(sayings))], byPerson))
		for range 12 {
			learn(t, st, random(rng, "s"+string(rune('a'+rng.IntN(26)))))
		}
		got, err := st.Get(t.Context(), kept.ID)
		if err != nil || got.Status != ken.StatusVerified || got.Text != kept.Text {
			t.Errorf("seed %d: %+v, %v", seed, got, err)
		}
	}
}
