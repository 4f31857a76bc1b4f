package keyword

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	zap "github.com/blevesearch/zapx/v17"
	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/store"
)

func openTest(t testing.TB, dir string, o Options) *Index {
	t.Helper()
	x, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func apply(t testing.TB, x *Index, up []Doc, del []uint32, watermark uint64) {
	t.Helper()
	if err := x.Apply(up, del, watermark); err != nil {
		t.Fatal(err)
	}
}

func search(t testing.TB, x *Index, q Query) Result {
	t.Helper()
	res, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func refs(hits []store.Hit) []uint32 {
	var out []uint32
	for _, h := range hits {
		out = append(out, h.Ref)
	}
	return out
}

func TestScoreIsTextbookBM25(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{K1: 1.2, B: 0.75, ShortLength: -1})
	apply(t, x, []Doc{
		{Ref: 1, Text: "zebra zebra tiger"},                  // 3 words
		{Ref: 2, Text: "zebra giraffe giraffe giraffe lion"}, // 5
		{Ref: 3, Text: "tiger lion panther jaguar"},          // 4
	}, nil, 1)
	res := search(t, x, Query{Text: "zebra tiger unicorn"})

	// N = 3, the average length is 4, k1 = 1.2, b = 0.75. zebra and tiger are in
	// two documents each: idf = ln(1 + (3-2+0.5)/(2+0.5)) = ln 1.6. unicorn is in
	// none: ln(1 + 3.5/0.5) = ln 8.
	two, none := math.Log(1.6), math.Log(8)
	weight := 2.2 * (two + two + none)
	// A document of n words adds 1.2*(0.25 + 0.75*n/4): 0.975 for 3, 1.425 for 5, 1.2 for 4.
	want := []store.Hit{
		{Ref: 1, Score: two*2.2*2/(2+0.975) + two*2.2*1/(1+0.975)},
		{Ref: 3, Score: two * 2.2 * 1 / (1 + 1.2)},
		{Ref: 2, Score: two * 2.2 * 1 / (1 + 1.425)},
	}
	// Share takes 1,000 documents for granted, and asks only who has what.
	fair := func(n float64) float64 { return math.Log(1 + (1000-n+0.5)/(n+0.5)) }
	whole := 2*fair(2) + fair(0)
	want[0].Share, want[1].Share, want[2].Share = 2*fair(2)/whole, fair(2)/whole, fair(2)/whole
	for i, h := range res.Hits {
		score, share := 0.0, 0.0
		for n, part := range h.Parts {
			if score += float64(part); part > 0 {
				share += float64(res.Values[n])
			}
		}
		if !near(score, h.Score) || !near(share, h.Share) {
			t.Errorf("the parts of %d make up %v and %v, not %v and %v", h.Ref, score, share, h.Score, h.Share)
		}
		res.Hits[i].Parts = nil
	}
	if d := cmp.Diff(want, res.Hits, cmp.Comparer(near)); d != "" {
		t.Errorf("hits (-want +got):\n%s", d)
	}
	if !near(res.Weight, weight) {
		t.Errorf("weight = %v, want %v", res.Weight, weight)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

func TestHeadingAndTermsShareTheField(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{ShortLength: -1})
	apply(t, x, []Doc{
		{Ref: 1, Heading: "zebra", Text: "tiger lion"},
		{Ref: 2, Text: "zebra tiger lion panther"},
		{Ref: 3, Text: "tiger lion panther", Terms: []string{"zebra"}},
	}, nil, 1)
	res := search(t, x, Query{Text: "zebra"})
	if got, want := refs(res.Hits), []uint32{1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("hits %v, want %v: the heading counts twice, a term like the text", got, want)
	}
	if res.Hits[1].Score != res.Hits[2].Score {
		t.Errorf("a word scores %v in the text and %v as a term", res.Hits[1].Score, res.Hits[2].Score)
	}
}

func TestShortDocumentsDoNotWinByBeingShort(t *testing.T) {
	docs := []Doc{{Ref: 1, Text: "zebra"}, {Ref: 2, Text: "zebra tiger lion panther jaguar leopard"}}
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, docs, nil, 1)
	if res := search(t, x, Query{Text: "zebra"}); res.Hits[0].Score != res.Hits[1].Score {
		t.Errorf("below ShortLength lengths must not matter: %+v", res.Hits)
	}
}

func TestApplyReplacesAndDeletes(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, []Doc{{Ref: 7, Text: "zebra"}, {Ref: 8, Text: "zebra"}}, nil, 3)
	apply(t, x, []Doc{{Ref: 7, Text: "tiger"}, {Ref: 9, Text: "zebra"}}, []uint32{8, 100}, 5)
	if got := refs(search(t, x, Query{Text: "zebra"}).Hits); !slices.Equal(got, []uint32{9}) {
		t.Errorf("zebra finds %v", got)
	}
	if x.Count() != 2 || x.Watermark() != 5 {
		t.Errorf("count %d, watermark %d; want 2, 5", x.Count(), x.Watermark())
	}
	apply(t, x, []Doc{{Ref: 9, Text: "lion"}}, []uint32{9}, 6)
	if x.Count() != 1 {
		t.Errorf("count %d after a document and its removal in one batch, want 1", x.Count())
	}
}

func TestReopenKeepsDocumentsAndWatermark(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, Options{StoreID: "a"})
	for i := range uint32(50) {
		apply(t, x, []Doc{{Ref: i, Text: "zebra " + word(uint64(i+500))}}, nil, uint64(i)+1)
	}
	before := search(t, x, Query{Text: "zebra " + word(520)})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	x = openTest(t, dir, Options{StoreID: "a"})
	if x.Watermark() != 50 || x.Count() != 50 {
		t.Errorf("watermark %d, count %d; want 50, 50", x.Watermark(), x.Count())
	}
	if d := cmp.Diff(before, search(t, x, Query{Text: "zebra " + word(520)})); d != "" {
		t.Errorf("the reopened index answers differently (-before +after):\n%s", d)
	}
}

func TestClosedIndexSaysSo(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	x.Close()
	_, err := x.Search(context.Background(), Query{Text: "zebra"})
	for _, err := range []error{err, x.Apply(nil, nil, 1), x.Scrub(context.Background())} {
		if !errors.Is(err, ken.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	}
}

func TestOpenRefusesAnotherStoresIndex(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir, Options{StoreID: "a"}).Close()
	if _, err := Open(dir, Options{StoreID: "b"}); !errors.Is(err, ken.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	openTest(t, dir, Options{StoreID: "a"}) // the refusal let go of it
}

func TestOpenDoesNotHangOnAHeldIndex(t *testing.T) {
	dir := t.TempDir()
	openTest(t, dir, Options{})
	if _, err := Open(dir, Options{LockTimeout: 1}); !errors.Is(err, ken.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
}

func TestOpenReportsDamage(t *testing.T) {
	damages := map[string]func(path string) error{
		"cut":     func(p string) error { return cutFile(p, 0.5) },
		"emptied": func(p string) error { return cutFile(p, 0) },
		"zeroed":  func(p string) error { return overwrite(p, 0.1, 0.9) },
		"missing": os.Remove,
	}
	for name, damage := range damages {
		for _, pattern := range []string{"*.zap", directoryFile} {
			if name == "missing" && pattern == directoryFile {
				continue // nothing is left that could be called an index
			}
			t.Run(fmt.Sprint(name, pattern), func(t *testing.T) {
				dir := t.TempDir()
				x := openTest(t, dir, Options{})
				apply(t, x, newCorpus(1).docs(0, 300), nil, 1)
				x.Close()
				files, _ := filepath.Glob(filepath.Join(dir, pattern))
				for _, f := range files {
					if err := damage(f); err != nil {
						t.Fatal(err)
					}
				}
				x, err := Open(dir, Options{})
				if err == nil && x.Watermark() == 0 && x.Count() == 0 {
					x.Close() // the engine still had the snapshot before the first batch
				} else if !errors.Is(err, ken.ErrCorrupt) {
					t.Fatalf("got %v; want ErrCorrupt, or an older state", err)
				}
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				openTest(t, dir, Options{}) // removed and built anew
			})
		}
	}
}

func cutFile(path string, share float64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, int64(share*float64(info.Size())))
}

func overwrite(path string, from, to float64) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	clear(b[int(from*float64(len(b))):int(to*float64(len(b)))])
	return os.WriteFile(path, b, 0o600)
}

// land writes the tails to the engine.
func land(t *testing.T, x *Index) {
	t.Helper()
	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.settle(x.engine); err != nil {
		t.Fatal(err)
	}
}

// The hits and scores of a search must not depend on whether a document is
// still in memory, is being written to the engine, or is in the engine.
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

// onDisk reports whether the dictionary of any segment file holds the term,
// deleted or not.
func onDisk(t *testing.T, dir, term string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := new(zap.ZapPlugin).Open(f)
		if err != nil {
			continue // being written, or merged away just now
		}
		d, err := s.Dictionary(wordsField)
		if err != nil {
			t.Fatal(err)
		}
		found, err := d.Contains([]byte(term))
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		if found {
			return true
		}
	}
	return false
}

var term = analysis.Terms("xylophone")[0]

// Systems that only hide what was deleted leave it in their files.
func TestScrubRemovesDeletedWordsFromTheFiles(t *testing.T) {
	for name, build := range map[string]func(*Index){
		"one segment": func(x *Index) {
			apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}, {Ref: 2, Text: "zebra"}}, nil, 1)
		},
		"many segments": func(x *Index) {
			apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}, {Ref: 2, Text: "zebra"}}, nil, 1)
			for i := range uint32(30) {
				apply(t, x, []Doc{{Ref: 10 + i, Text: "tiger"}}, nil, 2)
			}
		},
		"large": func(x *Index) {
			apply(t, x, append(newCorpus(1).docs(10, race.Pick(3000, 1100)), Doc{Ref: 1, Text: "xylophone"}, Doc{Ref: 2, Text: "zebra"}), nil, 1)
		},
		"nothing else": func(x *Index) { apply(t, x, []Doc{{Ref: 1, Text: "xylophone"}}, nil, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			x := openTest(t, dir, Options{})
			build(x)
			land(t, x)
			if err := x.flush(context.Background(), x.engine); err != nil {
				t.Fatal(err)
			}
			if !onDisk(t, dir, term) {
				t.Fatal("the word is not in the files to begin with; this test would prove nothing")
			}
			apply(t, x, nil, []uint32{1}, 9)
			if err := x.Scrub(context.Background()); err != nil {
				t.Fatal(err)
			}
			if onDisk(t, dir, term) {
				t.Error("the deleted word is still in a file")
			}
			if name != "nothing else" && len(search(t, x, Query{Text: "zebra"}).Hits) != 1 {
				t.Error("another document went too")
			}
			if x.Watermark() != 9 {
				t.Errorf("watermark %d", x.Watermark())
			}
		})
	}
}

func TestScrubBesideSearchesAndWrites(t *testing.T) {
	dir := t.TempDir()
	x := openTest(t, dir, Options{})
	apply(t, x, append(newCorpus(1).docs(10, race.Pick(500, 150)), Doc{Ref: 1, Text: "xylophone"}), nil, 1)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		c := newCorpus(2)
		for i := uint64(2); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := x.Apply(c.docs(int(i%50), 5), []uint32{uint32(i % 300)}, i); err != nil {
				t.Error(err)
			}
			if _, err := x.Search(context.Background(), Query{Text: c.text(3)}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		apply(t, x, []Doc{{Ref: 9999, Text: "xylophone"}}, nil, 5)
		apply(t, x, nil, []uint32{1, 9999}, 9)
		if err := x.Scrub(context.Background()); err != nil {
			t.Fatal(err)
		}
		if onDisk(t, dir, term) {
			t.Error("the deleted word is still in a file")
		}
	}
}

func TestScrubHonoursItsContext(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	apply(t, x, newCorpus(1).docs(0, 500), nil, 1)
	apply(t, x, nil, []uint32{3}, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Scrub(ctx); !errors.Is(err, ken.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
