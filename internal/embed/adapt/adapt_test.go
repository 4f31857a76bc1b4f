package adapt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/embed/train"
	"github.com/kenlayer/ken/internal/race"
)

// word returns word i of the language of the questions or of the passages. A table that
// learns which words correspond finds everything.
func word(kind string, i int) string {
	return kind + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "x"
}

const words = 60

// base returns a table that knows all words but no correspondences.
func base(t testing.TB) *table.Model { return model(t, false) }

// model returns a table of random rows; with related, each question's word has the row
// of the corresponding passages' word.
func model(t testing.TB, related bool) *table.Model {
	t.Helper()
	const dim = 32
	rng := rand.New(rand.NewPCG(1, 2))
	var tokens []string
	var rows []float32
	add := func(token string, row []float32) {
		tokens = append(tokens, token)
		rows = append(rows, row...)
	}
	random := func() []float32 {
		row := make([]float32, dim)
		for i := range row {
			row[i] = float32(rng.NormFloat64())
		}
		return row
	}
	for c := 'a'; c <= 'z'; c++ {
		add(string(c), random())
	}
	for i := range words {
		p := random()
		q := random()
		if related {
			q = p
		}
		add(word("pa", i), p)
		add(word("qu", i), q)
	}
	m, err := table.New(tokens, rows, dim, table.Info{About: "for a test"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// set is n pairs of three words each, in files of five pairs.
func set(n int) adapt.Set {
	rng := rand.New(rand.NewPCG(3, 4))
	var s adapt.Set
	for i := range n {
		var q, p []string
		for range 3 {
			w := rng.IntN(words)
			q, p = append(q, word("qu", w)), append(p, word("pa", w))
		}
		s.Passages = append(s.Passages, strings.Join(p, " "))
		s.Pairs = append(s.Pairs, adapt.Pair{Q: strings.Join(q, " "), Passages: []int{i}, Src: []string{"comment", "heading"}[i%2], File: fmt.Sprint("f", i/5)})
	}
	return s
}

// becomes returns a Tune that returns m, whatever the input.
func becomes(m *table.Model) func(context.Context, *table.Model, []train.Pair, train.Options) (*table.Model, error) {
	return func(context.Context, *table.Model, []train.Pair, train.Options) (*table.Model, error) { return m, nil }
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestBetterWins(t *testing.T) {
	b, better := base(t), model(t, true)
	_, r, err := adapt.Run(t.Context(), b, set(600), adapt.Options{Tune: becomes(better), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Wins() || r.After.MRR < 0.9 || r.Before.MRR > 0.2 || r.After.RecallAt10 < r.Before.RecallAt10 {
		t.Errorf("%+v", r)
	}
	if r.Base != b.Model() || r.Model != better.Model() || !r.Created.Equal(noon) || r.Pairs != 600 || r.Passages != 600 || r.HeldOut != 90 ||
		r.Files != 18 || r.Sources["comment"] != 300 || r.BySource["comment"].N+r.BySource["heading"].N != 90 {
		t.Errorf("%+v", r)
	}
	if got := r.After.MRR - r.Before.MRR; math.Abs(got-r.MRR.Mean) > 1e-9 || r.MRR.Low > got || r.MRR.High < got {
		t.Errorf("difference %v, interval %+v", got, r.MRR)
	}
}

func TestWorseAndEqualLose(t *testing.T) {
	for name, m := range map[string][2]*table.Model{"worse": {model(t, true), base(t)}, "equal": {base(t), base(t)}} {
		_, r, err := adapt.Run(t.Context(), m[0], set(600), adapt.Options{Tune: becomes(m[1])})
		if err != nil {
			t.Fatal(err)
		}
		if r.Wins() || r.MRR.Mean > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The real tuning learns which words go together, from a base that does not know.
func TestRealTuning(t *testing.T) {
	race.SkipLong(t)
	o := adapt.Options{Train: train.Options{Epochs: 12, Rate: 0.02, Workers: 1}}
	m, r, err := adapt.Run(t.Context(), base(t), set(1200), o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Wins() || r.After.RecallAt10 < r.Before.RecallAt10+0.2 {
		t.Errorf("%+v", r)
	}
	again, second, err := adapt.Run(t.Context(), base(t), set(1200), o)
	if err != nil || again.Model() != m.Model() || second.MRR != r.MRR {
		t.Errorf("a second run: %v, %v", second.MRR, err)
	}
}

// Weak pairs are reported, and neither win nor lose.
func TestWeakPairsDoNotCount(t *testing.T) {
	s := set(800)
	for i := range s.Pairs {
		if i%2 == 1 {
			s.Pairs[i].Weak, s.Pairs[i].Src = true, "path"
		}
		if i%2 == 0 { // the strong ones say the same in both languages
			s.Pairs[i].Q = s.Passages[i]
		}
	}
	_, r, err := adapt.Run(t.Context(), base(t), s, adapt.Options{Tune: becomes(model(t, true))})
	if err != nil {
		t.Fatal(err)
	}
	path := r.BySource["path"]
	if path.N == 0 || path.After.MRR < path.Before.MRR+0.5 {
		t.Errorf("path: %+v", path)
	}
	if r.Wins() || r.HeldOut != r.BySource["comment"].N+r.BySource["heading"].N || r.HeldOut < 60 || r.HeldOut > 70 {
		t.Errorf("%+v", r)
	}
	for i := range s.Pairs {
		s.Pairs[i].Weak = true
	}
	if _, _, err := adapt.Run(t.Context(), base(t), s, adapt.Options{Tune: becomes(base(t))}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("weak pairs alone: %v", err)
	}
}

// Training pairs share no file, question or passage with held-out pairs.
func TestNothingLeaks(t *testing.T) {
	s := set(600)
	for i := 0; i < 600; i += 7 { // commits that tell about a file, and a passage of two pairs
		s.Pairs = append(s.Pairs, adapt.Pair{Q: fmt.Sprintf("commit %d changes it", i), Passages: []int{i}, Src: "commit", File: fmt.Sprint("git:", i)},
			adapt.Pair{Q: fmt.Sprintf("commit %d adds it", i), Passages: []int{(i + 300) % 600}, Src: "commit", File: fmt.Sprint("git:", i), Touches: []string{fmt.Sprint("f", i/5)}})
	}
	var learned []train.Pair
	tune := func(_ context.Context, b *table.Model, pairs []train.Pair, _ train.Options) (*table.Model, error) {
		learned = pairs
		return b, nil
	}
	_, r, err := adapt.Run(t.Context(), base(t), s, adapt.Options{Tune: tune, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	q, p, files := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, l := range learned {
		q[l.Q], p[l.P] = true, true
	}
	for _, pair := range s.Pairs {
		files[pair.File]++
	}
	whole, seen := 0, 0
	for f, n := range files {
		asked := 0
		for _, pair := range s.Pairs {
			if pair.File == f && !q[pair.Q] {
				asked++
			}
			if pair.File == f && q[pair.Q] && slices.ContainsFunc(pair.Touches, func(o string) bool { return gone(s, q, o) }) {
				t.Errorf("%s tells about a file that is set aside", f)
			}
		}
		if asked == n {
			whole += n
		}
		seen += n
	}
	if whole < r.HeldOut || r.Tuned+r.HeldOut > seen || r.HeldOut < adapt.MinHeldOut || len(learned) != r.Tuned {
		t.Errorf("%d in files of which nothing is learned, %+v", whole, r)
	}
	for _, pair := range s.Pairs {
		if !q[pair.Q] && strings.HasPrefix(pair.File, "f") && gone(s, q, pair.File) && p[s.Passages[pair.Passages[0]]] {
			t.Errorf("the passage of %q is learned", pair.Q)
		}
	}
}

// gone reports whether no pair of a file is learned.
func gone(s adapt.Set, learned map[string]bool, file string) bool {
	return !slices.ContainsFunc(s.Pairs, func(p adapt.Pair) bool { return p.File == file && learned[p.Q] })
}

// A question that is asked is not learned from another file.
func TestNoQuestionLeaks(t *testing.T) {
	s := set(600)
	for i := range 300 { // each question of the first half again, in the second half's files
		s.Pairs[i+300].Q = s.Pairs[i].Q
	}
	var learned []train.Pair
	tune := func(_ context.Context, b *table.Model, pairs []train.Pair, _ train.Options) (*table.Model, error) {
		learned = pairs
		return b, nil
	}
	_, r, err := adapt.Run(t.Context(), base(t), s, adapt.Options{Tune: tune})
	if err != nil {
		t.Fatal(err)
	}
	q := map[string]int{}
	for _, l := range learned {
		q[l.Q]++
	}
	for text, n := range q {
		if n%2 != 0 {
			t.Errorf("%q is learned %d times: its twin is asked", text, n)
		}
	}
	if r.Tuned+r.HeldOut >= 600 || r.Tuned < 300 {
		t.Errorf("%+v", r)
	}
}

func TestTooFewPairs(t *testing.T) {
	called := false
	tune := func(context.Context, *table.Model, []train.Pair, train.Options) (*table.Model, error) {
		called = true
		return nil, errors.New("called")
	}
	one := set(220) // enough pairs, but all in two files
	for i := range one.Pairs {
		one.Pairs[i].File = fmt.Sprint("f", i/150)
	}
	for name, s := range map[string]adapt.Set{"none": {}, "few": set(adapt.MinPairs - 1), "one file": one} {
		_, r, err := adapt.Run(t.Context(), base(t), s, adapt.Options{Tune: tune})
		if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" || called || r.Pairs != len(s.Pairs) {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
	if _, _, err := adapt.Run(t.Context(), base(t), set(600), adapt.Options{HeldOut: 0.6}); !errors.Is(err, ken.ErrInvalid) {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	for _, stage := range []string{"measure the base", "tune", "measure the adapted"} {
		ctx, cancel := context.WithCancel(t.Context())
		tune := func(ctx context.Context, b *table.Model, _ []train.Pair, o train.Options) (*table.Model, error) {
			o.Progress(train.Progress{Stage: "train", Done: 1, Total: 2})
			return b, ctx.Err()
		}
		m, _, err := adapt.Run(ctx, base(t), set(600), adapt.Options{Tune: tune, Progress: func(s string, _, _ int) {
			if strings.HasPrefix(s, stage) {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || m != nil {
			t.Errorf("%s: %v", stage, err)
		}
		cancel()
	}
}

// A tuning that was stopped resumes after its last epoch, and yields the same table.
func TestResumed(t *testing.T) {
	state := t.TempDir()
	o := adapt.Options{Train: train.Options{Epochs: 6, Rate: 0.02, Workers: 1}}
	whole, want, err := adapt.Run(t.Context(), base(t), set(600), o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Train.Checkpoint, err = adapt.Checkpoint(state); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(stage string, done, total int) {
		if stage == "tune: train" && 2*done > total {
			cancel()
		}
	}
	if _, _, err := adapt.Run(ctx, base(t), set(600), o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.Train.Checkpoint); err != nil {
		t.Fatal(err)
	}
	first, least := true, 0
	o.Progress = func(stage string, done, _ int) {
		if stage == "tune: train" && first {
			first, least = false, done
		}
	}
	m, r, err := adapt.Run(t.Context(), base(t), set(600), o)
	if err != nil || m.Model() != whole.Model() || r.MRR != want.MRR {
		t.Errorf("%v: %+v instead of %+v", err, r.MRR, want.MRR)
	}
	if least < 2 {
		t.Errorf("it began at step %d", least)
	}
}

func TestKeep(t *testing.T) {
	state := filepath.Join(t.TempDir(), "new", "state")
	if path, ok := adapt.Find(state, "ken:1"); ok {
		t.Errorf("found %s", path)
	}
	if _, err := adapt.Load(state); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if was, err := adapt.Remove(state); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	m := model(t, true)
	r := adapt.Report{Base: "ken:1", Model: m.Model(), Created: noon, Pairs: 7, MRR: adapt.Interval{Mean: 0.1, Low: 0.05, High: 0.2},
		Sources: map[string]int{"comment": 7}, BySource: map[string]adapt.Compared{}}
	for range 2 { // once into a new folder, once over existing files
		if err := adapt.Save(state, m, r); err != nil {
			t.Fatal(err)
		}
		path, ok := adapt.Find(state, "ken:1")
		if !ok {
			t.Fatal("not found")
		}
		back, err := table.Read(path)
		if err != nil || back.Model() != m.Model() {
			t.Errorf("%v, %v", back, err)
		}
		got, err := adapt.Load(state)
		if diff := cmp.Diff(r, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	if _, ok := adapt.Find(state, "ken:2"); ok {
		t.Error("found for another base")
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if was, err := adapt.Remove(state); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if _, ok := adapt.Find(state, "ken:1"); ok {
		t.Error("found after it was removed")
	}
}

// A table without its report, a report without its table, or halves of either are
// not used.
func TestHalvesAreNotUsed(t *testing.T) {
	for name, harm := range map[string]func(table, report string) error{
		"no report":     func(_, report string) error { return os.Remove(report) },
		"no table":      func(table, _ string) error { return os.Remove(table) },
		"half a report": func(_, report string) error { return os.WriteFile(report, []byte(`{"base": "ken:1", "mo`), 0o644) },
		"half a table":  func(table, _ string) error { return os.Truncate(table, 100) },
		"empty report":  func(_, report string) error { return os.WriteFile(report, []byte(`{}`), 0o644) },
	} {
		state := t.TempDir()
		m := base(t)
		if err := adapt.Save(state, m, adapt.Report{Base: "ken:1", Model: m.Model()}); err != nil {
			t.Fatal(err)
		}
		if err := harm(filepath.Join(state, adapt.TableFile), filepath.Join(state, adapt.ReportFile)); err != nil {
			t.Fatal(err)
		}
		for _, base := range []string{"ken:1", ""} {
			if path, ok := adapt.Find(state, base); ok {
				t.Errorf("%s: found %s for %q", name, path, base)
			}
		}
	}
}

func TestUnwritableState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(file, "state")
	if _, err := adapt.Checkpoint(state); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("checkpoint: %v", err)
	}
	if err := adapt.Save(state, base(t), adapt.Report{}); !errors.Is(err, ken.ErrUnavailable) || ken.Hint(err) == "" {
		t.Errorf("save: %v", err)
	}
	good := t.TempDir()
	path, err := adapt.Checkpoint(good)
	if err != nil || filepath.Dir(path) != good {
		t.Errorf("%s, %v", path, err)
	}
	if entries, err := os.ReadDir(good); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A save that can't put the table in place leaves nothing that would be used.
func TestFailedSave(t *testing.T) {
	state := t.TempDir()
	m := base(t)
	if err := adapt.Save(state, m, adapt.Report{Base: "ken:1", Model: m.Model()}); err != nil {
		t.Fatal(err)
	}
	blocked := filepath.Join(state, adapt.TableFile)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(blocked, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := adapt.Save(state, m, adapt.Report{Base: "ken:1", Model: m.Model()}); !errors.Is(err, ken.ErrUnavailable) {
		t.Error(err)
	}
	if _, ok := adapt.Find(state, "ken:1"); ok {
		t.Error("a table is found")
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
