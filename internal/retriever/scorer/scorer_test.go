package scorer_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

func candidates(n int) []scorer.Features {
	out := make([]scorer.Features, n)
	for i := range out {
		out[i] = scorer.Features{ID: fmt.Sprint("c", i), Rank: i + 1, Distance: -1, Keyword: i + 1, Score: 1 / float64(i+1)}
	}
	return out
}

// The same turn explores or not whenever it is asked for, and one in twenty does.
func TestExplorationIsOneInTwentyAndTheSameForATurn(t *testing.T) {
	n := 0
	for i := range 20000 {
		id := fmt.Sprintf("0195616d-8c00-7000-8000-%012d", i)
		swap, p := scorer.Explore(id)
		again, _ := scorer.Explore(id)
		if swap != again || swap && p != scorer.Rate || !swap && p != 1-scorer.Rate {
			t.Fatalf("%s: %v %v, then %v", id, swap, p, again)
		}
		if swap {
			n++
		}
	}
	if n < 900 || n > 1100 {
		t.Errorf("%d of 20000 explore", n)
	}
}

// A name has one slot however it is written, and the empty name none.
func TestSlotsFollowTheSpelling(t *testing.T) {
	if a, b := scorer.Slot("The Payments-Service"), scorer.Slot("payments_service"); a != b || a == 0 {
		t.Errorf("%d, %d", a, b)
	}
	if scorer.Slot("payments") == scorer.Slot("ledger") || scorer.Slot(" the ") != scorer.Slot("the") || scorer.Slot("") != 0 || scorer.Slot("?!") != 0 {
		t.Error("slots of other names")
	}
}

func BenchmarkOrder(b *testing.B) {
	var m scorer.Model
	c := candidates(100)
	labels := make([]scorer.Judged, len(c))
	for i := range c {
		c[i].Entity, c[i].Aspect, c[i].Tier = uint32(i%7+1), uint32(i%11+1), ken.Inferred
		labels[i] = scorer.Judged{Features: c[i], Used: i%3 == 0}
	}
	m.Learn(labels)
	l := scorer.NewLearned(&m)
	b.ReportAllocs()
	for b.Loop() {
		l.Order(c)
	}
}
