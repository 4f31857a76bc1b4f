package keyword

import (
	"context"
	"errors"
	"slices"
	"testing"
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
