package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kenlayer/ken/internal/evals/sweep"
)

// sweepMeasures lists the compared measures with their names.
var sweepMeasures = []struct{ name, title string }{
	{"recall@10", "Recall@10"}, {"ndcg@10", "nDCG@10"}, {"mrr", "MRR"}, {"block_recall", "Recall of the block"},
	{"silenced", "Silent, though there is an answer"}, {"abstain", "Silent, where there is none"},
}

// sweepSeed seeds the resampling of comparisons, so that a pair always has the same figures.
const sweepSeed = 1

// openedSweep is a chosen report with all its values.
type openedSweep struct {
	*sweepFile
	report *sweep.Report
	modes  []string // the modes shown
}

// sweepComparison compares two reports, or two modes of one report, question by question.
type sweepComparison struct {
	Before, After string
	Several       bool // there are several modes, so each row names its mode
	Questions     int
	LeftOut       int // questions that only one of them has
	Changes       []sweepChange
	Unpaired      []string
	Bad           error
}

type sweepChange struct {
	sweep.Change
	Title   string
	Verdict string
	Tone    string
}

type sweepFindings struct {
	Answers     []sweepAnswer
	Comparisons []*sweepComparison
}

// sweepFindings compares reports, the oldest first. With many questions that takes a second, so
// it runs in the background; the result is nil until it is ready.
func (v *visit) sweepFindings(list []openedSweep) *sweepFindings {
	var key strings.Builder
	for _, o := range list {
		key.WriteString(o.key() + "\x00")
	}
	// A changed file has another key, so a cached result never becomes stale.
	always := func(*sweepFindings, time.Time) bool { return true }
	return v.con.health.sweepFindings.get(v, key.String(), always, func(context.Context, *sweepFindings) *sweepFindings {
		return &sweepFindings{hybridAnswers(list), comparisons(list)}
	})
}

// compareRuns compares two runs under names of their own.
func compareRuns(a, b openedSweep, nameA, nameB string, modesA, modesB []string) *sweepComparison {
	c := compareSweeps(partOf(a.report, modesA), partOf(b.report, modesB))
	c.Before, c.After = nameA, nameB
	return c
}

func compareSweeps(a, b *sweep.Report) *sweepComparison {
	got, err := sweep.Compare(a, b, sweepSeed)
	if err != nil {
		return &sweepComparison{Bad: err}
	}
	c := &sweepComparison{Questions: got.Questions, LeftOut: got.OnlyBefore + got.OnlyAfter, Unpaired: got.Unpaired}
	for _, ch := range got.Changes {
		x := sweepChange{Change: ch, Title: titleOf(ch.Measure), Verdict: "no visible difference"}
		switch {
		case ch.Regression:
			x.Verdict, x.Tone = "worse", toneDanger
		case ch.Real:
			x.Verdict, x.Tone = "better", toneSuccess
		}
		c.Several = c.Several || len(c.Changes) > 0 && c.Changes[0].Mode != ch.Mode
		c.Changes = append(c.Changes, x)
	}
	return c
}

func titleOf(measure string) string {
	for _, m := range sweepMeasures {
		if m.name == measure {
			return m.title
		}
	}
	return measure
}

// partOf returns some modes of a report, with the compared measures.
func partOf(r *sweep.Report, modes []string) *sweep.Report {
	out := *r
	out.Modes, out.Order = map[string]sweep.Score{}, modes
	for _, m := range modes {
		out.Modes[m] = r.Modes[m]
	}
	if r.PerQuery == nil {
		return &out
	}
	per := *r.PerQuery
	per.Modes = map[string]map[string]sweep.Column{}
	for _, m := range modes {
		columns, ok := r.PerQuery.Modes[m]
		if !ok {
			continue
		}
		per.Modes[m] = map[string]sweep.Column{}
		for _, s := range sweepMeasures {
			if c, ok := columns[s.name]; ok {
				per.Modes[m][s.name] = c
			}
		}
	}
	out.PerQuery = &per
	return &out
}

// comparisons compares the oldest of several reports with each of the others, or the first mode
// of a single report with its other modes.
func comparisons(list []openedSweep) (out []*sweepComparison) {
	if len(list) == 0 || len(list[0].modes) == 0 {
		return nil
	}
	a := list[0]
	if len(list) > 1 {
		for _, b := range list[1:] {
			out = append(out, compareRuns(a, b, a.Name, b.Name, a.modes, b.modes))
		}
		return out
	}
	for _, m := range a.modes[1:] {
		out = append(out, compareRuns(a, a, a.modes[0], m, a.modes[:1], []string{m}))
	}
	return out
}

// sweepAnswer says whether hybrid search is better on a data set.
type sweepAnswer struct {
	Dataset string
	Says    string
	Detail  string
	Tone    string
}

// hybridAnswers finds for each data set a run with keyword search and one with hybrid search,
// preferably in the same report, and compares them.
func hybridAnswers(list []openedSweep) (out []sweepAnswer) {
	type found struct{ keyword, hybrid *openedSweep }
	by := map[string]found{}
	for i := range list {
		o, f := &list[i], by[list[i].report.Dataset]
		k, h := slices.Contains(o.modes, string(sweep.ModeKeyword)), slices.Contains(o.modes, string(sweep.ModeHybrid))
		switch {
		case k && h:
			f = found{o, o}
		case f.keyword != nil && f.keyword == f.hybrid: // one report has both
		case k:
			f.keyword = o
		case h:
			f.hybrid = o
		}
		by[o.report.Dataset] = f
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		f := by[name]
		if f.keyword == nil || f.hybrid == nil {
			continue
		}
		const k, h = string(sweep.ModeKeyword), string(sweep.ModeHybrid)
		out = append(out, hybridAnswer(name, compareRuns(*f.keyword, *f.hybrid, k, h, []string{k}, []string{h}), f.keyword.report.Modes[k], f.hybrid.report.Modes[h]))
	}
	return out
}

// hybridAnswer describes a comparison of keyword search with hybrid search.
func hybridAnswer(dataset string, c *sweepComparison, keyword, hybrid sweep.Score) sweepAnswer {
	a := sweepAnswer{Dataset: dataset}
	if hybrid.Degraded != "" {
		a.Says, a.Tone = "It is not known yet whether hybrid search pays: it ran without vectors", toneWarning
		a.Detail = hybrid.Degraded
		return a
	}
	if c.Bad != nil {
		a.Says, a.Tone, a.Detail = "It is not known whether hybrid search pays: the two runs can't be compared", toneWarning, c.Bad.Error()
		return a
	}
	i := slices.IndexFunc(c.Changes, func(ch sweepChange) bool { return ch.Measure == "recall@10" })
	if i < 0 {
		a.Says, a.Tone = "It is not known whether hybrid search pays: no question has a known answer", toneWarning
		return a
	}
	switch ch := c.Changes[i]; {
	case ch.Regression:
		a.Says, a.Tone = "Hybrid does harm here", toneDanger
	case ch.Real:
		a.Says, a.Tone = "Hybrid pays here", toneSuccess
	default:
		a.Says = plural(ch.Questions, "question shows", "questions show") + " no difference between hybrid and words alone"
	}
	a.Detail = recallText(c.Changes[i]) + latencyText(keyword, hybrid)
	if j := slices.IndexFunc(c.Changes, func(ch sweepChange) bool { return ch.Measure == "mrr" && ch.Real }); j >= 0 {
		a.Detail += fmt.Sprintf(" The first good answer is %s (MRR %.2f instead of %.2f).",
			map[bool]string{true: "further up", false: "further down"}[c.Changes[j].Difference > 0], c.Changes[j].After, c.Changes[j].Before)
	}
	return a
}

// recallText describes a change of recall@10 in a sentence.
func recallText(ch sweepChange) string {
	return fmt.Sprintf("Words and meaning together find %s of what is relevant among the first ten, words alone %s: %+.1f points, between %+.1f and %+.1f with 95 %% certainty, over %s.",
		percent(ch.After), percent(ch.Before), 100*ch.Difference, 100*ch.CI[0], 100*ch.CI[1], plural(ch.Questions, "question", "questions"))
}

// latencyText compares the latency of two modes in a sentence.
func latencyText(keyword, hybrid sweep.Score) string {
	a, b := keyword.Values["p50_ms"], hybrid.Values["p50_ms"]
	if a <= 0 || b <= 0 {
		return ""
	}
	return fmt.Sprintf(" A turn takes %s instead of %s at the median.", millis(b), millis(a))
}

// sweepDifference is a setting that differs between the chosen runs.
type sweepDifference struct {
	Name   string
	Values []string // one for each run
}

// differences returns the settings that differ between the runs.
func differences(runs []sweepRun) (out []sweepDifference) {
	if len(runs) < 2 {
		return nil
	}
	add := func(name string, of func(*sweepRun) string) {
		d := sweepDifference{Name: name}
		for i := range runs {
			d.Values = append(d.Values, cmp.Or(of(&runs[i]), "as configured"))
		}
		if slices.ContainsFunc(d.Values, func(v string) bool { return v != d.Values[0] }) {
			out = append(out, d)
		}
	}
	add("Data set", func(r *sweepRun) string { return r.report.Dataset })
	add("Questions", func(r *sweepRun) string { return count(r.report.N) })
	add("Records", func(r *sweepRun) string { return count(r.report.Corpus) })
	add("Embedder", func(r *sweepRun) string { return cmp.Or(r.report.Embedder, "none") })
	add("Seed", func(r *sweepRun) string { return fmt.Sprint(r.report.Seed) })
	add("Turns at once", func(r *sweepRun) string { return count(r.report.Workers) })
	keys := map[string]bool{}
	for i := range runs {
		for key := range runs[i].score.Settings {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		add(key, func(r *sweepRun) string { return r.score.Settings[key] })
	}
	add("Ran with less", func(r *sweepRun) string { return cmp.Or(r.score.Degraded, "no") })
	return out
}
