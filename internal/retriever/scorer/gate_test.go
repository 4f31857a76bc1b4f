package scorer_test

import (
	"math/rand/v2"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

// If slots predict the use of items, the order learns that and is switched on, after
// enough trials.
func TestWhereSlotsTellTheOrderIsSwitchedOn(t *testing.T) {
	w, st := newWorld(1, false), scorer.State{}
	opened := 0
	var gain float64
	for i := 1; i <= 1000; i++ {
		o := w.next()
		trial := st.Take(scorer.Labels(o.Ranking, o.Used))
		if st.Gate.On && opened == 0 {
			opened = i
		}
		if opened > 0 && trial.Informative() {
			gain += trial.Difference()
		}
	}
	if opened < scorer.MinTrials || opened > 400 || !st.Gate.On || st.Gate.Wins <= 2*st.Gate.Losses || gain < 50 {
		t.Errorf("opened at turn %d; %+v; gained %.1f since", opened, st.Gate, gain)
	}
	t.Logf("opened at turn %d, mean gain since %.3f, %d wins, %d losses", opened, gain/float64(1000-opened), st.Gate.Wins, st.Gate.Losses)
}

// Where nothing tells, it is not, however long one looks: in at most Doubt of all
// worlds by its rule; of these in none.
func TestWhereNothingTellsTheOrderStaysOff(t *testing.T) {
	for seed := range uint64(10) {
		w, st := newWorld(100+seed, true), scorer.State{}
		for i := 1; i <= 1000; i++ {
			o := w.next()
			st.Take(scorer.Labels(o.Ranking, o.Used))
			if st.Gate.On {
				t.Fatalf("seed %d: opened at turn %d: %+v", seed, i, st.Gate)
			}
		}
	}
}

// An order that was good and is not any more is switched off again.
func TestTheGateClosesWhenTheOrderGetsWorse(t *testing.T) {
	var g scorer.Gate
	for range scorer.MinTrials - 1 {
		g.Record(scorer.Trial{Shown: 4, Used: 1, Plain: 0.5, Learned: 0.8})
	}
	if g.On {
		t.Fatal("on before enough trials")
	}
	g.Record(scorer.Trial{Shown: 4, Used: 1, Plain: 0.5, Learned: 0.8})
	if !g.On || g.Trials != 0 || g.Wins != scorer.MinTrials {
		t.Fatalf("%+v", g)
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	for ; g.On && n < 1000; n++ {
		g.Record(scorer.Trial{Shown: 4, Used: 1, Plain: 0.5, Learned: 0.4 + 0.1*r.Float64()})
	}
	if g.On || n < 10 {
		t.Errorf("closed after %d: %+v", n, g)
	}
}

// A turn on which both orders must do alike is no evidence.
func TestTurnsThatTellNothingDoNotCount(t *testing.T) {
	var g scorer.Gate
	for _, tr := range []scorer.Trial{{}, {Shown: 3}, {Shown: 3, Used: 3, Learned: 1}} {
		g.Record(tr)
	}
	if g != (scorer.Gate{}) {
		t.Errorf("%+v", g)
	}
}

// How often the gate opens for an order that differs from the default one at random.
func TestTheGateSeldomErrs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	wrong := 0
	const worlds = 400
	for range worlds {
		var g scorer.Gate
		for range 2000 {
			g.Record(scorer.Trial{Shown: 4, Used: 1, Plain: r.Float64(), Learned: r.Float64()})
			if g.On {
				wrong++
				break
			}
		}
	}
	if wrong > scorer.Doubt*worlds {
		t.Errorf("%d of %d", wrong, worlds)
	}
}

// Only items that were shown and are no rules have a label.
func TestLabelsAreOfWhatWasShown(t *testing.T) {
	r := &ken.Ranking{Candidates: []ken.Features{{ID: "a", Rank: 1}, {ID: "b", Rank: 2}, {ID: "rule", Rank: 3, Constraint: true}, {ID: "forgotten"}, {ID: "c", Rank: 5}}}
	used := []ken.Use{{ID: "c", Cited: true, Corrected: true}, {ID: "a", Cited: true}, {ID: "rule", Cited: true}, {ID: "forgotten", Cited: true}, {ID: "memory"}}
	got := scorer.Labels(r, used)
	if len(got) != 2 || got[0].ID != "a" || !got[0].Used || got[1].ID != "c" || got[1].Used {
		t.Errorf("%+v", got)
	}
	if scorer.Labels(nil, used) != nil || scorer.Labels(r, nil) != nil {
		t.Error("labels of nothing")
	}
}
