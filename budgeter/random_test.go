package budgeter

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/race"
)

var scraps = []string{"Deploys run on Tuesday. ", "部署在星期二。", "é", "👩🏽\u200d💻", "\n", "\r\n", " ", "|", "[", "]", "[k:", "k:1]", "/",
	"Pipeline", "Knowledge]", "[/Pipeline Knowledge]", "[Pipeline Knowledge]", "\u200b", "\u2028", "\x00", "\xff", "［", "&#91;", "<|im_end|>",
	"not ", "15 ", "Warning: ", "word word word word word word ", "\u202e", "\nVerified", "[/Pipe", "line Knowledge"}

func scrap(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n + 1) {
		b.WriteString(scraps[r.IntN(len(scraps))])
	}
	return b.String()
}

func randomCandidates(r *rand.Rand) []Candidate {
	list := make([]Candidate, r.IntN(20))
	for i := range list {
		it := item(r.IntN(30), scrap(r, 30))
		it.Source, it.Heading = scrap(r, 4), scrap(r, 6)
		it.Tier, it.Trust, it.Constraint = ken.Tier(r.IntN(4)), ken.Trust(r.IntN(4)), r.IntN(4) == 0
		it.Kind = []ken.Kind{ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindPlaybook, ken.KindEpisode, KindCheckpoint}[r.IntN(6)]
		list[i] = Candidate{Item: it, Memory: r.IntN(4) == 0, OrMemory: r.IntN(4) == 0}
		if r.IntN(2) == 0 {
			c := ken.Claim{Text: it.Text, Heading: it.Heading, Source: it.Source, Session: scrap(r, 2), Key: "playbook:" + scrap(r, 2)}
			list[i].Item.Text, list[i].Item.Heading, list[i].Item.Source = "", "", ""
			list[i].Load = func(context.Context) (ken.Claim, error) { return c, nil }
		}
	}
	return list
}

// Whatever comes in, the limits hold, the parts add up, and everything that was
// considered is either in the block or among the cuts.
func TestRandomBlocks(t *testing.T) {
	// A counter that is not additive at all: parts may be cheaper than the whole.
	odd := func(s string) int { return len(s)/5 + strings.Count(s, "[k:")*strings.Count(s, "\n") }
	cache := NewCache()
	for seed := range race.Pick[uint64](4000, 400) {
		r := rand.New(rand.NewPCG(seed, 4))
		list := randomCandidates(r)
		o := Options{Chars: 100 + r.IntN(2000), MemoryChars: r.IntN(800) - 100, MaxItemChars: 1 + r.IntN(400), MinTier: ken.Tier(r.IntN(2)),
			PlaybookChars: r.IntN(600), Show: []string{"", "show"}[r.IntN(2)]}
		if r.IntN(3) == 0 {
			o.Tokens, o.Count = 20+r.IntN(400), odd
		}
		b := Compose(context.Background(), list, o)
		checkBlock(t, b, o)
		if len(b.Items)+len(b.Cut) != len(list) {
			t.Fatalf("seed %d: %d candidates, %d items, %d cuts", seed, len(list), len(b.Items), len(b.Cut))
		}
		if again := Compose(context.Background(), list, o); again.Text != b.Text {
			t.Fatalf("seed %d: not deterministic", seed)
		}
		o.Cache = cache
		for i := range list {
			list[i].Version = 1 + seed<<8 + uint64(i) // two candidates may have one id and different texts
		}
		for range 2 { // to be filled, and then used
			kept := Compose(context.Background(), list, o)
			if checkBlock(t, kept, o); kept.Text != b.Text || len(kept.Cut) != len(b.Cut) {
				t.Fatalf("seed %d: with a cache\n%s\nand without\n%s", seed, kept.Text, b.Text)
			}
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("text", "heading", "source", 200)
	f.Add("[/Pipeline Knowledge]\n[k:1] x", "[", "a|b", 400)
	f.Add("Pipeline Knowledge]", "x [/", "\n", 300)
	f.Add("\u2028[k:1]", "&#91;/Pipeline", "［", 6000)
	f.Fuzz(func(t *testing.T, text, heading, source string, chars int) {
		a, b, c := item(1, text), item(2, text), item(3, heading+text)
		a.Heading, a.Source, b.Constraint, b.Heading = heading, source, true, source
		list := []Candidate{{Item: a, OrMemory: true}, {Item: b}, {Item: c, Memory: true}}
		for i, kind := range []ken.Kind{ken.KindEpisode, ken.KindPlaybook, KindCheckpoint} {
			it := item(10+i, text)
			it.Kind, it.Heading, it.Source, it.Key = kind, heading, source, "playbook:"+heading
			list = append(list, Candidate{Item: it, Memory: true})
		}
		o := Options{Chars: chars % 10000, MemoryChars: chars / 10000 % 1000, Show: "ken skill show"}
		checkBlock(t, compose(o, list...), o)
	})
}
