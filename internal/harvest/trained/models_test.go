package trained

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "train the models anew")

// sentence is one labelled sentence of a world.
type sentence struct {
	Text     string `json:"t"`
	Is       string `json:"is"`       // keep, fine or junk
	Replaces []int  `json:"replaces"` // sentences before it that are no longer true
}

// world holds the sentences of some sessions of one project or person.
type world struct {
	ID   string     `json:"id"`
	Lang string     `json:"lang"`
	Said []sentence `json:"said"`
}

func worlds(t testing.TB) (out []world) {
	t.Helper()
	files, err := filepath.Glob("testdata/worlds/[abcd].jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no worlds", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var w world
			if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			out = append(out, w)
		}
		f.Close()
	}
	return out
}

// example is one labelled input of a model.
type example struct {
	list  []feature
	is    bool
	world int
	text  string
}

// worthExamples are the sentences of the worlds, and those of pairs, which are all worth keeping.
func worthExamples(t testing.TB, all []world) (out []example) {
	for i, w := range all {
		for _, s := range w.Said {
			if s.Is != "fine" {
				out = append(out, example{worthFeatures(s.Text), s.Is == "keep", i, s.Text})
			}
		}
	}
	pairs, of := contrasts(t, len(all))
	last := ""
	for i, p := range pairs {
		if p.Before != last {
			last = p.Before
			out = append(out, example{worthFeatures(p.Before), true, of[i], p.Before})
		}
		if p.Replaces {
			out = append(out, example{worthFeatures(p.After), true, of[i], p.After})
		}
	}
	return out
}

func replacesExamples(t testing.TB, all []world) (out []example) {
	for i, w := range all {
		for n, after := range w.Said {
			if after.Is == "junk" {
				continue
			}
			for b, before := range w.Said[:n] {
				if before.Is == "keep" {
					out = append(out, example{pairFeatures(before.Text, after.Text),
						slices.Contains(after.Replaces, b), i, before.Text + " -> " + after.Text})
				}
			}
		}
	}
	pairs, of := contrasts(t, len(all))
	for i, p := range pairs {
		out = append(out, example{pairFeatures(p.Before, p.After), p.Replaces, of[i], p.Before + " -> " + p.After})
	}
	return out
}

// pair is two statements of a contrast: what follows the same statement, and replaces it or not.
type pair struct {
	Before   string `json:"before"`
	After    string `json:"after"`
	Replaces bool   `json:"replaces"`
}

// contrasts returns the pairs, each with the number of the world that it is taken for: those about one
// statement are of one.
func contrasts(t testing.TB, first int) (all []pair, worlds []int) {
	t.Helper()
	for _, name := range []string{"p.jsonl", "q.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata/worlds", name))
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for line := range bytes.Lines(data) {
			var p pair
			if err := json.Unmarshal(line, &p); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if p.Before != last {
				first, last = first+1, p.Before
			}
			all, worlds = append(all, p), append(worlds, first)
		}
	}
	return all, worlds
}

// How the models are trained. Half of an example's features are left out each time, so that no
// word is relied on alone.
const (
	weights = 1 << 15
	epochs  = 20
	rate    = 0.03
	decay   = 1e-3
	drop    = 0.5
)

// train makes a model by stochastic gradient descent with AdaGrad's steps.
func train(all []example) *model {
	rng := rand.New(rand.NewPCG(1, 1))
	m, sums := &model{weights: make([]float32, weights)}, make([]float32, weights+1)
	step := func(w, sum *float32, d float32) {
		*sum += d * d
		*w -= rate * d / (float32(math.Sqrt(float64(*sum))) + 1e-6)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	var seen []feature
	for range epochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			e := &all[i]
			seen = seen[:0]
			for _, f := range e.list {
				if rng.Float64() >= drop {
					seen = append(seen, feature{f.at % weights, f.x / (1 - drop)})
				}
			}
			d := float32(m.score(seen))
			if e.is {
				d--
			}
			step(&m.bias, &sums[weights], d)
			for _, f := range seen {
				step(&m.weights[f.at], &sums[f.at], d*f.x+decay*m.weights[f.at])
			}
		}
	}
	return m
}

// judged is an example with what a model that was not trained on its world says of it.
type judged struct {
	*example
	score float64
}

const folds = 5

func crossValidate(all []example) (out []judged) {
	for k := range folds {
		var learn []example
		for _, e := range all {
			if e.world%folds != k {
				learn = append(learn, e)
			}
		}
		m, err := decode(train(learn).encode())
		if err != nil {
			panic(err)
		}
		for i := range all {
			if all[i].world%folds == k {
				out = append(out, judged{&all[i], m.score(all[i].list)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b judged) int { return cmp.Compare(b.score, a.score) })
	return out
}

// figures returns the average precision, and precision and recall at some scores.
func figures(all []judged) (average float64, line string) {
	total := 0
	for _, j := range all {
		if j.is {
			total++
		}
	}
	hits, sum, next := 0, 0.0, 0.95
	for i, j := range all {
		for next > 0.05 && j.score < next {
			line += fmt.Sprintf("  %.2f: %.2f/%.2f", next, float64(hits)/float64(max(1, i)), float64(hits)/float64(total))
			next -= 0.1
		}
		if j.is {
			hits++
			sum += float64(hits) / float64(i+1)
		}
	}
	return sum / float64(total), line
}

// What the models say of worlds that they were not trained on. With -update, they are trained on
// all and written.
func TestModels(t *testing.T) {
	all := worlds(t)
	for _, m := range []struct {
		file     string
		examples []example
		least    float64 // average precision
	}{
		{"worth.model", worthExamples(t, all), 0.93},
		{"replaces.model", replacesExamples(t, all), 0.74},
	} {
		res := crossValidate(m.examples)
		average, line := figures(res)
		t.Logf("%s: %d examples of %d worlds, average precision %.3f; precision/recall at%s", m.file, len(m.examples), len(all), average, line)
		if average < m.least {
			t.Errorf("%s: average precision %.3f, want %.2f", m.file, average, m.least)
		}
		if *update {
			if err := os.WriteFile(m.file, train(m.examples).encode(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
