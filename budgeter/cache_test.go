package budgeter

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
)

// loading is a hot claim that counts how often it is loaded.
func loading(n int, version uint64, text string, loads *int) Candidate {
	c := of(n, ken.KindHot, 0)
	c.Item.Text, c.Version = "", version
	c.Load = func(context.Context) (ken.Claim, error) { *loads++; return ken.Claim{Text: text}, nil }
	return c
}

// Memory items that are in every turn are loaded once, whether they fit or not. A
// change of the item, its tier, its short id or the limit is noticed.
func TestCacheLoadsOnceUntilSomethingChanges(t *testing.T) {
	loads := 0
	o := Options{Cache: NewCache(), MemoryChars: 120}
	text := func(o Options, list ...Candidate) string { return compose(o, list...).Text }
	small, big := loading(1, 1, "Small.", &loads), loading(2, 1, fmt.Sprintf("Big %0100d.", 7), &loads)
	first := text(o, small, big)
	for range 3 {
		if again := text(o, small, big); again != first {
			t.Errorf("%s\nthen\n%s", first, again)
		}
	}
	equal(t, "loads", loads, 2)

	if got := compose(o, loading(1, 2, "Changed.", &loads)); got.Items[0].Text != "Changed." {
		t.Errorf("an old text: %q", got.Items[0].Text)
	}
	decayed := loading(1, 1, "Small.", &loads)
	decayed.Item.Tier = ken.Verified
	equal(t, "tier", compose(o, decayed).Items[0].Tier, ken.Verified)
	clashing := loading(1, 1, "Other.", &loads)
	clashing.Item.ID = "1" + clashing.Item.ID[1:]
	equal(t, "clash", len(compose(Options{Cache: o.Cache}, small, clashing).Items), 2)
	o.MaxItemChars = 4
	equal(t, "limit", compose(o, small).Items[0].Text, "Sm …")
	found := loading(1, 1, "Small.", &loads)
	found.Item.Fused, found.Item.Legs = 0.7, map[string]ken.LegScore{"pinned": {Rank: 9}}
	if it := compose(Options{Cache: o.Cache}, found).Items[0]; it.Fused != 0.7 || it.Legs["pinned"].Rank != 9 {
		t.Errorf("how it was found in another turn: %+v", it)
	}
}

// Nothing is kept of what has no version, or looks different from turn to turn.
func TestCacheKeepsWhatStays(t *testing.T) {
	loads := 0
	o := Options{Cache: NewCache()}
	unknown := loading(1, 0, "One.", &loads)
	ep := loading(2, 1, "Two.", &loads)
	ep.Item.Kind = ken.KindEpisode
	book := loading(3, 1, "Three.", &loads)
	book.Item.Kind = ken.KindPlaybook
	fact := loading(4, 1, "Four.", &loads)
	fact.Memory = false
	for range 2 {
		compose(o, unknown, ep, book, fact)
	}
	equal(t, "loads", loads, 8)
}

func TestCacheIsBoundedAndShared(t *testing.T) {
	c := NewCache()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range maxKept {
				it := item(i, "Text.")
				it.Kind = ken.KindHot
				compose(Options{Cache: c}, Candidate{Item: it, Memory: true, Version: uint64(w + 1)})
			}
		})
	}
	wg.Wait()
	if len(c.m) != maxKept {
		t.Errorf("%d are kept", len(c.m))
	}
}
