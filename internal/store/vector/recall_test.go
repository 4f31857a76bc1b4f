package vector

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/static"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// embeddings are the vectors of a set's texts and of its queries.
func embeddings(t *testing.T, model embed.Embedder, set string) (texts, queries [][]float32) {
	t.Helper()
	embed := func(file string) (out [][]float32) {
		f, err := os.Open(filepath.Join(evaldata.Dir(t, set), file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var lines []string
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var d struct{ Text string }
			if err := json.Unmarshal(scan.Bytes(), &d); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, d.Text)
		}
		vecs, err := model.Embed(context.Background(), lines)
		if err := errors.Join(err, scan.Err()); err != nil {
			t.Fatal(err)
		}
		for _, v := range vecs {
			if v != nil {
				out = append(out, v)
			}
		}
		return out
	}
	return embed("corpus.jsonl"), embed("queries.jsonl")
}

// recall is the share of the exact k nearest that the bits find too. A row that
// scores as much as the last of them counts as found.
func recall(t *testing.T, x *Index, queries [][]float32, k int, accept func(uint32) bool) float64 {
	t.Helper()
	found, all := 0, 0
	search := func(scanRows int, q []float32) []Hit {
		x.opts.ScanRows = scanRows
		hits, err := x.Search(context.Background(), q, k, accept)
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	for _, q := range queries {
		want := search(-1, q)
		last := want[len(want)-1].Centred
		all += len(want)
		for _, h := range search(1, q) {
			if h.Centred >= last {
				found++
			}
		}
	}
	return float64(found) / float64(all)
}

// The default oversampling must not cost results on real texts: a model of 64
// dimensions is the hard case, since it has the fewest bits.
func TestBitsFindWhatTheExactScanFinds(t *testing.T) {
	race.SkipLong(t)
	model, err := static.Open(evaldata.Dir(t, "model2vec-tiny"))
	if err != nil {
		t.Fatal(err)
	}
	const k = 50
	all := New(model.Dim(), Options{})
	ref := uint32(0)
	var queries [][]float32
	for _, name := range []string{"cosqa-dev", "beam-dev", "locomo-dev"} {
		texts, qs := embeddings(t, model, name)
		for _, v := range texts {
			set(t, all, ref, v)
			ref++
		}
		queries = append(queries, qs...)
	}
	t.Logf("%d texts, %d queries", all.Len(), len(queries))
	for _, oversample := range []int{5, 10, 20, 40, 80} { // only to be read
		all.opts.Oversample = oversample
		t.Logf("oversample %3d: recall@%d %.4f", oversample, k, recall(t, all, queries, k, nil))
	}
	all.opts.Oversample = 0
	got := recall(t, all, queries, k, nil)
	t.Logf("default: recall@%d %.4f", k, got)
	if got < 0.99 {
		t.Errorf("recall@%d is %.4f with the default oversampling, want at least 0.99", k, got)
	}
	if got := recall(t, all, queries, k, func(ref uint32) bool { return ref%20 == 0 }); got < 0.99 {
		t.Errorf("recall@%d is %.4f beside a filter that lets 5%% through, want at least 0.99", k, got)
	}
}

// benchSizes are the sizes of the benchmarks. KEN_BENCH_SIZE=1000000 adds larger
// ones up to that size.
func benchSizes() []int {
	sizes := []int{10_000}
	limit, _ := strconv.Atoi(os.Getenv("KEN_BENCH_SIZE"))
	for n := 100_000; n <= limit; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}

// randomUnit is a vector of unit length that leans a little towards others.
func randomUnit(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	var sum float64
	for i := range v {
		v[i] = float32(r.NormFloat64() + 0.3)
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func BenchmarkSearch(b *testing.B) {
	const dim = 256
	for _, n := range benchSizes() {
		r := rand.New(rand.NewPCG(1, 1))
		x := New(dim, Options{})
		for i := range n {
			if err := x.Set(uint32(i), randomUnit(r, dim)); err != nil {
				b.Fatal(err)
			}
		}
		query := randomUnit(r, dim)
		narrow := func(ref uint32) bool { return ref%20 == 0 }
		for _, bc := range []struct {
			name     string
			scanRows int
			workers  int
			accept   func(uint32) bool
		}{
			{"exact", -1, 1, nil},
			{"exact-parallel", -1, 0, nil},
			{"exact-filter5%", -1, 1, narrow},
			{"bits", 1, 1, nil},
			{"bits-parallel", 1, 0, nil},
			{"bits-filter5%", 1, 1, narrow},
		} {
			b.Run(fmt.Sprintf("%s/%d", bc.name, n), func(b *testing.B) {
				x.opts.ScanRows, x.opts.Workers = bc.scanRows, bc.workers
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Search(context.Background(), query, 50, bc.accept); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkSet(b *testing.B) {
	const dim = 256
	r := rand.New(rand.NewPCG(1, 1))
	vecs := make([][]float32, 1000)
	for i := range vecs {
		vecs[i] = randomUnit(r, dim)
	}
	x := New(dim, Options{})
	i := 0
	for b.Loop() {
		if err := x.Set(uint32(i%100_000), vecs[i%1000]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkOpenFile(b *testing.B) {
	const dim = 256
	for _, n := range benchSizes() {
		path := filepath.Join(b.TempDir(), "v")
		o := FileOptions{Model: "m", Dim: dim}
		f, err := OpenFile(path, o)
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			if err := f.Append(Record{hashOf(i), randomUnit(r, dim)}); err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
		for _, into := range []string{"hashes", "vectors"} {
			b.Run(fmt.Sprintf("%s/%d", into, n), func(b *testing.B) {
				if into == "vectors" {
					o.Each = func(Hash, []float32) {}
				}
				for b.Loop() {
					f, err := OpenFile(path, o)
					if err != nil {
						b.Fatal(err)
					}
					f.Close()
				}
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	const dim = 256
	r := rand.New(rand.NewPCG(1, 1))
	vec := randomUnit(r, dim)
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			f, err := OpenFile(filepath.Join(b.TempDir(), "v"), FileOptions{Model: "m", Dim: dim})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			recs := make([]Record, n)
			i := 0
			for b.Loop() {
				for j := range recs {
					recs[j] = Record{hashOf(i), vec}
					i++
				}
				if err := f.Append(recs...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func hashOf(i int) Hash {
	var h Hash
	copy(h[:], fmt.Sprintf("%016d", i+1))
	return h
}
