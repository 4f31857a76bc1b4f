package adapt

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRank(t *testing.T) {
	passages := [][]float32{{1, 0}, {0, 1}, nil, {0.6, 0.8}, {0, 1}}
	for name, tt := range map[string]struct {
		q      []float32
		wanted []int
		want   int
	}{
		"first":           {[]float32{1, 0}, []int{0}, 1},
		"second":          {[]float32{1, 0}, []int{3}, 2},
		"tie is lost":     {[]float32{0, 1}, []int{1}, 2},
		"both of the tie": {[]float32{0, 1}, []int{1, 4}, 1},
		"best of two":     {[]float32{1, 0}, []int{1, 3}, 2},
		"no vector":       {[]float32{1, 0}, []int{2}, 0},
		"empty question":  {nil, []int{0}, 0},
	} {
		if got := rank(tt.q, passages, tt.wanted); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestMean(t *testing.T) {
	got := mean([]outcome{{rank: 1}, {rank: 4}, {rank: 20}, {rank: 0}})
	if want := (Figures{RecallAt10: 0.5, MRR: (1 + 0.25 + 0.05) / 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := mean(nil); got != (Figures{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func mrr(f Figures) float64 { return f.MRR }

// Without any effect, the interval must be above zero in no more than a few of a
// hundred trials. A bootstrap over single questions would fail this, because the
// questions of one file are correlated here.
func TestBootstrapIsHonest(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	wins := 0
	const trials = 200
	for trial := range uint64(trials) {
		var before, after []outcome
		for f := range 40 {
			luck := rng.IntN(3) // the file's own: better, worse or the same
			for range 5 {
				b, a := outcome{file: string(rune('A' + f)), rank: 2}, outcome{file: string(rune('A' + f)), rank: 2}
				switch luck {
				case 0:
					a.rank = 1
				case 1:
					b.rank = 1
				}
				before, after = append(before, b), append(after, a)
			}
		}
		i := bootstrap(before, after, trial, mrr)
		if i.Low > i.Mean || i.High < i.Mean || math.IsNaN(i.Mean) {
			t.Fatalf("%+v", i)
		}
		if i.Low > 0 {
			wins++
		}
	}
	if wins > trials*7/100 { // 2.5 % expected
		t.Errorf("%d of %d trials found an effect that is not there", wins, trials)
	}
}

func TestBootstrapEdges(t *testing.T) {
	if got := bootstrap(nil, nil, 1, mrr); got != (Interval{}) {
		t.Errorf("of nothing: %+v", got)
	}
	one := []outcome{{file: "a", rank: 2}}
	if got := bootstrap(one, []outcome{{file: "a", rank: 1}}, 1, mrr); got != (Interval{0.5, 0.5, 0.5}) {
		t.Errorf("of one: %+v", got)
	}
}

func TestCentre(t *testing.T) {
	shared := []float32{1, 0}
	vectors := [][]float32{shared, {0, 1}, nil}
	m := meanOf(vectors, 2)
	if m[0] != 0.5 || m[1] != 0.5 {
		t.Fatalf("mean %v", m)
	}
	centre(vectors, m)
	half := float32(math.Sqrt(0.5))
	for i, want := range [][]float32{{half, -half}, {-half, half}, nil} {
		for j := range want {
			if math.Abs(float64(vectors[i][j]-want[j])) > 1e-6 {
				t.Errorf("vector %d: %v, want %v", i, vectors[i], want)
			}
		}
	}
	if shared[0] != 1 {
		t.Error("a shared vector was changed")
	}
	alone := [][]float32{{1, 0}}
	if centre(alone, meanOf(alone, 2)); alone[0] != nil {
		t.Errorf("a vector without a direction: %v", alone[0])
	}
	if meanOf([][]float32{nil}, 2) != nil {
		t.Error("the mean of nothing")
	}
}
