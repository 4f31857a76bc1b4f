package keyword

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/race"
)

// judged is a set of questions with their right answers.
type judged struct {
	docs    []Doc
	conv    []string // of each document: a question searches only its own conversation
	queries []judgedQuery
}

type judgedQuery struct {
	text, conv string
	relevant   map[uint32]bool
}

// loadJudged reads a set of the evaluation data, which is no part of the
// repository.
func loadJudged(t *testing.T, set string) judged {
	t.Helper()
	dir := evaldata.Dir(t, set)
	var j judged
	judgements := filepath.Join(dir, "qrels", "test.tsv")
	refs := map[string]uint32{}
	eachLine(t, filepath.Join(dir, "corpus.jsonl"), func(line string) {
		id, title, text, conv := parseLine(t, line)
		refs[id] = uint32(len(j.docs))
		j.docs = append(j.docs, Doc{Ref: uint32(len(j.docs)), Heading: title, Text: text})
		j.conv = append(j.conv, conv)
	})
	right := map[string]map[uint32]bool{}
	eachLine(t, judgements, func(line string) {
		f := strings.Split(line, "\t")
		if ref, ok := refs[f[1]]; ok && f[2] != "0" {
			if right[f[0]] == nil {
				right[f[0]] = map[uint32]bool{}
			}
			right[f[0]][ref] = true
		}
	})
	eachLine(t, filepath.Join(dir, "queries.jsonl"), func(line string) {
		id, _, text, conv := parseLine(t, line)
		if right[id] != nil {
			j.queries = append(j.queries, judgedQuery{text, conv, right[id]})
		}
	})
	return j
}

func parseLine(t *testing.T, line string) (id, title, text, conv string) {
	var d struct {
		ID          string `json:"_id"`
		Title, Text string
		Metadata    struct{ Conv string }
	}
	if err := json.Unmarshal([]byte(line), &d); err != nil {
		t.Fatal(err)
	}
	return d.ID, d.Title, d.Text, d.Metadata.Conv
}

func eachLine(t *testing.T, path string, f func(string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		f(scan.Text())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
}

// recallAt10 is the mean share of a question's right documents among its first
// ten hits.
func (j judged) recallAt10(t *testing.T, x *Index) (recall float64) {
	t.Helper()
	for _, q := range j.queries {
		res, err := x.Search(context.Background(), Query{Text: q.text, Limit: 10, Accept: func(ref uint32) bool {
			return j.conv[ref] == q.conv
		}})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, h := range res.Hits {
			if q.relevant[h.Ref] {
				found++
			}
		}
		recall += float64(found) / float64(len(q.relevant))
	}
	return recall / float64(len(j.queries))
}

// For speed, a search reads less for common words and for the end of long
// questions. That must not lose answers: neither with the defaults, nor with as
// many postings per document as in an index of 100,000 documents.
func TestBoundedWorkCostsNoRecall(t *testing.T) {
	race.SkipLong(t)
	for _, set := range []string{"locomo-dev", "beam-dev", "cosqa-dev"} {
		t.Run(set, func(t *testing.T) {
			j := loadJudged(t, set)
			x := openTest(t, t.TempDir(), Options{})
			apply(t, x, j.docs, nil, 1)
			usual := j.recallAt10(t, x)
			x.opts.MaxPostings = len(j.docs) / 4
			tight := j.recallAt10(t, x)
			x.opts.MaxPostings, x.opts.MaxTerms = -1, 1000
			all := j.recallAt10(t, x)
			t.Logf("%d documents, %d questions: recall@10 %.4f with all words, %.4f with the defaults, %.4f with a quarter of a posting per document",
				len(j.docs), len(j.queries), all, usual, tight)
			if usual < all-0.002 || tight < all-0.015 { // one of 90 questions is 0.011
				t.Error("recall falls")
			}
		})
	}
}

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

// corpus makes texts whose words follow Zipf's law, as in natural language.
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
