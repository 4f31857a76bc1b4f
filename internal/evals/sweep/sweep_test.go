package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

// lenient lets everything through that shares a word with the question, so that the
// tests hold whatever the floor's default is.
var lenient = []Setting{{"retrieval.floor", "0.01"}}

func TestSweep(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Modes: []Mode{ModeKeyword, ModeHybrid, ModeRRF}, Set: lenient})
	if got := []int{r.N, r.Queries, r.NoAnswer, r.Corpus, r.Owners, r.Refused}; !slices.Equal(got, []int{4, 3, 1, 5, 2, 0}) {
		t.Errorf("questions, with and without answer, records, owners, refused: %v", got)
	}
	if r.Dataset != "small" || r.Embedder != "test:bag" || !slices.Equal(r.Order, []string{"keyword", "hybrid", "rrf"}) || len(r.Notes) != 0 {
		t.Errorf("%+v", r)
	}
	s := r.Modes["keyword"]
	// Every question finds all that is relevant first, and the fourth nothing.
	for _, name := range []string{"hit@1", "hit@5", "recall@5", "recall@10", "ndcg@10", "mrr", "block_recall", "abstain"} {
		if s.Values[name] != 1 {
			t.Errorf("%s is %v, want 1", name, s.Values[name])
		}
	}
	if s.Values["silenced"] != 0 || s.CI["recall@10"] != [2]float64{1, 1} || s.Values["p50_ms"] <= 0 || s.Values["p99_ms"] < s.Values["p50_ms"] || s.Values["timed"] != 4 {
		t.Errorf("%+v", s)
	}
	if c := r.ByCategory["two"]; c.N != 1 || c.Modes["keyword"].Values["recall@5"] != 1 {
		t.Errorf("category two: %+v", c)
	}
	if _, measured := r.ByCategory["none"].Modes["keyword"].CI["recall@5"]; measured {
		t.Error("recall has an interval where no question has an answer")
	}
}

// A conversation's memory is its owner's: the other one's contradiction is not
// even considered.
func TestConversationsAreApart(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Modes: []Mode{ModeKeyword, ModeVector, ModeHybrid}, Set: []Setting{{"retrieval.floor", "0"}}})
	for i := range r.answers {
		a := &r.answers[i]
		want := "a"
		if a.ID == "q3" || a.ID == "q4" {
			want = "b"
		}
		for _, id := range append(a.Ranked, a.Block...) {
			if !strings.HasPrefix(id, want) {
				t.Errorf("%s in %s sees %s", a.ID, a.Mode, id)
			}
		}
	}
}

// What a silent turn ranks counts as nothing.
func TestSilencedScoresNothing(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Modes: []Mode{ModeKeyword}, Vary: []Axis{{"floor", []string{"0.01", "1"}}}})
	if got := r.Modes["keyword floor=1"].Values; got["silenced"] != 1 || got["recall@20"] != 0 || got["mrr"] != 0 || got["abstain"] != 1 {
		t.Errorf("with a floor of 1: %v", got)
	}
	if got := r.Modes["keyword floor=0.01"]; got.Values["silenced"] != 0 || got.Settings["retrieval.floor"] != "0.01" {
		t.Errorf("with a floor of 0.01: %+v", got)
	}
}

// The ranking is the retriever's, whatever the block takes of it: the records
// beyond top_k are in it, in their order, and those beyond the pool are not.
func TestRankingReachesBeyondTopK(t *testing.T) {
	var corpus, ids strings.Builder
	for i := range 40 {
		fmt.Fprintf(&corpus, `{"_id": "r%d", "text": "The harbour crane number %d was painted%s."}`+"\n", i, i, strings.Repeat(" harbour", i%7))
		fmt.Fprintf(&ids, "q\tr%d\t1\n", i)
	}
	set := small(t, dataset.Options{}, map[string]string{"corpus.jsonl": corpus.String(), "qrels/test.tsv": ids.String(),
		"queries.jsonl": `{"_id": "q", "text": "Which harbour crane was painted?"}`})
	ranked := func(settings ...Setting) []string {
		r := sweepOf(t, Options{Data: set, Modes: []Mode{ModeHybrid}, Set: append(settings, Setting{"retrieval.floor", "0"})})
		return found(t, r, "hybrid", "q").Ranked
	}
	whole := ranked(Setting{"top_k", "100"})
	if len(whole) != depth {
		t.Fatalf("%d ranks, want %d", len(whole), depth)
	}
	if diff := cmp.Diff(whole, ranked(Setting{"top_k", "3"})); diff != "" {
		t.Errorf("top_k 3 ranks otherwise:\n%s", diff)
	}
	if diff := cmp.Diff(whole, ranked(Setting{"budget.chars", "500"})); diff != "" {
		t.Errorf("a small budget ranks otherwise:\n%s", diff)
	}
	if got := ranked(Setting{"top_k", "3"}, Setting{"retrieval.pool", "7"}); len(got) != 7 {
		t.Errorf("%d ranks with a pool of 7: %v", len(got), got)
	}
}

// The block is cut by its budget, the ranking is not.
func TestBlockRecallIsOfTheBlock(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Modes: []Mode{ModeKeyword}, Set: append([]Setting{{"top_k", "1"}}, lenient...)})
	got := r.ByCategory["two"].Modes["keyword"].Values
	if got["recall@5"] != 1 || got["block_recall"] != .5 {
		t.Errorf("recall@5 %v, block_recall %v, want 1 and 0.5", got["recall@5"], got["block_recall"])
	}
}

func TestSessionsAsTheUnit(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{Level: dataset.LevelSession}), Modes: []Mode{ModeKeyword}, Set: []Setting{{"floor", "0"}}})
	// a1 and a2 are one session: q1 finds s1 and never ranks it twice.
	got := r.ByCategory["fact"].Modes["keyword"].Values
	if got["hit@1"] != 1 || got["recall@5"] != 1 || got["block_recall"] != 1 || got["ndcg@10"] != 1 {
		t.Errorf("by session: %v", got)
	}
}

// Same data, same seed, same figures, however many turns run at once.
func TestSweepIsDeterministic(t *testing.T) {
	var first string
	for _, workers := range []int{1, 4, 2} {
		r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Workers: workers, Limit: 3, Vary: []Axis{{"rrf_k", []string{"20", "60"}}}})
		still(r)
		var b strings.Builder
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = b.String()
		}
		if diff := cmp.Diff(first, b.String()); diff != "" {
			t.Errorf("%d workers:\n%s", workers, diff)
		}
	}
}

// still takes out what depends on the machine.
func still(r *Report) {
	r.ElapsedMS, r.Workers = 0, 0
	for _, s := range r.Modes {
		s.Values["p50_ms"], s.Values["p99_ms"] = 1, 1
	}
	for _, c := range r.ByCategory {
		for _, s := range c.Modes {
			s.Values["p50_ms"], s.Values["p99_ms"] = 1, 1
		}
	}
}

func TestLimitDrawsBySeed(t *testing.T) {
	set := &dataset.Set{}
	for i := range 100 {
		set.Queries = append(set.Queries, dataset.Query{ID: fmt.Sprint(i), Added: i >= 90})
	}
	ids := func(limit int, seed uint64) (out []string) {
		for _, q := range draw(set, limit, seed).Queries {
			out = append(out, q.ID)
		}
		return out
	}
	a, b := ids(10, 1), ids(10, 1)
	if len(a) != 20 || !slices.Equal(a, b) || slices.Equal(a, ids(10, 2)) || !slices.Equal(a[10:], ids(0, 1)[90:]) {
		t.Errorf("drawn %v and %v", a, b)
	}
	if !slices.IsSortedFunc(a, func(x, y string) int { return cmp2(x, y) }) {
		t.Errorf("out of order: %v", a)
	}
	if len(ids(0, 1)) != 100 || len(ids(90, 1)) != 100 {
		t.Error("no limit leaves questions out")
	}
}

func cmp2(x, y string) int { return len(x)*100 + int(x[0]) - len(y)*100 - int(y[0]) }

// A mode without its leg runs as a turn does, and the report says why.
func TestModeWithoutItsLeg(t *testing.T) {
	set := small(t, dataset.Options{})
	r, err := Run(t.Context(), Options{Data: set, Modes: []Mode{ModeKeyword, ModeVector}, Root: t.TempDir(), Temp: t.TempDir(),
		Set: []Setting{{"knowledge.embeddings", "false"}}})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Modes["vector"]; v.Values["recall@10"] != 0 || !strings.Contains(v.Degraded, "knowledge.embeddings is false") {
		t.Errorf("vector: %+v", v)
	}
	if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "vector: ") || r.Modes["keyword"].Degraded != "" || r.Embedder != "" {
		t.Errorf("notes %q, embedder %q", r.Notes, r.Embedder)
	}
}

func TestFaultyData(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"two records with one id", "corpus.jsonl", smallCorpus + `{"_id": "a1", "text": "x", "metadata": {"conv": "a"}}`, `corpus.jsonl:7: a second record with the id "a1"`},
		{"a record without conversation", "corpus.jsonl", smallCorpus + `{"_id": "d", "text": "x"}`, "metadata.conv: corpus.jsonl:7: is missing"},
		{"a broken line", "corpus.jsonl", smallCorpus + `{`, "corpus.jsonl, line 7"},
	} {
		o := Options{Data: small(t, dataset.Options{}, map[string]string{tt.file: tt.text}), Temp: t.TempDir(), Root: t.TempDir(), Modes: []Mode{ModeKeyword}}
		_, err := Run(t.Context(), o)
		if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || ken.Hint(err) == "" {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", tt.name, left, err)
		}
	}
}

// The notes name rejected records and relevant ids that don't exist.
func TestNotes(t *testing.T) {
	r := sweepOf(t, Options{Modes: []Mode{ModeKeyword}, Set: lenient, Data: small(t, dataset.Options{}, map[string]string{
		"corpus.jsonl":   smallCorpus + `{"_id": "a9", "text": "<think>only reasoning</think>", "metadata": {"conv": "a"}}`,
		"qrels/test.tsv": smallQrels + "q1\tgone\t1\n"})})
	if r.Refused != 1 || len(r.Notes) != 2 || !strings.Contains(r.Notes[0], "corpus.jsonl:7") || !strings.Contains(r.Notes[1], "1 relevant ids of 1 questions") {
		t.Errorf("refused %d, notes %q", r.Refused, r.Notes)
	}
	if got := r.ByCategory["fact"].Modes["keyword"].Values["recall@10"]; got != .75 { // q1 finds one of two, q3 its only one
		t.Errorf("recall@10 is %v, want 0.75", got)
	}
}

// When ctx ends, the sweep stops at any point and leaves no files.
func TestStopped(t *testing.T) {
	for _, stage := range []string{"remember", "keyword", "vector"} {
		ctx, stop := context.WithCancelCause(t.Context())
		o := Options{Data: small(t, dataset.Options{}), Temp: t.TempDir(), Root: t.TempDir(), Modes: []Mode{ModeKeyword, ModeVector},
			Progress: func(name string, _, _ int) {
				if name == stage {
					stop(errors.New("interrupted")) // as signal.NotifyContext does
				}
			}}
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at %s: %v", stage, err)
		}
		if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
			t.Errorf("stopped at %s: left behind %v, %v", stage, left, err)
		}
		stop(nil)
	}
}

func TestFaultsAreListed(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}, map[string]string{"qrels/test.tsv": smallQrels + "q1\ta3\t1\n"}), Modes: []Mode{ModeKeyword},
		Set: lenient})
	list := r.Faults["keyword"]
	if len(list) != 1 || list[0].ID != "q1" || list[0].Recall != .5 {
		t.Fatalf("faults %+v", list)
	}
	f := list[0]
	if len(f.Wanted) != 2 || f.Wanted[0].ID != "a1" || f.Wanted[0].Rank != 1 || f.Wanted[1].Rank != 0 || !strings.HasPrefix(f.Wanted[1].Text, "Invoices") ||
		len(f.Found) == 0 || !f.Found[0].Good {
		t.Errorf("fault %+v", f)
	}
}

// A set without records measures nothing.
func TestNoRecordIsAnError(t *testing.T) {
	for corpus, want := range map[string]string{
		"":                                 "no record of small could be stored",
		`{"_id": "a1", "text": ""}` + "\n": "could be stored; the first was refused at corpus.jsonl:1: text: empty",
	} {
		set := small(t, dataset.Options{}, map[string]string{"corpus.jsonl": corpus, "queries.jsonl": `{"_id": "q1", "text": "Who?"}` + "\n"})
		_, err := Run(t.Context(), Options{Data: set, Temp: t.TempDir(), Root: t.TempDir(), Embedder: embedtest.Bag{}})
		if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", corpus, err)
		}
	}
}
