package vector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

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
