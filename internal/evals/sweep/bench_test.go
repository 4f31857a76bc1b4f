package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/synth"
)

// BenchmarkSweep is a middling set in the three usual modes: ten conversations of
// 400 turns, 1,300 questions. It must stay far below half a minute.
func BenchmarkSweep(b *testing.B) {
	src := synth.New(1)
	var corpus, questions, judged strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&corpus, `{"_id": "r%d", "text": %q, "metadata": {"conv": "c%d"}}`+"\n", i, src.Text(30), i/400)
	}
	for i := range 1300 {
		fmt.Fprintf(&questions, `{"_id": "q%d", "text": %q, "metadata": {"conv": "c%d", "type": "t%d"}}`+"\n", i, src.Text(10), i%10, i%5)
		fmt.Fprintf(&judged, "q%d\tr%d\t1\n", i, i%10*400+i/10)
	}
	dir := b.TempDir()
	for name, text := range map[string]string{"corpus.jsonl": corpus.String(), "queries.jsonl": questions.String(), "qrels/test.tsv": judged.String()} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	set, err := dataset.Open(b.Context(), dir, dataset.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := Run(b.Context(), Options{Data: set, Embedder: embedtest.Bag{}, Root: dir, Temp: dir, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(3*r.N)/r.ElapsedMS*1000, "turns/s")
	}
}
