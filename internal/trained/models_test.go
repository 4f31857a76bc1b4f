package trained

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/race"
)

var update = flag.Bool("update", false, "train the models anew")

// sentence is a labelled sentence of a world.
type sentence struct {
	Text     string `json:"t"`
	Is       string `json:"is"`       // keep, fine or junk
	About    string `json:"about"`    // what it is about, mostly in its own words
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
	files, err := filepath.Glob("testdata/worlds/[a-i].jsonl")
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
	extra []feature // in training only
	train bool      // for training only
	is    bool
	world int
	text  string
}

// worthExamples returns the sentences of the worlds and of the contrasts; the latter are all worth keeping.
func worthExamples(t testing.TB, all []world) (out []example) {
	for i, w := range all {
		for _, s := range w.Said {
			if s.Is != "fine" {
				out = append(out, example{list: worthFeatures(s.Text), is: s.Is == "keep", world: i, text: s.Text})
			}
		}
	}
	pairs, of := contrasts(t, len(all))
	last := ""
	for i, p := range pairs {
		if p.Before != last {
			last = p.Before
			out = append(out, example{list: worthFeatures(p.Before), extra: ofContrast, is: true, world: of[i], text: p.Before})
		}
		if p.Replaces {
			out = append(out, example{list: worthFeatures(p.After), extra: ofContrast, is: true, world: of[i], text: p.After})
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
					out = append(out, example{list: pairFeatures(before.Text, after.Text), is: slices.Contains(after.Replaces, b), world: i, text: before.Text + " -> " + after.Text})
				}
			}
		}
	}
	out = append(out, foreignPairs(all)...)
	out = append(out, longPairs(all)...)
	pairs, of := contrasts(t, len(all))
	for i, p := range pairs {
		out = append(out, example{list: pairFeatures(p.Before, p.After), extra: ofContrast, is: p.Replaces, world: of[i], text: p.Before + " -> " + p.After})
	}
	return out
}

// foreignPairs pairs each sentence with two statements of other worlds in its language, and with one of
// any world. A store holds statements about many things, and a sentence replaces none of another world.
func foreignPairs(all []world) (out []example) {
	rng := rand.New(rand.NewPCG(2, 2))
	byLang := map[string][]*world{}
	for i := range all {
		byLang[all[i].Lang] = append(byLang[all[i].Lang], &all[i])
	}
	for i := range all {
		for _, after := range all[i].Said {
			for n := range 3 {
				w := &all[rng.IntN(len(all))]
				if same := byLang[all[i].Lang]; n > 0 {
					w = same[rng.IntN(len(same))]
				}
				before := w.Said[rng.IntN(len(w.Said))]
				if w == &all[i] || before.Is == "junk" {
					continue
				}
				out = append(out, example{list: pairFeatures(before.Text, after.Text), is: false, world: i, text: before.Text + " -> " + after.Text})
			}
		}
	}
	return out
}

// longPairs pairs statements that say two things each, as people do in long chats. The later one replaces the
// earlier one if a part of it does, and replaces nothing of another world.
func longPairs(all []world) (out []example) {
	rng := rand.New(rand.NewPCG(3, 3))
	joints := map[string][]string{"en": {", and ", ", but ", ", so ", " and ", "; "}, "de": {", und ", ", aber ", " und "}, "fr": {", et ", ", mais ", " et "},
		"es": {", y ", ", pero ", " y "}, "pt": {", e ", ", mas ", " e "}, "zh": {"，"}, "ja": {"、"}}
	long := func(w *world, a, b int) string {
		if rng.IntN(2) == 0 {
			a, b = b, a
		}
		join := joints[w.Lang]
		return strings.TrimRight(w.Said[a].Text, ".!?。 ") + join[rng.IntN(len(join))] + w.Said[b].Text
	}
	add := func(before, after string, is bool, world int) {
		out = append(out, example{list: pairFeatures(before, after), train: true, is: is, world: world, text: before + " -> " + after})
	}
	for i, w := range all {
		if len(joints[w.Lang]) == 0 {
			continue
		}
		var told []int // what is said, without junk
		for n, s := range w.Said {
			if s.Is != "junk" {
				told = append(told, n)
			}
		}
		replaces := func(after, before int) bool { return slices.Contains(w.Said[after].Replaces, before) }
		pair := func(b, n int) {
			earlier, later := told[rng.IntN(len(told))], told[rng.IntN(len(told))]
			if earlier >= n || earlier == b || later == n || later <= b {
				return
			}
			if !replaces(n, earlier) && !replaces(later, b) && !replaces(later, earlier) {
				add(long(&w, b, earlier), long(&w, n, later), replaces(n, b), i)
			}
		}
		for _, n := range told {
			for _, b := range w.Said[n].Replaces {
				for range 3 {
					pair(b, n)
				}
			}
			for range 12 {
				if b := told[rng.IntN(len(told))]; b < n && w.Said[b].Is == "keep" && !replaces(n, b) {
					pair(b, n)
				}
			}
			for range 3 {
				other := &all[rng.IntN(len(all))]
				if k := len(other.Said); other.Lang == w.Lang && other.ID != w.ID {
					add(long(other, rng.IntN(k), rng.IntN(k)), long(&w, n, told[rng.IntN(len(told))]), false, i)
				}
			}
		}
	}
	return out
}

// ofContrast is a feature of examples from contrasts, in training only. Half of those replace the statement
// before, and all are worth keeping, which differs from other examples; its weight absorbs this difference.
var ofContrast = func() []feature {
	var f features
	f.is("of a contrast")
	return f.list
}()

// pair is a statement of a contrast and one that follows it, with whether it replaces the first.
type pair struct {
	Before   string `json:"before"`
	After    string `json:"after"`
	Replaces bool   `json:"replaces"`
}

// contrasts returns the pairs, each with the number of its world. Pairs with the same first statement
// belong to the same world.
func contrasts(t testing.TB, first int) (all []pair, worlds []int) {
	t.Helper()
	for _, name := range []string{"p.jsonl", "q.jsonl", "r.jsonl", "s.jsonl", "t.jsonl", "u.jsonl"} {
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

// Parameters of the training. Each time, half of an example's features are left out, so that a model
// does not depend on single words.
const (
	weights = 1 << 16
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
			for _, f := range e.extra {
				seen = append(seen, feature{f.at % weights, f.x})
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

// choice is a sentence with the spans that may name its subject. The last alternative is that none does.
type choice struct {
	alternatives [][]feature
	right        int
	world        int
}

// choices returns the choices for the sentences of the worlds that are worth keeping.
func choices(all []world) (out []choice) {
	for i, w := range all {
		for _, s := range w.Said {
			if s.Is != "keep" || s.About == "" {
				continue
			}
			c := choice{right: -1, world: i}
			tokens := tokensOf(s.Text)
			spans := spansOf(tokens)
			for n, p := range spans {
				words := s.Text[tokens[p.from].from:tokens[p.to-1].to]
				if c.right < 0 && analysis.Entity(words) == analysis.Entity(s.About) {
					c.right = n
				}
			}
			if len(spans) == 0 {
				continue
			}
			if c.right < 0 {
				c.right = len(spans)
			}
			c.alternatives = subjectFeatures(tokens, spans)
			out = append(out, c)
		}
	}
	return out
}

// trainChoice makes a model that gives the right alternative the most probability.
func trainChoice(all []choice) *model {
	rng := rand.New(rand.NewPCG(1, 1))
	m, sums := &model{weights: make([]float32, weights)}, make([]float32, weights)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	for range choiceEpochs {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			c := &all[i]
			seen := make([][]feature, len(c.alternatives))
			for k, list := range c.alternatives {
				for _, f := range list {
					if rng.Float64() >= drop {
						seen[k] = append(seen[k], feature{f.at % weights, f.x / (1 - drop)})
					}
				}
			}
			for k, p := range m.shares(seen) {
				d := float32(p)
				if k == c.right {
					d--
				}
				if d > -1e-3 && d < 1e-3 {
					continue
				}
				for _, f := range seen[k] {
					g := d*f.x + decay*m.weights[f.at]
					sums[f.at] += g * g
					m.weights[f.at] -= rate * g / (float32(math.Sqrt(float64(sums[f.at]))) + 1e-6)
				}
			}
		}
	}
	return m
}

const choiceEpochs = 12

// judged is an example with its score by a model that was not trained on its world.
type judged struct {
	*example
	score float64
}

const folds = 5

// foldsToRun returns the number of folds to run: one is enough to see that the models can be trained.
func foldsToRun() int {
	if *update {
		return folds
	}
	return 1
}

func crossValidate(all []example) (out []judged) {
	for k := range foldsToRun() {
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
			if all[i].world%folds == k && !all[i].train {
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

// TestModels measures the models on worlds that they were not trained on. With -update, it trains
// them on all worlds and writes them.
func TestModels(t *testing.T) {
	all := worlds(t)
	write := func(file string, m func() *model) {
		if !*update {
			return
		}
		if err := os.WriteFile(file, m().encode(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if race.Enabled {
		t.Skip("takes minutes under the race detector, and has one goroutine")
	}
	for _, m := range []struct {
		file     string
		examples []example
		least    float64 // average precision
	}{
		{"worth.model", worthExamples(t, all), 0.95},
		{"replaces.model", replacesExamples(t, all), 0.7},
	} {
		res := crossValidate(m.examples)
		average, line := figures(res)
		t.Logf("%s: %d examples of %d worlds, average precision %.3f; precision/recall at%s", m.file, len(m.examples), len(all), average, line)
		if average < m.least {
			t.Errorf("%s: average precision %.3f, want %.2f", m.file, average, m.least)
		}
		write(m.file, func() *model { return train(m.examples) })
	}
	sentences := choices(all)
	right, line := choicesRight(sentences)
	t.Logf("subject.model: %d sentences, %.3f right; right/share at%s", len(sentences), right, line)
	if right < 0.5 {
		t.Errorf("subject.model: %.3f of the subjects are right, want 0.5", right)
	}
	write("subject.model", func() *model { return trainChoice(sentences) })
}

// choicesRight returns the share of subjects that are found by a model that was not trained on
// their worlds, and a line with the shares above some probabilities.
func choicesRight(all []choice) (share float64, line string) {
	type result struct {
		likely float64
		right  bool
	}
	var out []result
	for k := range foldsToRun() {
		var learn []choice
		for _, c := range all {
			if c.world%folds != k {
				learn = append(learn, c)
			}
		}
		m, err := decode(trainChoice(learn).encode())
		if err != nil {
			panic(err)
		}
		for _, c := range all {
			if c.world%folds == k {
				best, likely := m.choose(c.alternatives)
				out = append(out, result{likely, best == c.right})
			}
		}
	}
	for _, least := range []float64{0.8, 0.6, 0.4, 0.2, 0} {
		n, right := 0, 0
		for _, r := range out {
			if r.likely >= least {
				n++
				if r.right {
					right++
				}
			}
		}
		share = float64(right) / float64(max(1, n))
		line += fmt.Sprintf("  %.1f: %.2f/%.2f", least, share, float64(n)/float64(len(out)))
	}
	return share, line
}

// encode returns the model as a compressed file with 8 bits per weight. Weights are stored as
// square roots, which gives more precision to the many small ones.
func (m *model) encode() []byte {
	most := float32(math.SmallestNonzeroFloat32)
	for _, w := range m.weights {
		most = max(most, float32(math.Abs(float64(w))))
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = io.WriteString(z, magic)
	_ = binary.Write(z, binary.LittleEndian, header{uint32(len(m.weights)), m.bias, most})
	for _, w := range m.weights {
		q := math.Copysign(math.Round(127*math.Sqrt(math.Abs(float64(w/most)))), float64(w))
		_, _ = z.Write([]byte{byte(int8(q))})
	}
	_ = z.Close()
	return b.Bytes()
}
