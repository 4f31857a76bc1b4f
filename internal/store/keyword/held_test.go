package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/seed"
)

// cold is a search of an index that holds nothing.
func cold(t *testing.T, x *Index, q Query) Result {
	t.Helper()
	x.held.Store(nil)
	return search(t, x, q)
}

// A search finds the same, scores and parts to the last bit, whether the lists come
// from the engine or are held, all of them or some: also after documents are replaced,
// removed and merged, and with some of them in the tail.
func TestWhatIsHeldChangesNoResult(t *testing.T) {
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

// A word's list is held for one snapshot alone: what is written, replaced or removed
// is in the next search.
func TestWhatIsHeldIsNeverOld(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	docs := newCorpus(1).docs(0, through)
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

// BenchmarkHeld is a search whose words were all asked for before, beside one whose
// words were not.
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
