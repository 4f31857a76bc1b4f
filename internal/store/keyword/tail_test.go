package keyword

import (
	"context"
	"fmt"
	"reflect"
	"testing"
)

// What a search finds, and how it scores it, must not depend on whether a
// document is still in memory, on its way to the engine, or there.
func TestScoresDoNotDependOnWhereDocumentsAre(t *testing.T) {
	c := newCorpus(3)
	docs := c.docs(1, 200)
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, docs, nil, 1)
	queries := make([]Query, 20)
	for i := range queries {
		queries[i] = Query{Text: c.text(5), Limit: 20}
	}
	ask := func() (out []Result) {
		for _, q := range queries {
			out = append(out, search(t, x, q))
		}
		return out
	}
	inMemory := ask()
	x.writing.Lock()
	x.leave()
	x.writing.Unlock()
	onTheWay := ask()
	land(t, x)
	landed := ask()
	if !reflect.DeepEqual(inMemory, onTheWay) || !reflect.DeepEqual(inMemory, landed) {
		t.Error("results differ between memory, on the way, and landed")
	}
}

// A removal and a new version in memory hide what the engine has.
func TestTailHidesTheEngine(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, []Doc{{Ref: 1, Text: "walrus"}, {Ref: 2, Text: "walrus"}, {Ref: 3, Text: "walrus"}}, nil, 1)
	land(t, x)
	// Into the tail without the settling that Apply does for replaced documents.
	one, _ := Doc{Ref: 1, Text: "penguin"}.analyze(nil)
	x.tails.Load().filling.add(map[uint32]*words{1: one, 2: nil})
	for text, want := range map[string][]uint32{"walrus": {3}, "penguin": {1}} {
		var got []uint32
		for _, h := range search(t, x, Query{Text: text}).Hits {
			got = append(got, h.Ref)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
}

// Enough small batches make the tail leave by itself, and a reopened index has
// everything.
func TestTailLandsByItself(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, Options{})
	const n = 3*flushAt + 10
	for i := range uint32(n) {
		apply(t, x, []Doc{{Ref: i, Text: fmt.Sprintf("common word%d", i)}}, nil, uint64(i+1))
	}
	x.background.Wait()
	if size := x.tails.Load().filling.size(); size >= n {
		t.Errorf("all %d documents are still in memory", size)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openTest(t, dir, Options{})
	if x.Watermark() != n || x.Count() != n {
		t.Errorf("reopened at watermark %d with %d documents, want %d", x.Watermark(), x.Count(), n)
	}
	got, err := x.Search(context.Background(), Query{Text: fmt.Sprintf("word%d", n-1)})
	if err != nil || len(got.Hits) == 0 || got.Hits[0].Ref != n-1 {
		t.Errorf("the last document: %+v, %v", got, err)
	}
}
