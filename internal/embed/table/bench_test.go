package table_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/embed/table"
)

// large is a table of the shipped one's size.
func large(b *testing.B) *table.Model {
	b.Helper()
	const n, dim = 29_600, 256
	toks := tokens()
	for i := len(toks); i < n; i++ {
		toks = append(toks, fmt.Sprintf("word%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26))
	}
	seen := map[string]bool{}
	for i, t := range toks {
		for seen[t] {
			t += "x"
		}
		seen[t], toks[i] = true, t
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = r.Float32() - 0.5
	}
	m, err := table.New(toks, rows, dim, table.Info{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

const sentence = "the deploy pipeline runs on every push to main and "

func BenchmarkEmbed(b *testing.B) {
	m := large(b)
	for name, text := range map[string]string{"10 words": sentence, "100 words": strings.Repeat(sentence, 10)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.EmbedQuery(text, nil)
			}
		})
	}
	b.Run("10 words weighed", func(b *testing.B) {
		weight := func(string) float64 { return 0.5 }
		for b.Loop() {
			m.EmbedQuery(sentence, weight)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	data := file(b, large(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Open(data); err != nil {
			b.Fatal(err)
		}
	}
}
