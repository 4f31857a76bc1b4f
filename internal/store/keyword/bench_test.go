package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// benchSizes are the index sizes of the search benchmarks. Larger ones take a
// while to build: KEN_BENCH_SIZE=100000 adds them up to that size.
func benchSizes() []int {
	sizes := []int{1_000, 10_000}
	limit, _ := strconv.Atoi(os.Getenv("KEN_BENCH_SIZE"))
	for n := 100_000; n <= limit; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}

// corpus makes texts whose words follow Zipf's law, as those of people do.
type corpus struct {
	r *rand.Rand
	z *rand.Zipf
}

const vocabulary = 50_000

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, 1))
	return &corpus{r, rand.NewZipf(r, 1.1, 2.7, vocabulary-1)}
}

// word spells a rank in syllables, so that analysis neither splits nor stems it.
func word(rank uint64) string {
	b := []byte("k")
	for ; rank > 0; rank /= 100 {
		b = append(b, "bdfghjlmnp"[rank%10], "aeiouaeiou"[rank/10%10])
		if rank/10%10 >= 5 {
			b = append(b, 'r')
		}
	}
	return string(append(b, 'k'))
}

func (c *corpus) text(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(word(c.z.Uint64()))
		b.WriteByte(' ')
	}
	return b.String()
}

func (c *corpus) docs(from, n int) []Doc {
	docs := make([]Doc, n)
	for i := range docs {
		docs[i] = Doc{Ref: uint32(from + i), Heading: c.text(4), Text: c.text(60 + c.r.IntN(80))}
	}
	return docs
}

// rare is a query of words that are none of the hundred most common.
func (c *corpus) rare(words int) string {
	var b strings.Builder
	for n := 0; n < words; {
		if w := c.z.Uint64(); w >= 100 {
			b.WriteString(word(w) + " ")
			n++
		}
	}
	return b.String()
}

func benchIndex(b *testing.B, n int) *Index {
	b.Helper()
	x, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { x.Close() })
	c := newCorpus(1)
	for at := 0; at < n; at += 1000 {
		if err := x.Apply(c.docs(at, min(1000, n-at)), nil, uint64(at+1)); err != nil {
			b.Fatal(err)
		}
	}
	return x
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range benchSizes() {
		x := benchIndex(b, n)
		settle(b, x)
		c := newCorpus(2)
		queries := map[string]func() string{
			"rare3":  func() string { return c.rare(3) },
			"rare10": func() string { return c.rare(10) },
			"raw10":  func() string { return c.text(10) },
		}
		for _, kind := range []string{"rare3", "rare10", "raw10"} {
			var texts []string
			for range 256 {
				texts = append(texts, queries[kind]())
			}
			for _, filter := range []string{"", "-filter5%"} {
				var accept func(uint32) bool
				if filter != "" {
					accept = func(ref uint32) bool { return ref%20 == 0 }
				}
				b.Run(fmt.Sprintf("%s%s/%d", kind, filter, n), func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if _, err := x.Search(context.Background(), Query{Text: texts[i%256], Accept: accept}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// settle lets the engine finish its merges, so that runs are comparable.
func settle(b *testing.B, x *Index) {
	if err := x.flush(context.Background(), x.engine); err != nil {
		b.Fatal(err)
	}
	if err := x.engine.ForceMerge(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 16, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			x := benchIndex(b, 10_000)
			c := newCorpus(3)
			at := 10_000
			batch := c.docs(at, n)
			for b.Loop() {
				for i := range batch {
					batch[i].Ref = uint32(at)
					at++
				}
				if err := x.Apply(batch, nil, uint64(at)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}
