package sweep_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/retriever/scorer"
	"github.com/kenlayer/ken/internal/run/receipt"
)

// logged returns receipts of turns in which claims of every third entity were used, or
// with noise random ones; newest first.
func logged(turns int, noise bool) (log []receipt.Record) {
	r := rand.New(rand.NewPCG(11, 3))
	for n := range turns {
		rec := receipt.Record{Project: fmt.Sprint("project ", n%2)}
		rec.Turn, rec.At = fmt.Sprintf("t%04d", n), time.Date(2026, 5, 18, 9, 0, n, 0, time.UTC)
		rec.Focal = []string{fmt.Sprint("system ", n%3)}
		rec.Ranking = &ken.Ranking{Cut: 8}
		for i := range 9 {
			e := r.IntN(9)
			id := fmt.Sprintf("%d-%d", n, i)
			rec.Ranking.Candidates = append(rec.Ranking.Candidates, ken.Features{ID: id, Rank: i + 1, Keyword: i + 1, Score: 1 - float64(i)/10, Distance: 0,
				Entity: scorer.Slot(fmt.Sprint("entity ", e))})
			used := r.Float64() < 0.2
			if !noise {
				used = e%3 == 0 && r.Float64() < 0.8
			}
			rec.Used = append(rec.Used, ken.Use{ID: id, Repeated: used})
		}
		in, out := fmt.Sprintf("%d-8", n), fmt.Sprintf("%d-7", n)
		x := &ken.Explored{In: in, Out: out, Propensity: 0.95}
		hidden := 8
		if n%20 == 7 {
			x.Swapped, x.Propensity, hidden = true, 0.05, 7
		}
		rec.Explored, rec.Used = x, slices.Delete(rec.Used, hidden, hidden+1)
		log = append([]receipt.Record{rec}, log...)
	}
	return log
}

func TestOrdersAreComparedOnLoggedTurns(t *testing.T) {
	log := logged(400, false)
	o := sweep.CompareOrders(log, scorer.Standing{Mode: scorer.ModeAuto}, 1)
	if c := o.Overall; o.Turns != 400 || o.Judged != 400 || o.Telling < 300 || c.CI[0] <= 0 || c.Wins < 3*c.Losses || c.Learned["hit@1"] < c.Plain["hit@1"]+0.2 {
		t.Errorf("%+v", o)
	}
	if len(o.Entities) != 3 || len(o.Projects) != 2 || o.Entities[0].CI[0] <= 0 {
		t.Errorf("%+v\n%+v", o.Entities, o.Projects)
	}
	if x := o.Corrected; x.Turns != 400 || x.Swapped != 20 || x.Learned <= x.Plain {
		t.Errorf("%+v", x)
	}
	slices.Reverse(log) // the order in which they are listed does not matter
	if again := sweep.CompareOrders(log, scorer.Standing{Mode: scorer.ModeAuto}, 1); !reflect.DeepEqual(o, again) {
		t.Errorf("%+v\n%+v", o, again)
	}
}

func TestOrdersThatDifferByChanceAreNoBetter(t *testing.T) {
	o := sweep.CompareOrders(logged(400, true), scorer.Standing{Mode: scorer.ModeAuto}, 1)
	if o.Overall.CI[0] > 0 || !strings.HasPrefix(o.Verdict, "off: 0 of the 200 turns") {
		t.Errorf("%+v", o)
	}
}

// An empty log is not an error: the notes say what is missing.
func TestWhatIsMissingIsSaid(t *testing.T) {
	bare := receipt.Record{}
	bare.Turn = "t"
	all := logged(3, false)
	for i := range all {
		for j := range all[i].Used {
			all[i].Used[j].Repeated = true
		}
		all[i].Explored = nil
	}
	for want, log := range map[string][]receipt.Record{"no receipts are kept": nil, "no turn has a judged answer": {bare}, "nothing distinguishes the orders": all} {
		o := sweep.CompareOrders(log, scorer.Standing{Mode: scorer.ModeAuto}, 1)
		if len(o.Notes) == 0 || !strings.Contains(o.Notes[0], want) || o.Entities == nil || o.Overall.Turns != 0 {
			t.Errorf("%s: %+v", want, o)
		}
	}
}

func TestVerdicts(t *testing.T) {
	far := scorer.Gate{Trials: 250, For: 1}
	for want, s := range map[string]scorer.Standing{
		"off: structure.scorer is off": {Mode: scorer.ModeOff},
		"on: structure.scorer is on":   {Mode: scorer.ModeOn, InForce: true},
		"on: the learned order proved": {Mode: scorer.ModeAuto, InForce: true},
		"off: 0 of the 200":            {Mode: scorer.ModeAuto},
		"off: the evidence for the learned order is 2.72, and must be 100": {Mode: scorer.ModeAuto, Gate: far},
	} {
		if o := sweep.CompareOrders(nil, s, 1); !strings.HasPrefix(o.Verdict, want) {
			t.Errorf("%q, want %q", o.Verdict, want)
		}
	}
}
