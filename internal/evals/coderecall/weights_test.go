package coderecall

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/format"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/middleware"
)

var (
	update       = flag.Bool("update", false, "write the weights that were learned")
	repositories = flag.String("repositories", "", "the folder of the repositories, to which those that it lacks are fetched")
)

// weightNames say what the ranker's weights are of, in its order.
var weightNames = [...]string{"keyword", "content", "cosine", "cosine, as a part of the turn's highest", "prior", "words, as a logarithm",
	"cut from a document, where none is asked for"}

const weightFile = "../../../retriever/file_weights.go"

// listed is a question with the pieces of files that were found for it.
type listed struct {
	repository int
	kind       Kind
	x          [][len(weightNames)]float64
	answers    []bool
}

// How the weights are learned.
const (
	learnedPieces = 60   // of each question, at most
	learnedChars  = 2830 // budget.item_chars, with which most pieces are shown in 1,500 characters
	learnedFolds  = 7    // of repositories
	learnedSteps  = 500  // of the descent
	learnedRate   = 0.3
	learnedDecay  = 10
)

// Learns the weight of each feature of a piece of a file from all committed questions. It prints for how many
// questions about other repositories the answer is among the first three. It takes minutes, and a gigabyte of
// repositories.
func TestFileWeights(t *testing.T) {
	if *repositories == "" {
		t.Skip("needs -repositories FOLDER")
	}
	var all []listed
	n := 0
	for _, folder := range []string{"testdata", "testdata/development", "testdata/sealed", "testdata/training"} {
		sets, err := Load(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sets {
			root := filepath.Join(*repositories, sets[i].Repository)
			if _, err := os.Stat(root); err != nil {
				if err := Fetch(t.Context(), sets[i].Source, root); err != nil {
					t.Fatal(err)
				}
			}
			list, err := listPieces(t.Context(), &sets[i], root, t.TempDir())
			if err != nil {
				t.Fatal(sets[i].Repository, err)
			}
			for _, l := range list {
				l.repository = n
				all = append(all, l)
			}
			n++
		}
	}
	right, asked := 0, 0
	for fold := range learnedFolds {
		var learn, left []listed
		for _, l := range all {
			if l.repository%learnedFolds == fold {
				left = append(left, l)
			} else {
				learn = append(learn, l)
			}
		}
		w := learnWeights(learn)
		for i := range left {
			if l := &left[i]; l.kind != What {
				asked++
				if l.place(&w) <= 3 {
					right++
				}
			}
		}
	}
	w := learnWeights(all)
	t.Logf("%d questions; of %d about other repositories than were learned from, the answer is among the first three pieces for %d", len(all), asked, right)
	t.Log(w)
	if *update {
		if err := os.WriteFile(weightFile, weightSource(&w), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// listPieces asks the questions that have an answer. The budget has room for everything, so that a turn's
// items are all hits as they would be shown.
func listPieces(ctx context.Context, s *Set, root, state string) (out []listed, err error) {
	cfg := config.Default()
	cfg.Knowledge.DBPath, cfg.Retrieval.Deadline = state, turnDeadline
	cfg.Middleware.Events, cfg.Middleware.Journal, cfg.Middleware.Floor = false, false, false
	cfg.Knowledge.TopK, cfg.Budget.Chars, cfg.Budget.ItemChars = learnedPieces, 1_000_000, learnedChars
	layer, err := middleware.Open(ctx, middleware.Options{Root: root, Config: &cfg, Strict: true, Foreground: true})
	if err != nil {
		return nil, err
	}
	defer layer.Close() // nothing was written
	if _, err := layer.Refresh(ctx, ken.DefaultOwner); err != nil {
		return nil, err
	}
	for i := range s.Questions {
		q := s.Questions[i]
		if !q.Answerable() {
			continue
		}
		in := layer.Assemble(ctx, ken.Turn{Owner: ken.DefaultOwner, Session: fmt.Sprint("question-", i), Messages: []ken.Message{{Role: "user", Text: q.Ask}}})
		l, found, most := listed{kind: q.Kind}, false, 0.0
		for _, it := range in.Receipt.Items {
			if it.Kind == ken.KindDocument {
				most = math.Max(most, it.Signals["cosine"])
			}
		}
		for _, it := range in.Receipt.Items {
			if it.Kind != ken.KindDocument {
				continue
			}
			sig := it.Signals
			x := [len(weightNames)]float64{0: sig["keyword"], 1: sig["content"], 2: sig["cosine"], 4: sig["origin"], 5: math.Log1p(sig["words"])}
			if sig["origin"] < 1 && analysis.OriginOf("repository", it.Source) == analysis.OriginDocument {
				x[6] = 1
			}
			if most > 0 {
				x[3] = x[2] / most
			}
			a := judge(q, root, &ken.Receipt{Items: []ken.Item{it}})
			l.x, l.answers = append(l.x, x), append(l.answers, a.First > 0)
			found = found || a.First > 0
		}
		if found {
			out = append(out, l)
		}
	}
	return out, nil
}

// place is where a ranking by w has the first piece that answers.
func (l *listed) place(w *[len(weightNames)]float64) int {
	best := math.Inf(-1)
	scores := make([]float64, len(l.x))
	for i := range l.x {
		for k, x := range l.x[i] {
			scores[i] += w[k] * x
		}
		if l.answers[i] {
			best = math.Max(best, scores[i])
		}
	}
	place := 1
	for _, s := range scores {
		if s > best {
			place++
		}
	}
	return place
}

// learnWeights maximizes the probability of drawing an answering piece, if the probability of a piece is
// proportional to the exponential of its score. It uses gradient descent with AdaGrad's steps.
func learnWeights(all []listed) (w [len(weightNames)]float64) {
	spread := spreadOf(all)
	var sums [len(weightNames)]float64
	for range learnedSteps {
		var g [len(weightNames)]float64
		for k := range g {
			g[k] = 2 * learnedDecay * w[k] // of a feature with a spread of 1
		}
		for i := range all {
			all[i].gradient(&w, &spread, &g)
		}
		for k := range w {
			sums[k] += g[k] * g[k]
			w[k] -= learnedRate * g[k] / (math.Sqrt(sums[k]) + 1e-9)
		}
	}
	for k := range w {
		w[k] /= spread[k]
	}
	return w
}

// spreadOf returns the standard deviation of each feature.
func spreadOf(all []listed) (out [len(weightNames)]float64) {
	for k := range out {
		n, sum, squares := 0.0, 0.0, 0.0
		for i := range all {
			for _, x := range all[i].x {
				n, sum, squares = n+1, sum+x[k], squares+x[k]*x[k]
			}
		}
		out[k] = math.Sqrt(max(squares/n-sum/n*sum/n, 1e-12))
	}
	return out
}

// gradient adds that of the question's loss to g.
func (l *listed) gradient(w, spread, g *[len(weightNames)]float64) {
	p := make([]float64, len(l.x))
	all, right := 0.0, 0.0
	most := math.Inf(-1)
	for i := range l.x {
		for k, x := range l.x[i] {
			p[i] += w[k] * x / spread[k]
		}
		most = max(most, p[i])
	}
	for i := range p {
		p[i] = math.Exp(p[i] - most)
		if all += p[i]; l.answers[i] {
			right += p[i]
		}
	}
	for i := range p {
		d := p[i] / all
		if l.answers[i] {
			d -= p[i] / max(right, 1e-300)
		}
		for k, x := range l.x[i] {
			g[k] += d * x / spread[k]
		}
	}
}

func weightSource(w *[len(weightNames)]float64) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated by go test ./internal/evals/coderecall -run TestFileWeights -repositories FOLDER -update. DO NOT EDIT.\n\n" +
		"package retriever\n\n// fileWeights are what each feature of a piece of a file counts.\nvar fileWeights = fileFeatures{\n")
	for k, name := range weightNames {
		fmt.Fprintf(&b, "\t%.3f, // %s\n", w[k], name)
	}
	b.WriteString("}\n")
	src, err := format.Source(b.Bytes())
	if err != nil {
		panic(err) // of what is written above
	}
	return src
}
