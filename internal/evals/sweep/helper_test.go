package sweep

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallCorpus is two conversations: what one says of payments the other contradicts.
const smallCorpus = `{"_id": "a1", "text": "Payments are retried three times with a growing delay.", "metadata": {"conv": "a", "session": "s1", "date": "March-15-2024", "role": "user"}}
{"_id": "a2", "text": "The billing database runs in Frankfurt.", "metadata": {"conv": "a", "session": "s1", "role": "assistant"}}
{"_id": "a3", "text": "Invoices leave on the first of the month.", "metadata": {"conv": "a", "session": "s2", "date": "March-20-2024", "role": "user"}}
{"_id": "b1", "text": "Payments are never retried.", "metadata": {"conv": "b", "session": "s1", "role": "user"}}
{"_id": "b2", "text": "Ann plays the cello in an orchestra.", "metadata": {"conv": "b", "session": "s1", "role": "user"}}
{"_id": "c1", "text": "Nobody asks about this conversation.", "metadata": {"conv": "c", "session": "s1"}}
`

const smallQuestions = `{"_id": "q1", "text": "How often are payments retried?", "metadata": {"conv": "a", "category": "fact"}}
{"_id": "q2", "text": "Where does the billing database run, and when do invoices leave?", "metadata": {"conv": "a", "category": "two"}}
{"_id": "q3", "text": "Which instrument does Ann play in the orchestra?", "metadata": {"conv": "b", "category": "fact"}}
{"_id": "q4", "text": "What colour is the submarine's periscope?", "metadata": {"conv": "b", "category": "none"}}
`

const smallQrels = "query-id\tcorpus-id\tscore\nq1\ta1\t1\nq2\ta2\t1\nq2\ta3\t1\nq3\tb2\t1\n"

// small opens a set made of the texts above, or of others in their place.
func small(t testing.TB, o dataset.Options, change ...map[string]string) *dataset.Set {
	t.Helper()
	files := map[string]string{"corpus.jsonl": smallCorpus, "queries.jsonl": smallQuestions, "qrels/test.tsv": smallQrels}
	for _, m := range change {
		maps.Copy(files, m)
	}
	dir := filepath.Join(t.TempDir(), "small")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := dataset.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// sweepOf runs a sweep with a simple embedder, in a separate folder that must
// be empty afterwards.
func sweepOf(t testing.TB, o Options) *Report {
	t.Helper()
	o.Temp, o.Root = t.TempDir(), t.TempDir()
	if o.Embedder == nil {
		o.Embedder = embedtest.Bag{}
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{o.Temp, o.Root} {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", dir, left, err)
		}
	}
	return r
}

// found is what a question's turn ranked in a mode.
func found(t testing.TB, r *Report, mode, id string) *answer {
	t.Helper()
	for i := range r.answers {
		if a := &r.answers[i]; a.Mode == mode && a.ID == id {
			return a
		}
	}
	t.Fatalf("no answer to %s in %s", id, mode)
	return nil
}
