package report

import (
	"testing"

	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/retriever/scorer"
)

func TestOrders(t *testing.T) {
	means := func(a, b, c, d float64) map[string]float64 {
		return map[string]float64{"hit@1": a, "hit@3": b, "ndcg@5": c, "ndcg": d}
	}
	o := &sweep.Orders{Turns: 512, Judged: 340, Telling: 251, Verdict: "off: the evidence for the learned order is 12.5, and must be 100", Notes: []string{"something is missing"},
		Overall:   sweep.Contest{Turns: 251, Wins: 120, Losses: 80, Ties: 51, Plain: means(.4, .6, .5, .62), Learned: means(.45, .66, .55, .6712), Difference: .0512, CI: [2]float64{.012, .09}},
		Entities:  []sweep.Contest{{Slice: "payments", Turns: 90, Wins: 50, Losses: 30, Ties: 10, Plain: means(.4, .6, .5, .6), Learned: means(1, 1, 1, 1), Difference: .4, CI: [2]float64{.3, .5}}},
		Projects:  []sweep.Contest{{Slice: "kiln", Turns: 5, Losses: 5, Plain: means(.4, .6, .5, .6), Learned: means(0, 0, 0, .3), Difference: -.3, CI: [2]float64{-.4, -.2}}},
		Corrected: sweep.IPS{Turns: 300, Swapped: 16, Plain: .12, Learned: .31}, Standing: scorer.Standing{Mode: scorer.ModeAuto, Turns: 340}}
	golden(t, "orders.txt", Orders(o))
	golden(t, "orders_empty.txt", Orders(sweep.CompareOrders(nil, scorer.Standing{Mode: scorer.ModeAuto}, 1)))
}
