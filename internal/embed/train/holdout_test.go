package train

import (
	"fmt"
	"math"
	"testing"

	"github.com/kenlayer/ken/internal/embed/table"
)

func TestHoldOut(t *testing.T) {
	var pairs []Pair
	for i := range 3000 {
		pairs = append(pairs, Pair{Q: fmt.Sprint(i), P: fmt.Sprint("passage ", i/2)})
	}
	rest, held := HoldOut(pairs, 10)
	if len(rest)+len(held) != 3000 || len(held) < 200 || len(held) > 400 {
		t.Errorf("%d held out of 3000, want about 300", len(held))
	}
	sides := map[string]int{}
	for _, p := range rest {
		sides[p.P] |= 1
	}
	for _, p := range held {
		sides[p.P] |= 2
	}
	for p, side := range sides {
		if side == 3 {
			t.Fatalf("%q is on both sides", p)
		}
	}
	if rest, held := HoldOut(pairs, 0); len(rest) != 3000 || len(held) != 0 {
		t.Errorf("%d held out, want none", len(held))
	}
}

func TestMeasure(t *testing.T) {
	m, err := table.New([]string{"a", "b", "c"}, []float32{1, 0, 0, 1, 0.6, 0.8}, 2, table.Info{})
	if err != nil {
		t.Fatal(err)
	}
	// a finds a first, c second (behind itself), and ? has no vector.
	s, err := Measure(t.Context(), m, []Pair{{Q: "a", P: "a"}, {Q: "c", P: "b"}, {Q: "?", P: "c"}}, Options{})
	if err != nil || s.Pairs != 3 || math.Abs(s.MRR-0.5) > 1e-9 || math.Abs(s.Recall10-2.0/3) > 1e-9 {
		t.Errorf("%+v, error %v; want MRR 0.5", s, err)
	}
}
