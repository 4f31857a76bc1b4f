package table_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/embed/table"
)

// near allows for a row's weight, which is kept in 16 bits.
var near = cmpopts.EquateApprox(0, 2e-3)

func TestSuite(t *testing.T) {
	embedtest.Run(t, func(t *testing.T) embed.Embedder { return model(t, 32) })
}

func TestModelIsLocal(t *testing.T) {
	if !embed.IsLocal(model(t, 8)) {
		t.Error("a table needs no network")
	}
}

// The vector is the sum of the rows, of unit length.
func TestVectorIsTheSum(t *testing.T) {
	for _, dim := range []int{1, 7, 8, 32, 256} {
		m := model(t, dim)
		for _, text := range []string{"cat", "the cat sat on the mat", "keymaster 42", strings.Repeat("cat sat the mat york ", 300)} {
			want := make([]float32, dim)
			row := make([]float32, dim)
			for _, id := range m.Vocabulary().Append(nil, text) {
				m.Row(row, int(id))
				for i, x := range row {
					want[i] += x
				}
			}
			if err := embed.Unit(want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, m.EmbedQuery(text, nil), near); diff != "" {
				t.Errorf("%d dimensions, %.20q (-want +got):\n%s", dim, text, diff)
			}
		}
	}
}

func TestEmbedQueryWeighsWords(t *testing.T) {
	m := model(t, 32)
	query := func(text string, weight func(string) float64) []float32 { return m.EmbedQuery(text, weight) }
	only := func(keep ...string) func(string) float64 {
		return func(w string) float64 {
			if slices.Contains(keep, w) {
				return 0.5
			}
			return 0
		}
	}
	for name, tt := range map[string]struct{ got, want []float32 }{
		"all the same":         {query("the cat sat", only("the", "cat", "sat")), query("the cat sat", nil)},
		"one word left":        {query("the cat sat", only("cat")), query("cat", nil)},
		"pieces go with it":    {query("keymaster cat", only("keymaster")), query("keymaster", nil)},
		"a pair with its less": {query("new york", only("new")), query("new", nil)},
		"lower case":           {query("CAT Sat", only("cat")), query("cat", nil)},
		"nothing left":         {query("the cat", only()), nil},
		"nothing known":        {query("日本", nil), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got, near); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	damped := query("the cat", func(w string) float64 { return map[string]float64{"the": 0.01, "cat": 1}[w] })
	if c := cosine(damped, query("cat", nil)); c < 0.999 {
		t.Errorf("with the damped, the cosine to cat is %.4f", c)
	}
}

func cosine(a, b []float32) float64 {
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

func TestCoverage(t *testing.T) {
	got := model(t, 8).Coverage("the cat keymaster 日")
	if want := (table.Coverage{Words: 4, Cut: 1, Unknown: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRowsKeepTheirDirection(t *testing.T) {
	rows := []float32{1, -2, 3, 1e-6, 2e-6, -3e-6, 0, 0, 0}
	m, err := table.New([]string{"a", "b", "c"}, rows, 3, table.Info{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 3)
	for i, want := range [][]float32{rows[:3], rows[3:6], rows[6:]} {
		m.Row(got, i)
		for j := range got {
			if most := math.Abs(float64(want[2])) / 127; math.Abs(float64(got[j]-want[j])) > most {
				t.Errorf("row %d is %v, want %v", i, got, want)
			}
		}
	}
}
