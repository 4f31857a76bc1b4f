package keyword

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

func TestAnyWordMatches(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, []Doc{{Ref: 1, Text: "zebra lion"}, {Ref: 2, Text: "tiger lion"}, {Ref: 3, Text: "panther"}}, nil, 1)
	if got := refs(search(t, x, Query{Text: "zebra tiger unicorn"}).Hits); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestEqualScoresAreOrderedByRef(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	for _, ref := range []uint32{5, 9, 2, 7, 1, 8} { // one segment each
		apply(t, x, []Doc{{Ref: ref, Text: "zebra"}}, nil, uint64(ref))
	}
	if got := refs(search(t, x, Query{Text: "zebra", Limit: 3}).Hits); !slices.Equal(got, []uint32{1, 2, 5}) {
		t.Errorf("got %v, want the three smallest refs", got)
	}
}

func TestAcceptFillsTheLimitAndNamesTheRefused(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	var docs []Doc
	for i := range uint32(1000) {
		docs = append(docs, Doc{Ref: i, Text: "zebra"})
	}
	apply(t, x, docs, nil, 1)
	res := search(t, x, Query{Text: "zebra", Limit: 5, Accept: func(ref uint32) bool { return ref >= 990 }})
	if got := refs(res.Hits); !slices.Equal(got, []uint32{990, 991, 992, 993, 994}) {
		t.Errorf("hits %v", got)
	}
	if !slices.Equal(res.Rejected, []uint32{0, 1, 2, 3, 4}) {
		t.Errorf("rejected %v, want the best five of those refused", res.Rejected)
	}
	res = search(t, x, Query{Text: "zebra", Limit: 5, Accept: func(ref uint32) bool { return ref < 5 }})
	if len(res.Rejected) != 0 {
		t.Errorf("rejected %v, but all of them rank below the last hit", res.Rejected)
	}
	res = search(t, x, Query{Text: "zebra", Limit: 5, Accept: func(uint32) bool { return false }})
	if len(res.Hits) != 0 || len(res.Rejected) != 5 {
		t.Errorf("hits %v, rejected %v", res.Hits, res.Rejected)
	}
}

func TestCommonWordsRankButBringUpNothing(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{MaxPostings: 1000})
	var docs []Doc
	for i := range uint32(3000) {
		text := word(uint64(1000 + i%10))
		if i >= 20 {
			text += " zebra"
		}
		docs = append(docs, Doc{Ref: i, Text: text})
	}
	apply(t, x, docs, nil, 1)
	rare := word(1001) + " " + word(1002) + " " + word(1003)
	res := search(t, x, Query{Text: "zebra " + rare, Limit: 3000})
	if !slices.Equal(res.Common, []string{"zebra"}) || len(res.Terms) != 4 || len(res.Hits) != 900 {
		t.Errorf("%d hits, terms %v, common %v; want the 900 with a rare word", len(res.Hits), res.Terms, res.Common)
	}
	if first, last := res.Hits[0], res.Hits[899]; first.Ref != 21 || last.Ref != 13 || first.Score <= last.Score {
		t.Errorf("from %+v to %+v: the common word must count", first, last)
	}
	res = search(t, x, Query{Text: "zebra unicorn dragon griffin"})
	if len(res.Common) != 0 || len(res.Hits) != 50 {
		t.Errorf("%d hits, common %v: words that match nothing make no other one common", len(res.Hits), res.Common)
	}
}

func TestLongQueriesKeepTheRarestTerms(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{MaxTerms: 2})
	apply(t, x, []Doc{
		{Ref: 1, Text: "zebra tiger lion"}, {Ref: 2, Text: "zebra tiger"}, {Ref: 3, Text: "zebra"},
	}, nil, 1)
	res := search(t, x, Query{Text: "zebra tiger unicorn lion"})
	if !slices.Equal(res.Terms, []string{"tiger", "unicorn", "lion"}) || !slices.Equal(res.Dropped, []string{"zebra"}) {
		t.Errorf("terms %v, dropped %v; unknown words don't count", res.Terms, res.Dropped)
	}
}

func TestSearchHonoursItsContext(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{MaxConcurrent: 1})
	apply(t, x, newCorpus(1).docs(0, 100), nil, 1)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := x.Search(ctx, Query{Text: word(5), Accept: func(uint32) bool {
		cancel()
		// The only slot is taken by this very search.
		if _, err := x.Search(ctx, Query{Text: word(5)}); !errors.Is(err, context.Canceled) {
			t.Errorf("a search that waits for a slot: %v", err)
		}
		return true
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := x.Search(ctx, Query{Text: word(5)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestPanicOfAcceptIsTheCallers(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{MaxConcurrent: 1})
	apply(t, x, []Doc{{Ref: 1, Text: "zebra"}}, nil, 1)
	func() {
		defer func() {
			if p := recover(); p != "mine" {
				t.Errorf("recovered %v", p)
			}
		}()
		x.Search(context.Background(), Query{Text: "zebra", Accept: func(uint32) bool { panic("mine") }})
	}()
	search(t, x, Query{Text: "zebra"}) // the slot was given back
}

func TestQueryWithoutWords(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	for _, text := range []string{"", "  ", "?!"} {
		if res := search(t, x, Query{Text: text}); len(res.Hits) != 0 {
			t.Errorf("%q finds %v", text, res.Hits)
		}
	}
	if res := search(t, x, Query{Text: "zebra"}); len(res.Hits) != 0 {
		t.Errorf("an empty index finds %v", res.Hits)
	}
}

// cold is a search of an index that holds nothing.
func cold(t *testing.T, x *Index, q Query) Result {
	t.Helper()
	x.held.Store(nil)
	return search(t, x, q)
}

// A search finds the same hits with exactly the same scores and parts, whether all,
// some or none of the lists are cached. This holds after documents are replaced,
// removed and merged, and with some of them in the tail.
func TestWhatIsHeldChangesNoResult(t *testing.T) {
	race.SkipLong(t)
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for _, o := range []Options{{}, {MaxPostings: 20}, {MaxPostings: -1}} {
		x := openTest(t, t.TempDir(), o)
		c := newCorpus(r.Uint64())
		queries := make([]Query, 12)
		for i := range queries {
			queries[i] = Query{Text: c.text(1 + r.IntN(12)), Limit: 1 + r.IntN(120)}
			if r.IntN(2) == 0 {
				queries[i].Accept = func(ref uint32) bool { return ref%5 != 0 }
			}
		}
		next, used := 0, 0
		for step := range 6 {
			var del []uint32
			up := c.docs(next, 300*(1-step%2)+20) // a batch for the engine, then one for the tail
			next += len(up)
			if step > 1 { // replaced and removed, in the engine
				for n, d := range c.docs(0, 10) {
					d.Ref = uint32(r.IntN(next))
					up = append(up, d)
					del = append(del, uint32((int(d.Ref)+n+1)%next))
				}
			}
			apply(t, x, up, del, uint64(step+1))
			if step == 4 {
				land(t, x)
			}
			for i, q := range queries {
				want := cold(t, x, q)
				search(t, x, queries[r.IntN(len(queries))]) // so that lists of some words are held
				if got := search(t, x, q); !cmp.Equal(got, want) {
					t.Fatalf("%+v, step %d, query %d, %q: held\n%s", o, step, i, q.Text, cmp.Diff(want, got))
				}
				used += x.held.Load().size
			}
		}
		if used == 0 {
			t.Errorf("%+v: nothing was ever held", o)
		}
	}
}

// A list is cached for one snapshot only: the next search sees what was written,
// replaced or removed.
func TestWhatIsHeldIsNeverOld(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	docs := newCorpus(1).docs(0, directBatch)
	docs[7].Text, docs[8].Text, docs[9].Text = "zebra", "zebra", "zebra"
	apply(t, x, docs, nil, 1)
	find := func() []uint32 { return refs(search(t, x, Query{Text: "zebra"}).Hits) }
	expect := func(what string, want ...uint32) {
		t.Helper()
		for range 2 { // from the engine, and held
			if got := find(); !cmp.Equal(got, want) {
				t.Errorf("%s: %v, not %v", what, got, want)
			}
		}
	}
	expect("written", 7, 8, 9)
	apply(t, x, []Doc{{Ref: 7, Text: "a horse"}}, nil, 2)
	expect("replaced", 8, 9)
	apply(t, x, nil, []uint32{8}, 3)
	expect("removed", 9)
	apply(t, x, []Doc{{Ref: 5000, Text: "zebra"}}, nil, 4)
	expect("in the tail", 9, 5000)
	land(t, x)
	expect("landed", 9, 5000)
	if err := x.Scrub(context.Background()); err != nil {
		t.Fatal(err)
	}
	if x.held.Load() != nil {
		t.Error("something is held of what was scrubbed")
	}
	expect("scrubbed", 9, 5000)
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	h := &held{lists: map[string]*list{}}
	long := make([]posting, maxHeldList)
	for i := range 2 * maxHeld / maxHeldList {
		h.keep(fmt.Sprint(i), &list{docs: long})
		h.keep(fmt.Sprint(i), &list{docs: long}) // by two searches at once
	}
	sum := 0
	for _, l := range h.lists {
		sum += len(l.docs) + 16
	}
	if len(h.lists) == 0 || sum != h.size || h.size > maxHeld {
		t.Errorf("%d lists of %d postings, said to be %d", len(h.lists), sum, h.size)
	}
}

// BenchmarkHeld compares a search with cached lists to one without.
func BenchmarkHeld(b *testing.B) {
	x := benchIndex(b, 10_000)
	settle(b, x)
	c := newCorpus(2)
	texts := make([]string, 64)
	for i := range texts {
		texts[i] = c.rare(10)
	}
	for _, held := range []bool{false, true} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if !held {
					x.held.Store(nil)
				}
				if _, err := x.Search(context.Background(), Query{Text: texts[i%len(texts)], Limit: 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
