package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/embed/train"
)

// topics makes pairs about as many topics: queries and passages of a topic have no
// word in common, and a third of the words belong to no topic.
func topics(n, pairs int, seed uint64) []train.Pair {
	r := rand.New(rand.NewPCG(seed, 1))
	word := func(kind string, topic int) string {
		k := r.IntN(4)
		return fmt.Sprintf("%s%c%c%c", kind, 'a'+topic%26, 'a'+topic/26, 'a'+k)
	}
	text := func(kind string, topic, words int) string {
		var all []string
		for i := range words {
			if i%3 == 2 {
				all = append(all, word("filler", r.IntN(5)))
			} else {
				all = append(all, word(kind, topic))
			}
		}
		return strings.Join(all, " ")
	}
	var all []train.Pair
	for i := range pairs {
		all = append(all, train.Pair{Q: text("ask", i%n, 4), P: text("say", i%n, 12), Src: fmt.Sprint("half", i%2)})
	}
	return all
}

// quick is a training of less than a second.
func quick() train.Options {
	return train.Options{Dim: 32, Tokens: 800, Epochs: 6, Batch: 32, Rate: 0.02, Seed: 1, Workers: 2}
}

func bytesOf(t *testing.T, m *table.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustTrain(t *testing.T, pairs []train.Pair, o train.Options) *table.Model {
	t.Helper()
	m, err := train.Train(t.Context(), pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// found returns the share of queries whose own passage is nearer than that of any other
// topic. Pairs are ordered by topic.
func found(t *testing.T, m *table.Model, pairs []train.Pair) float64 {
	t.Helper()
	hits := 0
	for i, p := range pairs {
		q := m.EmbedQuery(p.Q, nil)
		best, at := -2.0, -1
		for j, other := range pairs {
			var s float64
			for k, x := range m.EmbedQuery(other.P, nil) {
				s += float64(x) * float64(q[k])
			}
			if s > best {
				best, at = s, j
			}
		}
		if at == i {
			hits++
		}
	}
	return float64(hits) / float64(len(pairs))
}

func TestTrainingBeatsTheInitialTable(t *testing.T) {
	pairs, held := topics(40, 600, 1), topics(40, 40, 2)
	o := quick()
	trained := found(t, mustTrain(t, pairs, o), held)
	o.Rate, o.Epochs = 1e-12, 1 // leaves the initial table as it is
	initial := found(t, mustTrain(t, pairs, o), held)
	if trained < 0.9 || trained < initial+0.2 {
		t.Errorf("%.2f of the held-out queries find their passage, %.2f before training", trained, initial)
	}
}

// Nothing is learned from the pairs here: what the table knows is the teacher's.
func TestTheTableStartsFromItsTeacher(t *testing.T) {
	pairs, held := topics(40, 600, 1), topics(40, 40, 2)
	o := quick()
	teacher := mustTrain(t, pairs, o)
	o.Rate, o.Epochs = 1e-12, 1
	alone := found(t, mustTrain(t, pairs, o), held)
	o.Teacher = teacher
	taught := mustTrain(t, pairs, o)
	if f := found(t, taught, held); f < 0.9 || f < alone+0.2 {
		t.Errorf("%.2f of the held-out queries find their passage, %.2f without the teacher", f, alone)
	}
	if r := taught.Info().Recipe; !strings.HasSuffix(r, ", teacher "+teacher.Model()) {
		t.Errorf("the recipe %q does not name the teacher", r)
	}

	o.Teacher = failing{teacher}
	if _, err := train.Train(t.Context(), pairs, o); !errors.Is(err, errTeacher) || !strings.Contains(err.Error(), teacher.Model()) {
		t.Errorf("a teacher that fails: %v", err)
	}
}

// A teacher with useless vectors of single words still teaches with its vectors of
// texts.
func TestTheTableLearnsFromItsTeachersTexts(t *testing.T) {
	pairs, held := topics(40, 4000, 1), topics(40, 40, 2)
	o := quick()
	o.Teacher = ofTexts{mustTrain(t, pairs, o)}
	o.Rate, o.Epochs = 1e-12, 1
	taught := mustTrain(t, pairs, o)
	if f := found(t, taught, held); f < 0.9 {
		t.Errorf("%.2f of the held-out queries find their passage", f)
	}
	o.Workers = 1
	if !bytes.Equal(bytesOf(t, taught), bytesOf(t, mustTrain(t, pairs, o))) {
		t.Error("one worker made another table than two")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p train.Progress) {
		if p.Stage == "teach" {
			cancel()
		}
	}
	if _, err := train.Train(ctx, pairs, o); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while the teacher's texts were learned: %v", err)
	}
}

// ofTexts is a teacher that has no vector for a single word.
type ofTexts struct{ embed.Embedder }

func (e ofTexts) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.Embedder.Embed(ctx, texts)
	for i, s := range texts {
		if !strings.Contains(s, " ") {
			vectors[i] = nil
		}
	}
	return vectors, err
}

var errTeacher = errors.New("no answer")

type failing struct{ embed.Embedder }

func (failing) Embed(context.Context, []string) ([][]float32, error) { return nil, errTeacher }

func TestTrainIsDeterministic(t *testing.T) {
	pairs := topics(20, 300, 1)
	o := quick()
	first := bytesOf(t, mustTrain(t, pairs, o))
	o.Workers = 1
	if !bytes.Equal(first, bytesOf(t, mustTrain(t, pairs, o))) {
		t.Error("one worker made another table than two")
	}
	o.Seed = 2
	if bytes.Equal(first, bytesOf(t, mustTrain(t, pairs, o))) {
		t.Error("another seed made the same table")
	}
}

func TestTrainContinuesACheckpoint(t *testing.T) {
	pairs := topics(20, 300, 1)
	o := quick()
	whole := bytesOf(t, mustTrain(t, pairs, o))
	o.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	for _, stop := range []int{1, 17, 40} { // before the first epoch ends, and within two later ones
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(p train.Progress) {
			if p.Stage == "train" && p.Done == stop {
				cancel()
			}
		}
		if _, err := train.Train(ctx, pairs, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at step %d: error %v", stop, err)
		}
	}
	first := 0
	o.Progress = func(p train.Progress) {
		if p.Stage == "train" && first == 0 {
			first = p.Done
		}
	}
	if !bytes.Equal(whole, bytesOf(t, mustTrain(t, pairs, o))) {
		t.Error("the interrupted training made another table")
	}
	if first < 28 {
		t.Errorf("it began at step %d: no epoch was kept", first)
	}
	o.Seed = 5
	var kenErr *ken.Error
	if _, err := train.Train(t.Context(), pairs, o); !errors.As(err, &kenErr) || kenErr.Try == "" || !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a checkpoint of another seed: error %v", err)
	}
	if err := os.WriteFile(o.Checkpoint, []byte("KENTRAIN broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := train.Train(t.Context(), pairs, o); !errors.Is(err, ken.ErrCorrupt) {
		t.Errorf("a broken checkpoint: error %v", err)
	}
}

func TestTrainRefusesNothing(t *testing.T) {
	for name, pairs := range map[string][]train.Pair{
		"no pairs":           nil,
		"one pair":           topics(1, 1, 1),
		"nothing to embed":   {{Q: "日", P: "本", Src: "x"}, {Q: "!", P: "?", Src: "x"}, {Q: "·", P: "-", Src: "x"}},
		"only one with text": {{Q: "a b", P: "c d", Src: "x"}, {Q: "!", P: "?", Src: "x"}},
	} {
		if _, err := train.Train(t.Context(), pairs, quick()); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: error %v, want invalid", name, err)
		}
	}
}

func TestTrainRefusesOptions(t *testing.T) {
	for name, change := range map[string]func(*train.Options){
		"dimensions":  func(o *train.Options) { o.Dim = 36 },
		"temperature": func(o *train.Options) { o.Temperature = 0.001 },
		"batch":       func(o *train.Options) { o.Batch = 1 },
	} {
		o := quick()
		change(&o)
		var kenErr *ken.Error
		if _, err := train.Train(t.Context(), topics(5, 50, 1), o); !errors.As(err, &kenErr) || kenErr.Field == "" || kenErr.Try == "" {
			t.Errorf("%s: error %v, want a field and what to try", name, err)
		}
	}
}

func TestTrainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := train.Train(ctx, topics(5, 50, 1), quick()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestTune(t *testing.T) {
	base := mustTrain(t, topics(20, 300, 1), quick())
	before := bytesOf(t, base)
	var pairs, held []train.Pair // another language for the same topics
	rename := strings.NewReplacer("ask", "request", "say", "reply")
	for _, p := range topics(20, 300, 3) {
		pairs = append(pairs, train.Pair{Q: rename.Replace(p.Q), P: rename.Replace(p.P), Src: "own"})
	}
	for _, p := range topics(20, 20, 4) {
		held = append(held, train.Pair{Q: rename.Replace(p.Q), P: rename.Replace(p.P), Src: "own"})
	}
	o := train.Options{Rate: 0.02, Seed: 1}
	tuned, err := train.Tune(t.Context(), base, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, was := found(t, tuned, held), found(t, base, held); got < 0.8 || got <= was {
		t.Errorf("%.2f of the held-out queries find their passage, %.2f before", got, was)
	}
	if !bytes.Equal(before, bytesOf(t, base)) {
		t.Error("the base was changed")
	}
	if tuned.Info().Base != base.Model() || tuned.Model() == base.Model() {
		t.Errorf("base %q, model %q", tuned.Info().Base, tuned.Model())
	}
	if _, ok := tuned.Vocabulary().ID("requestaaa"); !ok {
		t.Error("a frequent word has not become a token")
	}
	again, err := train.Tune(t.Context(), base, pairs, o)
	if err != nil || !bytes.Equal(bytesOf(t, tuned), bytesOf(t, again)) {
		t.Errorf("tuned twice, two tables; error %v", err)
	}
	if _, err := train.Tune(t.Context(), base, nil, o); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("no pairs: error %v, want invalid", err)
	}
}

// With a rate of almost nothing, texts keep their vectors although words became
// tokens.
func TestTuneBeginsWhereTheBaseIs(t *testing.T) {
	base := mustTrain(t, topics(20, 300, 1), quick())
	pairs := []train.Pair{}
	for i := range 40 {
		pairs = append(pairs, train.Pair{Q: "zyxwvut question", P: fmt.Sprint("zyxwvut answer ", i), Src: "own"})
	}
	tuned, err := train.Tune(t.Context(), base, pairs, train.Options{Rate: 1e-12, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tuned.Vocabulary().ID("zyxwvut"); !ok {
		t.Fatal("the word has not become a token")
	}
	var cos float64
	b := base.EmbedQuery("zyxwvut question", nil)
	for i, x := range tuned.EmbedQuery("zyxwvut question", nil) {
		cos += float64(x) * float64(b[i])
	}
	if cos < 0.999 {
		t.Errorf("cosine to the base's vector %.4f, want 1", cos)
	}
}

func ExampleTrain() {
	pairs := topics(10, 200, 1)
	m, err := train.Train(context.Background(), pairs, train.Options{Dim: 16, Epochs: 3, Batch: 16, Rate: 0.02, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Dim(), m.EmbedQuery(pairs[0].Q, nil) != nil)
	// Output: 16 true
}
