package transformer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/embed/transformer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened are the models of KEN_MODEL, read once for all tests.
var opened struct {
	sync.Mutex
	m map[bool]embed.Embedder
}

// minilm opens the all-MiniLM-L6-v2 that KEN_MODEL names, or skips the test.
func minilm(t testing.TB, int8s bool) embed.Embedder {
	t.Helper()
	folder := os.Getenv("KEN_MODEL")
	if folder == "" {
		t.Skip("KEN_MODEL names no folder of all-MiniLM-L6-v2")
	}
	opened.Lock()
	defer opened.Unlock()
	if opened.m[int8s] == nil {
		e, err := transformer.Open(folder, transformer.Options{Int8: int8s})
		if err != nil {
			t.Fatal(err)
		}
		if opened.m == nil {
			opened.m = map[bool]embed.Embedder{}
		}
		opened.m[int8s] = e
	}
	return opened.m[int8s]
}

// reference returns 200 texts and the vectors that sentence-transformers 6.2.0 with torch 2.15.0
// gives them, in half floats.
func reference(t *testing.T) (texts []string, vectors [][]float32) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "texts.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &texts); err != nil {
		t.Fatal(err)
	}
	halves, err := os.ReadFile(filepath.Join("testdata", "minilm.f16"))
	if err != nil {
		t.Fatal(err)
	}
	dim := len(halves) / 2 / len(texts)
	for i := range texts {
		v := make([]float32, dim)
		for j := range v {
			v[j] = half(binary.LittleEndian.Uint16(halves[2*(i*dim+j):]))
		}
		vectors = append(vectors, v)
	}
	return texts, vectors
}

func half(h uint16) float32 {
	fraction, exponent := float64(h&1023), int(h>>10&31)
	v := math.Ldexp(1+fraction/1024, exponent-15)
	if exponent == 0 {
		v = math.Ldexp(fraction/1024, -14)
	}
	if h>>15 == 1 {
		v = -v
	}
	return float32(v)
}

func cosine(a, b []float32) float64 {
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		ab, aa, bb = ab+float64(a[i])*float64(b[i]), aa+float64(a[i])*float64(a[i]), bb+float64(b[i])*float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestSameVectorsAsTheReference(t *testing.T) {
	texts, want := reference(t)
	for _, tt := range []struct {
		name        string
		int8s       bool
		least, mean float64
	}{{"float32", false, 0.9999, 0.99999}, {"int8", true, 0.97, 0.99}} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := minilm(t, tt.int8s).Embed(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			sum, least := 0.0, 1.0
			for i := range got {
				c := cosine(got[i], want[i])
				sum, least = sum+c, min(least, c)
				if c < tt.least {
					t.Errorf("cosine %.6f for %.60q", c, texts[i])
				}
			}
			t.Logf("cosine with the reference: mean %.6f, least %.6f", sum/float64(len(got)), least)
			if mean := sum / float64(len(got)); mean < tt.mean {
				t.Errorf("the mean of the cosines is %.6f, want %v", mean, tt.mean)
			}
		})
	}
}

func TestSuite(t *testing.T) {
	for name, int8s := range map[string]bool{"float32": false, "int8": true} {
		t.Run(name, func(t *testing.T) {
			embedtest.Run(t, func(t *testing.T) embed.Embedder { return minilm(t, int8s) })
		})
	}
}

const question = "how do I restart the deploy pipeline when a job hangs"

var document = strings.Repeat("The deploy pipeline runs on every push to main and stops at the first job that fails. ", 7) + "It is restarted by hand."

func benchmark(b *testing.B, texts ...string) {
	for name, int8s := range map[string]bool{"float32": false, "int8": true} {
		b.Run(name, func(b *testing.B) {
			e := minilm(b, int8s)
			for b.Loop() {
				if _, err := e.Embed(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(transformer.Bytes(e))/1e6, "MB")
		})
	}
}

func BenchmarkQuestion(b *testing.B) { benchmark(b, question) } // 12 tokens
func BenchmarkDocument(b *testing.B) { benchmark(b, document) } // 130 tokens
func BenchmarkBatch(b *testing.B)    { benchmark(b, slices.Repeat([]string{document}, 16)...) }
