package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
)

// model is what an index should be: all documents, scored one by one.
type model map[uint32]counted

// counted is how often each term is in a document, and how many there are.
type counted struct {
	freqs map[string]float64
	n     int
}

func count(d Doc) counted {
	tokens := analysis.Tokens(nil, d.Heading)
	tokens = append(tokens, tokens...)
	tokens = analysis.Tokens(tokens, d.Text)
	for _, t := range d.Terms {
		tokens = analysis.Tokens(tokens, t)
	}
	freqs := map[string]float64{}
	for _, t := range tokens {
		freqs[t.Term]++
	}
	return counted{freqs, len(tokens)}
}

// scores are the BM25 scores of all documents that match any of terms.
func (m model) scores(terms []string, o Options) map[uint32]float64 {
	total := 0
	in := map[string]uint64{}
	for _, d := range m {
		total += d.n
		for t := range d.freqs {
			in[t]++
		}
	}
	average := max(float64(total)/float64(len(m)), float64(o.ShortLength))
	out := map[uint32]float64{}
	for ref, d := range m {
		long := max(float64(d.n), float64(o.ShortLength)) / average
		for _, t := range terms {
			if f := d.freqs[t]; f > 0 {
				out[ref] += idf(uint64(len(m)), in[t]) * f * (o.K1 + 1) / (f + o.K1*(1-o.B+o.B*long))
			}
		}
	}
	return out
}

func TestRandomRunsAgreeWithTheModel(t *testing.T) {
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	for range race.Pick(4, 2) {
		runModel(t, r)
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	dir, c, m := t.TempDir(), newCorpus(r.Uint64()), model{}
	x := openTest(t, dir, Options{MaxPostings: -1})
	o := x.opts
	for step := range uint64(25) {
		switch r.IntN(12) {
		case 0:
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openTest(t, dir, Options{MaxPostings: -1})
		case 1:
			if err := x.Scrub(context.Background()); err != nil {
				t.Fatal(err)
			}
		default:
			var up []Doc
			var del []uint32
			for range r.IntN(40) {
				up = append(up, Doc{Ref: r.Uint32N(400), Heading: c.text(r.IntN(3)), Text: c.text(r.IntN(60)), Terms: []string{c.text(1)}})
			}
			for range r.IntN(8) {
				del = append(del, r.Uint32N(400))
			}
			apply(t, x, up, del, step)
			for _, d := range up {
				m[d.Ref] = count(d)
			}
			for _, ref := range del {
				delete(m, ref)
			}
		}
		if x.Count() != uint64(len(m)) {
			t.Fatalf("step %d: %d documents, want %d", step, x.Count(), len(m))
		}
		odd := r.IntN(2) == 0
		q := Query{Text: c.text(1 + r.IntN(6)), Limit: 1 + r.IntN(30)}
		if odd {
			q.Accept = func(ref uint32) bool { return ref%2 == 1 }
		}
		checkAgainst(t, search(t, x, q), m.scores(analysis.Terms(q.Text), o), q)
	}
}

// checkAgainst compares a result with the model's scores. Documents whose scores differ
// only by rounding may be in any order.
func checkAgainst(t *testing.T, res Result, scores map[uint32]float64, q Query) {
	t.Helper()
	var want []float64
	for ref, s := range scores {
		if q.Accept == nil || q.Accept(ref) {
			want = append(want, s)
		}
	}
	slices.Sort(want)
	slices.Reverse(want)
	want = want[:min(len(want), q.Limit)]
	if len(res.Hits) != len(want) {
		t.Fatalf("%d hits for %q, want %d", len(res.Hits), q.Text, len(want))
	}
	for i, h := range res.Hits {
		if !near(h.Score, want[i]) || !near(h.Score, scores[h.Ref]) {
			t.Fatalf("hit %d for %q is %d with %v; the %d-th score is %v, this document's %v",
				i, q.Text, h.Ref, h.Score, i, want[i], scores[h.Ref])
		}
		if q.Accept != nil && !q.Accept(h.Ref) {
			t.Fatalf("%d was not accepted", h.Ref)
		}
		if h.Share <= 0 || h.Share > 1 {
			t.Fatalf("share %v", h.Share)
		}
	}
	for _, ref := range res.Rejected {
		if s := scores[ref]; q.Accept(ref) || len(want) == q.Limit && s < want[len(want)-1]*(1-1e-6) {
			t.Fatalf("%d with %v is no reject", ref, s)
		}
	}
}

// A reader must see complete batches. Each batch replaces all documents, so a
// search that finds only a part of a batch has seen two.
func TestSearchesSeeWholeBatches(t *testing.T) {
	x := openTest(t, t.TempDir(), Options{})
	const docs = 20
	batches := race.Pick(60, 30)
	batch := func(n int) []Doc {
		out := make([]Doc, docs)
		for i := range out {
			out[i] = Doc{Ref: uint32(i), Text: "zebra " + word(uint64(5000+n))}
		}
		return out
	}
	apply(t, x, batch(0), nil, 0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				for _, text := range []string{"zebra", word(uint64(5000 + n%batches))} {
					res, err := x.Search(context.Background(), Query{Text: text})
					if err != nil {
						t.Error(err)
						return
					}
					if got := len(res.Hits); got != docs && (got != 0 || text == "zebra") {
						t.Errorf("%q finds %d documents: half a batch", text, got)
						return
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 3 {
			if err := x.Scrub(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	for n := 1; n < batches; n++ {
		apply(t, x, batch(n), nil, uint64(n))
	}
	close(stop)
	wg.Wait()
	if res := search(t, x, Query{Text: word(uint64(5000 + batches - 1))}); len(res.Hits) != docs {
		t.Errorf("the last batch has %d documents", len(res.Hits))
	}
}

func ExampleIndex_Search() {
	x, err := Open(exampleDir(), Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer x.Close()
	err = x.Apply([]Doc{
		{Ref: 1, Heading: "Deploy", Text: "Production runs in Frankfurt."},
		{Ref: 2, Heading: "Deploy", Text: "Staging runs in Dublin."},
		{Ref: 3, Heading: "Lunch", Text: "On Fridays there is soup."},
	}, nil, 17)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := x.Search(context.Background(), Query{Text: "where does production run?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range res.Hits {
		fmt.Printf("%d has %.0f%%\n", h.Ref, 100*h.Share)
	}
	fmt.Println("up to log position", x.Watermark())
	// Output:
	// 1 has 100%
	// 2 has 48%
	// up to log position 17
}
