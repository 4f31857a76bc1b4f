package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken/internal/seed"
)

func numbers(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// far returns the largest difference of two lists, as a part of the largest number.
func far(a, b []float32) float64 {
	most, size := 0.0, 1.0
	for i := range a {
		most, size = max(most, math.Abs(float64(a[i])-float64(b[i]))), max(size, math.Abs(float64(b[i])))
		if a[i] != a[i] {
			return math.Inf(1)
		}
	}
	return most / size
}

func TestFloatsMultiply(t *testing.T) {
	for _, s := range []struct{ n, in, out int }{{1, 4, 1}, {2, 32, 32}, {3, 384, 33}, {5, 388, 64}, {6, 36, 96}, {7, 800, 31}, {11, 64, 40}, {12, 384, 384}, {13, 1536, 70}, {25, 128, 32}, {40, 16, 65}} {
		everyLevel(t, fmt.Sprint(s), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed.Of(t), 1))
			a, w := numbers(r, s.n*(s.in+3)), numbers(r, s.out*s.in)
			start := make([]float32, Padded(s.out))
			copy(start, numbers(r, s.out))
			ldc := Padded(s.out) + 5
			got := make([]float32, s.n*ldc)
			Pack(w, s.out, s.in).Multiply(got, ldc, a, s.in+3, s.n, start)
			for i := range s.n {
				want := make([]float32, s.out)
				for o := range want {
					sum := float64(start[o])
					for k := range s.in {
						sum += float64(a[i*(s.in+3)+k]) * float64(w[o*s.in+k])
					}
					want[o] = float32(sum)
				}
				if d := far(got[i*ldc:][:s.out], want); d > 1e-5 {
					t.Fatalf("row %d is off by %g", i, d)
				}
				for j := Padded(s.out); j < ldc; j++ {
					if got[i*ldc+j] != 0 {
						t.Fatalf("column %d of row %d was written", j, i)
					}
				}
			}
		})
	}
}

func TestBytesMultiply(t *testing.T) {
	for _, s := range []struct{ n, in, out int }{{1, 32, 1}, {2, 32, 32}, {3, 384, 33}, {4, 64, 64}, {5, 96, 96}, {7, 800, 31}, {11, 64, 40}, {12, 384, 384}, {13, 1536, 70}, {25, 128, 32}} {
		everyLevel(t, fmt.Sprint(s), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed.Of(t), 1))
			a, w := numbers(r, s.n*s.in), numbers(r, s.out*s.in)
			for i := range s.in { // the largest numbers on both sides must not overflow
				a[i], w[i] = 4, 4-8*float32(i%2)
			}
			bias := make([]float32, Padded(s.out))
			copy(bias, numbers(r, s.out))
			m, left := PackBytes(w, s.out, s.in), new(Left)
			left.Quantize(a, s.n, s.in)
			got, want := make([]float32, s.n*m.columns), make([]float32, s.n*m.columns)
			m.Multiply(got, m.columns, left, bias)
			for j := 0; j < m.columns; j += Width {
				bytesGo(s.n, s.in, left.data, m.data[j*s.in:], want[j:], m.columns, m.start[j:], m.scale[j:], left.scale, bias[j:])
			}
			if d := far(got, want); d > 1e-6 {
				t.Errorf("off by %g from plain Go", d)
			}
			Pack(w, s.out, s.in).Multiply(want, m.columns, a, s.in, s.n, bias)
			if d := far(got, want); d > 0.04 {
				t.Errorf("off by %g from float32", d)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	for _, n := range []int{8, 16, 32, 384, 1536} {
		everyLevel(t, fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed.Of(t), 1))
			x := numbers(r, n)
			for i := range x {
				x[i] *= float32(math.Pow(10, float64(r.IntN(4)-2)))
			}
			x[0], x[n-1] = -60, 60
			check := func(what string, tolerance float64, f, plain func(x []float32)) {
				t.Helper()
				got, want := append([]float32(nil), x...), append([]float32(nil), x...)
				f(got)
				plain(want)
				if d := far(got, want); d > tolerance {
					t.Errorf("%s is off by %g", what, d)
				}
			}
			check("GELU", 1e-6, GELU, geluGo)
			check("maximum", 0, func(x []float32) { x[0] = maximum(x) }, func(x []float32) { x[0] = maximumGo(x) })
			check("size", 0, func(x []float32) { x[0] = size(x) }, func(x []float32) { x[0] = sizeGo(x) })
			check("softmax", 1e-6, func(x []float32) { Softmax(x, 0.5) }, func(x []float32) {
				sum := exponentsGo(x, 0.5, 30)
				for i := range x {
					x[i] /= sum
				}
			})
			residual, gamma, beta := numbers(r, n), numbers(r, n), numbers(r, n)
			check("normalisation", 1e-5, func(x []float32) { Normalize(x, residual, gamma, beta, 1e-12) },
				func(x []float32) { normalizeGo(x, residual, gamma, beta, 1e-12) })
			if n%32 == 0 {
				got, want := make([]uint8, n), make([]uint8, n)
				quantize(got, x, 127.0/60)
				quantizeGo(want, x, 127.0/60)
				if string(got) != string(want) {
					t.Errorf("quantised to %v, want %v", got, want)
				}
			}
		})
	}
}

func TestSoftmaxOfHiddenNumbers(t *testing.T) {
	everyLevel(t, "", func(t *testing.T) {
		hidden := float32(math.Inf(-1))
		x := []float32{1, 1, hidden, hidden, hidden, hidden, hidden, hidden}
		Softmax(x, 1)
		if far(x, []float32{0.5, 0.5, 0, 0, 0, 0, 0, 0}) > 1e-6 {
			t.Error(x)
		}
	})
}

func BenchmarkFloats(b *testing.B) {
	for _, n := range []int{12, 130} {
		everyLevel(b, fmt.Sprint(n), func(b *testing.B) {
			m := Pack(make([]float32, 384*1536), 1536, 384)
			a, c, bias := make([]float32, n*384), make([]float32, n*1536), make([]float32, 1536)
			for b.Loop() {
				m.Multiply(c, 1536, a, 384, n, bias)
			}
			b.ReportMetric(2*float64(n)*384*1536*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkBytes(b *testing.B) {
	for _, n := range []int{12, 130} {
		everyLevel(b, fmt.Sprint(n), func(b *testing.B) {
			m := PackBytes(make([]float32, 384*1536), 1536, 384)
			a, c, bias, left := make([]float32, n*384), make([]float32, n*1536), make([]float32, 1536), new(Left)
			for b.Loop() {
				left.Quantize(a, n, 384)
				m.Multiply(c, 1536, left, bias)
			}
			b.ReportMetric(2*float64(n)*384*1536*float64(b.N)/b.Elapsed().Seconds()/1e9, "GOP/s")
		})
	}
}

// The assembly is what the generator writes.
func TestGeneratedFiles(t *testing.T) {
	generator, err := filepath.Abs("generate.go")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", generator)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"kernel_amd64.s", "tables_amd64.go"} {
		want, err := os.ReadFile(filepath.Join(cmd.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./internal/embed/kernel (%v)", name, err)
		}
	}
}
