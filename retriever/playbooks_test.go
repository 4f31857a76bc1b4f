package retriever_test

import (
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store/memory"
)

// playbook returns a playbook with a text that starts with its description.
func playbook(t testing.TB, heading, text string, tags ...string) ken.Claim {
	return claim(t, text, func(c *ken.Claim) {
		c.Kind, c.Heading, c.Tags, c.Key = ken.KindPlaybook, heading, tags, "playbook:"+heading
	})
}

// given returns the headings of the playbooks that a turn with these words gets,
// and the cuts.
func given(t testing.TB, s memory.Store, o retriever.Options, words ...string) (out []string, r retriever.Result) {
	t.Helper()
	if o.Sources == nil {
		o.Sources = []retriever.Source{retriever.Keyword(s), retriever.Playbooks(s, nil)}
	}
	r = retriever.New(s, o).Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Keywords: words}})
	for _, c := range r.Candidates {
		if _, ok := c.Sources[retriever.SourcePlaybooks]; !ok {
			continue
		}
		if !c.Memory || c.Signals["share"] == 0 {
			t.Errorf("candidate %+v", c)
		}
		full, err := s.Claim(t.Context(), c.Ref)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, full.Heading)
	}
	return out, r
}

const steps = "\n\n## Rollback\n\nTell the team, mind the budget, look at the calendar and the weather, then deploy the ledger from Lisbon."

// What a method touches on its way is not what it is for.
func TestDescriptionWeighsMoreThanTheBody(t *testing.T) {
	s := library(t,
		playbook(t, "release", "Ship a release of the billing service."+steps),
		playbook(t, "travel", "Book a hotel for a journey."+steps, "flights", "trains"),
		claim(t, "The budget for hotels in Lisbon is 120 euros."))
	for words, want := range map[[2]string]string{
		{"ship", "billing"}:    "release", // description
		{"release", "service"}: "release", // heading
		{"book", "flights"}:    "travel",  // tags
		{"budget", "calendar"}: "",        // body
		{"team", "weather"}:    "",
		{"release", "weather"}: "", // one word of the subject is not enough by itself
		{"hotel", "lisbon"}:    "",
	} {
		got, r := given(t, s, retriever.Options{TopK: 1, Floor: 0.9}, words[0], words[1])
		if want == "" && len(got) == 0 || len(got) == 1 && got[0] == want {
			continue
		}
		t.Errorf("%q gets %q, want %q; cut %+v", words, got, want, r.Cut)
	}
}

func TestPlaybooksAreFewAndCutWithAReason(t *testing.T) {
	s := library(t,
		playbook(t, "one", "Ship a release of billing."),
		playbook(t, "two", "Ship a release of billing, slowly."),
		playbook(t, "three", "Ship a release of billing, at night."),
		playbook(t, "four", "Ship boxes by train."),
		playbook(t, "five", "Peel potatoes."))
	legs := []retriever.Source{retriever.Playbooks(s, nil)}
	for limit, want := range map[int]int{0: 2, 1: 1, 3: 3, 9: 3} {
		got, r := given(t, s, retriever.Options{Sources: legs, Limits: map[string]int{retriever.SourcePlaybooks: limit}}, "ship", "release", "billing")
		equal(t, "given", got, []string{"one", "two", "three"}[:want])
		reasons := map[ken.CutReason]int{}
		for _, c := range r.Cut {
			reasons[c.Reason]++
		}
		wantCuts := map[ken.CutReason]int{ken.CutFloor: 1} // four, not five
		if want < 3 {
			wantCuts[ken.CutPool] = 3 - want
		}
		equal(t, "cuts", reasons, wantCuts)
		equal(t, "memory", r.Memory, want)
	}
	got, _ := given(t, s, retriever.Options{Sources: legs, Floor: -1}, "potatoes", "unknown", "words", "all")
	equal(t, "without a floor", got, []string{"five"})
}

// How rare a word is, the keyword index knows: one that all notes have says
// nothing of a playbook, however few playbooks have it.
func TestCommonWordsOfTheStoreDoNotMatch(t *testing.T) {
	claims := []ken.Claim{playbook(t, "release", "Ship a release for the customer team.")}
	for range 40 {
		claims = append(claims, claim(t, "the customer said something to the team"))
	}
	s := library(t, claims...)
	if got, _ := given(t, s, retriever.Options{}, "customer", "zanzibar", "gateway"); len(got) != 0 {
		t.Errorf("one common word gets %q", got)
	}
	if got, _ := given(t, s, retriever.Options{}, "ship", "release", "zanzibar"); len(got) != 1 {
		t.Errorf("two words of its own get %q", got)
	}
}

// Likeness replaces words if there is a vector.
func TestLikenessHelpsAPlaybookOfOneWord(t *testing.T) {
	s := library(t, playbook(t, "release", "Ship releases."), claim(t, "something else entirely"))
	turn := ken.Signals{Keywords: []string{"ship", "tomorrow", "please"}, Question: "ship"}
	for _, vector := range []bool{false, true} {
		o := retriever.Options{Sources: []retriever.Source{retriever.Playbooks(s, nil)}}
		if vector {
			o.Sources = append(o.Sources, retriever.Vector(s, embedtest.Bag{}))
		}
		r := retriever.New(s, o).Retrieve(t.Context(), retriever.Turn{Signals: turn})
		equal(t, "given", r.Memory == 1, vector)
	}
}

// What a playbook touches must not bring it in by another way; without the source, it
// is a record like any other.
func TestPlaybookThatDoesNotFitIsOutByEveryLeg(t *testing.T) {
	s := library(t, playbook(t, "release", "Ship a release of billing."+steps))
	turn := retriever.Turn{Signals: ken.Signals{Keywords: []string{"budget", "calendar", "weather"}, Question: "budget calendar weather"}}
	legs := []retriever.Source{retriever.Keyword(s), retriever.Vector(s, embedtest.Bag{})}
	found := retriever.New(s, retriever.Options{Sources: legs, Floor: 0.01}).Retrieve(t.Context(), turn)
	equal(t, "without the leg", len(found.Candidates), 1)
	found = retriever.New(s, retriever.Options{Sources: append(legs, retriever.Playbooks(s, nil)), Floor: 0.01}).Retrieve(t.Context(), turn)
	equal(t, "with it", len(found.Candidates), 0)
	equal(t, "cuts", len(found.Cut), 1)
	equal(t, "reason", found.Cut[0].Reason, ken.CutFloor)
}

// A playbook found by the ordinary sources too is in memory, once.
func TestPlaybookIsFoundOnce(t *testing.T) {
	s := library(t, playbook(t, "release", "Ship a release of billing."))
	got, r := given(t, s, retriever.Options{}, "ship", "release", "billing")
	equal(t, "given", got, []string{"release"})
	equal(t, "candidates", len(r.Candidates), 1)
	equal(t, "cuts", len(r.Cut), 0)
	equal(t, "retrieved", r.Retrieved, 1)
}

// The cache must not answer for a text that is no longer there.
func TestPlaybookCacheFollowsRevisions(t *testing.T) {
	s := library(t, playbook(t, "release", "Ship a release of billing."))
	cache := retriever.NewPlaybookCache()
	legs := []retriever.Source{retriever.Playbooks(s, cache)}
	ask := func(words ...string) int {
		got, _ := given(t, s, retriever.Options{Sources: legs}, words...)
		return len(got)
	}
	equal(t, "before", ask("ship", "billing"), 1)
	for _, revised := range []ken.Claim{
		playbook(t, "release", "Peel potatoes and carrots."), playbook(t, "release", "Peel potatoes and carrots.", "vegetables", "kitchen"),
	} {
		if _, err := s.WriteClaim(t.Context(), revised); err != nil {
			t.Fatal(err)
		}
		equal(t, "by what it said", ask("ship", "billing"), 0)
		equal(t, "by what it says", ask("potatoes", "carrots"), 1)
	}
	equal(t, "by its tags", ask("kitchen", "vegetables"), 1)
}

func BenchmarkPlaybooks(b *testing.B) {
	var claims []ken.Claim
	for _, m := range manuals(b) {
		for i := range 4 {
			if m.text != "" {
				claims = append(claims, playbook(b, m.name+string(rune('a'+i)), m.text))
			}
		}
	}
	s := library(b, claims...)
	l := retriever.Playbooks(s, retriever.NewPlaybookCache())
	q := &retriever.Query{Filter: &ken.Filter{}, Limit: 2, Signals: ken.Signals{Keywords: []string{"add", "nullable", "column", "orders", "table"}}}
	b.ReportAllocs()
	for b.Loop() {
		if res, err := l.Search(b.Context(), q); err != nil || len(res.Hits) != len(claims) {
			b.Fatal(err)
		}
	}
}
