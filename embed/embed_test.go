package embed_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
)

func TestBatchKeepsTheOrder(t *testing.T) {
	for _, n := range []int{0, 1, 15, 500} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = strconv.Itoa(i)
		}
		got, err := embed.Batch(t.Context(), texts, func(text string) []float32 {
			f, _ := strconv.ParseFloat(text, 32)
			return []float32{float32(f)}
		})
		if err != nil || len(got) != n {
			t.Fatalf("%d texts: %d vectors, %v", n, len(got), err)
		}
		for i, v := range got {
			if v[0] != float32(i) {
				t.Fatalf("%d of %d: %v", i, n, v)
			}
		}
	}
}

func TestBatchStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := 0
	got, err := embed.Batch(ctx, make([]string, 10), func(string) []float32 {
		if done++; done == 3 {
			cancel()
		}
		return nil
	})
	if got != nil || !errors.Is(err, context.Canceled) || done != 3 {
		t.Errorf("%d embedded, %v, %v", done, got, err)
	}
}

// A text that the embedder panics on costs its own vector and nothing else.
func TestBatchSurvivesAText(t *testing.T) {
	for _, n := range []int{3, 100} { // on one goroutine, and on several
		texts := make([]string, n)
		for i := range texts {
			texts[i] = strconv.Itoa(i)
		}
		got, err := embed.Batch(t.Context(), texts, func(text string) []float32 {
			if text == "1" {
				panic("what a text")
			}
			return []float32{1}
		})
		if err != nil || len(got) != n {
			t.Fatal(len(got), err)
		}
		for i, v := range got {
			if (v == nil) != (i == 1) {
				t.Errorf("%d of %d: %v", i, n, v)
			}
		}
	}
}

func TestUnit(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	tests := map[string]struct {
		in   []float32
		want string // part of the error
	}{
		"a vector":  {in: []float32{3, 4}},
		"huge":      {in: []float32{3e38, 3e38}},
		"tiny":      {in: []float32{1e-40, 0}},
		"no number": {in: []float32{1, nan}, want: "NaN"},
		"infinite":  {in: []float32{1, inf}, want: "infinite"},
		"zero":      {in: []float32{0, 0}, want: "zeros"},
		"empty":     {in: nil, want: "no dimensions"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := embed.Unit(tt.in)
			if tt.want == "" {
				if err != nil || embed.Check([][]float32{tt.in}, 1, len(tt.in)) != nil {
					t.Errorf("%v: %v", tt.in, err)
				}
				return
			}
			if !errors.Is(err, ken.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want unavailable with %q", err, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	nan := float32(math.NaN())
	tests := map[string]struct {
		vectors [][]float32
		n, dim  int
		ok      bool
	}{
		"right":               {[][]float32{{1, 0}, nil, {0, 1}}, 3, 2, true},
		"dimension not known": {[][]float32{{1, 0}, {0, 1}}, 2, 0, true},
		"nothing":             {nil, 0, 2, true},
		"too few":             {[][]float32{{1, 0}}, 2, 2, false},
		"too many":            {[][]float32{{1, 0}, {1, 0}}, 1, 2, false},
		"another dimension":   {[][]float32{{1, 0, 0}}, 1, 2, false},
		"two dimensions":      {[][]float32{{1, 0}, {1}}, 2, 0, false},
		"empty, not nil":      {[][]float32{{}}, 1, 0, false},
		"not of unit length":  {[][]float32{{1, 1}}, 1, 2, false},
		"zero":                {[][]float32{{0, 0}}, 1, 2, false},
		"no number":           {[][]float32{{nan, 1}}, 1, 2, false},
	}
	for name, tt := range tests {
		if err := embed.Check(tt.vectors, tt.n, tt.dim); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoneSaysThatEmbeddingsAreOff(t *testing.T) {
	_, err := embed.None().Embed(t.Context(), []string{"a"})
	if !errors.Is(err, embed.ErrOff) || !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("error %v with hint %q", err, ken.Hint(err))
	}
	if embed.None().Dim() != 0 || !embed.IsLocal(embed.None()) {
		t.Error("none has no dimensions and is local")
	}
}
