package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// alternating returns n values; the given number of them are 1, spread evenly.
func alternating(n, ones int) []float64 {
	v := make([]float64, n)
	for i := range v {
		if (i+1)*ones/n > i*ones/n {
			v[i] = 1
		}
	}
	return v
}

// The interval of a share is close to the normal approximation, p ± 1.96·√(p(1-p)/n).
func TestIntervalIsThatOfAShare(t *testing.T) {
	const n = 400
	values := alternating(n, 240)
	low, high := NewDraws(n, 1).Interval(values)
	half := 1.96 * math.Sqrt(.6*.4/n)
	if math.Abs(low-(.6-half)) > .01 || math.Abs(high-(.6+half)) > .01 {
		t.Errorf("[%v, %v], want about [%v, %v]", low, high, .6-half, .6+half)
	}
}

func TestSameSeedSameInterval(t *testing.T) {
	values := alternating(50, 20)
	a, b := NewDraws(50, 7), NewDraws(50, 7)
	l1, h1 := a.Interval(values)
	l2, h2 := b.Interval(values)
	if l1 != l2 || h1 != h2 {
		t.Errorf("[%v, %v] and [%v, %v]", l1, h1, l2, h2)
	}
	other := NewDraws(50, 8)
	same := true
	for i := range other.each {
		for j := range other.each[i] {
			same = same && other.each[i][j] == a.each[i][j]
		}
	}
	if same {
		t.Error("two seeds give the same draws")
	}
}

// A small change of every question is real, although the questions differ by much
// more. The same change of the mean because of single questions is not.
func TestPaired(t *testing.T) {
	const n = 100
	before := make([]float64, n)
	every, few := make([]float64, n), make([]float64, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range before {
		before[i] = r.Float64() * .9
		every[i] = before[i] + .01
		few[i] = before[i]
	}
	few[0], few[1] = before[0]+2, before[1]-1
	d := NewDraws(n, 1)
	if got := d.Paired(before, every); !got.Real() || got.P > .01 || math.Abs(got.Mean-.01) > 1e-9 {
		t.Errorf("small and everywhere: %+v", got)
	}
	if got := d.Paired(before, few); got.Real() || got.P < .05 || math.Abs(got.Mean-.01) > 1e-9 {
		t.Errorf("the same mean from two questions: %+v", got)
	}
	if got := d.Paired(before, before); got.Real() || got.P != 1 {
		t.Errorf("no change: %+v", got)
	}
	up, down := d.Paired(before, every), d.Paired(every, before)
	if math.Abs(up.Mean+down.Mean) > 1e-12 {
		t.Errorf("turned round: %+v and %+v", up, down)
	}
}

// Of twenty comparisons without a cause, about one looks real.
func TestIntervalsHold(t *testing.T) {
	const n, trials = 200, 200
	r := rand.New(rand.NewPCG(3, 4))
	d := NewDraws(n, 1)
	wrong := 0
	for range trials {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = float64(r.IntN(2)), float64(r.IntN(2))
		}
		if d.Paired(a, b).Real() {
			wrong++
		}
	}
	if wrong > trials/8 || wrong == 0 {
		t.Errorf("%d of %d differences by chance look real, want about %d", wrong, trials, trials/20)
	}
}

func TestDrawsOfNothing(t *testing.T) {
	d := NewDraws(0, 1)
	if low, high := d.Interval(nil); low != 0 || high != 0 {
		t.Errorf("[%v, %v]", low, high)
	}
}

func ExampleDraws_Interval() {
	hits := []float64{1, 1, 0, 1, 0, 1, 1, 0, 1, 1}
	low, high := NewDraws(len(hits), 1).Interval(hits)
	fmt.Printf("%.1f, between %.1f and %.1f\n", Mean(hits), low, high)
	// Output: 0.7, between 0.4 and 1.0
}

func ExampleNDCG() {
	fmt.Printf("%.3f\n", NDCG([]int{0, 1, 1}, []int{1, 1}, 10))
	// Output: 0.693
}
