package vector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/topk"
)

func set(t testing.TB, x *Index, ref uint32, vec []float32) {
	t.Helper()
	if err := x.Set(ref, vec); err != nil {
		t.Fatal(err)
	}
}

func searchRefs(t testing.TB, x *Index, vec []float32, k int, accept func(uint32) bool) []uint32 {
	t.Helper()
	hits, err := x.Search(context.Background(), vec, k, accept)
	if err != nil {
		t.Fatal(err)
	}
	var refs []uint32
	for _, h := range hits {
		refs = append(refs, h.Ref)
	}
	return refs
}

func TestEqualScoresAreOrderedByRef(t *testing.T) {
	x := New(4, Options{})
	for _, ref := range []uint32{5, 9, 2, 7, 1, 8} {
		set(t, x, ref, axis(0))
	}
	if got := searchRefs(t, x, axis(0), 3, nil); !slices.Equal(got, []uint32{1, 2, 5}) {
		t.Errorf("got %v, want the three smallest", got)
	}
}

func TestSetReplacesAndDeleteRemoves(t *testing.T) {
	x := New(4, Options{})
	set(t, x, 1, axis(0))
	set(t, x, 1, axis(1))
	set(t, x, 2, axis(0))
	if got := searchRefs(t, x, axis(0), 1, nil); x.Len() != 2 || !slices.Equal(got, []uint32{2}) {
		t.Errorf("%d rows, nearest %v", x.Len(), got)
	}
	if !x.Delete(2) || x.Delete(2) || x.Len() != 1 {
		t.Error("Delete")
	}
	if got := searchRefs(t, x, axis(0), 5, nil); !slices.Equal(got, []uint32{1}) {
		t.Errorf("after Delete: %v", got)
	}
}

// A vector of another model, or an empty one, must be an error, not noise.
func TestIndexRefusesWhatIsNoVector(t *testing.T) {
	nan := axis(0)
	nan[1] = float32(math.NaN())
	x := New(4, Options{})
	set(t, x, 1, axis(0))
	for name, vec := range map[string][]float32{
		"wrong dimension": {1}, "NaN": nan, "zero": make([]float32, 4), "nil": nil, "long": {1, 1, 0, 0},
	} {
		if err := x.Set(2, vec); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("Set, %s: got %v, want ErrInvalid", name, err)
		}
		if _, err := x.Search(context.Background(), vec, 5, nil); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("Search, %s: got %v, want ErrInvalid", name, err)
		}
	}
	if x.Len() != 1 {
		t.Errorf("%d rows", x.Len())
	}
}

func TestSearchHonoursItsContext(t *testing.T) {
	for _, scanRows := range []int{-1, 1} {
		x := New(4, Options{ScanRows: scanRows})
		for i := range uint32(20_000) {
			set(t, x, i, axis(int(i)))
		}
		ctx, cancel := context.WithCancel(context.Background())
		var once sync.Once
		_, err := x.Search(ctx, axis(0), 5, func(uint32) bool { once.Do(cancel); return false })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
}

func TestCentredCosine(t *testing.T) {
	x := New(4, Options{})
	a, b, q := []float32{0.8, 0.6, 0, 0}, []float32{0.8, 0, 0.6, 0}, []float32{0.8, 0.48, 0.36, 0}
	set(t, x, 1, a)
	set(t, x, 2, b)
	hits, err := x.Search(context.Background(), q, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The mean is (0.8, 0.3, 0.3, 0), of which two rows take off half of 2/52.
	mean := []float32{0.8 * 1 / 52, 0.3 * 1 / 52, 0.3 * 1 / 52, 0}
	if len(hits) != 2 || hits[0].Ref != 1 || abs(hits[0].Score-0.928) > 1e-5 || abs(hits[0].Centred-centred(a, q, mean)) > 1e-5 ||
		abs(hits[1].Centred-centred(b, q, mean)) > 1e-5 {
		t.Errorf("hits %+v, want centred %v and %v", hits, centred(a, q, mean), centred(b, q, mean))
	}
	got, err := x.Centred(q, []uint32{2, 9, 1})
	if err != nil || got[0] != hits[1].Centred || got[1] != 0 || got[2] != hits[0].Centred {
		t.Errorf("by ref: %v, %v", got, err)
	}
	if _, err := x.Centred([]float32{1}, nil); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a query of another dimension: %v", err)
	}
}

// centred is the cosine between a and b less m, by the definition.
func centred(a, b, m []float32) float32 {
	var ab, aa, bb float64
	for i := range m {
		x, y := float64(a[i]-m[i]), float64(b[i]-m[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return float32(ab / math.Sqrt(aa*bb))
}

func abs(f float32) float32 { return float32(math.Abs(float64(f))) }

// model is what an index should be: all vectors, compared one by one.
type model map[uint32][]float32

func (m model) search(q []float32, k int, accept func(uint32) bool) []scored {
	mean := make([]float32, len(q))
	for _, v := range m {
		for i := range v {
			mean[i] += meanShare * v[i] / float32(len(m)+fewRows)
		}
	}
	t := topk.New[scored](k)
	for ref, v := range m {
		if s := (scored{ref: ref, score: centred(v, q, mean)}); accept(ref) {
			t.Offer(s)
		}
	}
	return t.Sorted()
}

func TestRandomRunsAgreeWithTheModel(t *testing.T) {
	number := seed.Of(t)
	r := rand.New(rand.NewPCG(number, 0))
	for _, o := range []Options{
		{ScanRows: -1, Workers: 1},
		{ScanRows: -1, Workers: 3},
		// With the bits, the result is exact when the candidates are all rows that
		// pass the filter; then only the machinery is under test.
		{ScanRows: 1, Oversample: 1000, Workers: 1},
		{ScanRows: 1, Oversample: 1000, Workers: 3},
	} {
		runModel(t, r, o)
	}
}

func runModel(t *testing.T, r *rand.Rand, o Options) {
	const dim = 70 // neither a multiple of 64 nor of a SIMD register
	x, m := New(dim, o), model{}
	for step := range 12_000 {
		ref := r.Uint32N(9000)
		if r.IntN(5) == 0 {
			_, had := m[ref]
			if x.Delete(ref) != had {
				t.Fatalf("Delete(%d) of a row that was there: %v", ref, had)
			}
			delete(m, ref)
		} else {
			v := randomUnit(r, dim)
			set(t, x, ref, v)
			m[ref] = v
		}
		if step%1500 != 1499 {
			continue
		}
		if x.Len() != len(m) {
			t.Fatalf("%d rows, want %d", x.Len(), len(m))
		}
		q, k, accept := randomUnit(r, dim), 1+r.IntN(5), func(ref uint32) bool { return ref%4 == 1 }
		want := m.search(q, k, accept)
		hits, err := x.Search(context.Background(), q, k, accept)
		if err != nil {
			t.Fatal(err)
		}
		if o.ScanRows > 0 && k*o.Oversample < len(m)/4 {
			continue // the candidates are not all rows that pass
		}
		if len(hits) != len(want) {
			t.Fatalf("%d hits, want %d", len(hits), len(want))
		}
		for i, h := range hits {
			if abs(h.Centred-want[i].score) > 1e-5 {
				t.Fatalf("%+v: hit %d is %d with %v, want %d with %v", o, i, h.Ref, h.Centred, want[i].ref, want[i].score)
			}
		}
	}
}

func TestSearchesBesideWriters(t *testing.T) {
	for _, scanRows := range []int{-1, 1} {
		x := New(64, Options{ScanRows: scanRows, Workers: 2})
		r := rand.New(rand.NewPCG(1, 1))
		fixed := randomUnit(r, 64)
		set(t, x, 1_000_000, fixed) // never changes, so every search must find it
		for i := range uint32(6000) {
			set(t, x, i, randomUnit(r, 64))
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for w := range uint64(2) {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(2, w))
				for {
					select {
					case <-stop:
						return
					default:
					}
					if ref := r.Uint32N(8000); r.IntN(3) == 0 {
						x.Delete(ref)
					} else if err := x.Set(ref, randomUnit(r, 64)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for range 200 {
			hits, err := x.Search(context.Background(), fixed, 5, func(ref uint32) bool { return ref%2 == 0 })
			if err != nil || len(hits) != 5 || hits[0].Ref != 1_000_000 {
				t.Fatalf("hits %v, %v", hits, err)
			}
			for _, h := range hits {
				if h.Ref%2 != 0 {
					t.Fatalf("%d passed the filter", h.Ref)
				}
			}
		}
		close(stop)
		wg.Wait()
	}
}

// A narrow filter must get as many hits as a wide one. Filtering after the
// search would lose some.
func TestNarrowFilterGetsItsHits(t *testing.T) {
	x := New(64, Options{ScanRows: 1})
	r := rand.New(rand.NewPCG(1, 1))
	for i := range uint32(10_000) {
		set(t, x, i, randomUnit(r, 64))
	}
	if got := searchRefs(t, x, randomUnit(r, 64), 10, func(ref uint32) bool { return ref >= 9990 }); len(got) != 10 {
		t.Errorf("%d hits of the 10 that pass", len(got))
	}
}

func ExampleIndex_Search() {
	x := New(2, Options{})
	for ref, vec := range [][]float32{{1, 0}, {0.6, 0.8}, {0, 1}} {
		if err := x.Set(uint32(ref), vec); err != nil {
			fmt.Println(err)
			return
		}
	}
	hits, err := x.Search(context.Background(), []float32{0.8, 0.6}, 2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range hits {
		fmt.Printf("%d %.2f\n", h.Ref, h.Score)
	}
	// Output:
	// 1 0.96
	// 0 0.80
}
