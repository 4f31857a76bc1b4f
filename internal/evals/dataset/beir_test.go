package dataset

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

const (
	twoRecords = `{"_id": "a", "title": "A", "text": "first", "metadata": {"date": "March-15-2024", "role": "user"}}
{"_id": 2, "title": "only a title", "text": ""}
`
	fourQuestions = `{"_id": "q1", "text": "what?", "metadata": {"category": 4}}
{"_id": "q2", "text": "who?", "metadata": {"type": "abstention"}}
{"_id": "q3", "text": "why?"}
{"_id": "q4", "text": "when?", "relevant": ["a"]}
`
)

func TestBEIR(t *testing.T) {
	s := open1(t, folder(t, "corpus.jsonl", twoRecords, "queries.jsonl", "\ufeff"+fourQuestions,
		"qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\t2\t0\n", "qrels/train.tsv", "q3\ta\t1\n"), Options{})
	if s.Format != FormatBEIR || s.Scoped {
		t.Errorf("format %s, scoped %v", s.Format, s.Scoped)
	}
	want := []Query{
		{ID: "q1", Text: "what?", Category: "4", Relevant: map[string]int{"a": 2}, Judged: true, Level: LevelRecord},
		{ID: "q2", Text: "who?", Category: "abstention", Judged: true, Level: LevelRecord},
		// q3 belongs to another split
		{ID: "q4", Text: "when?", Relevant: map[string]int{"a": 1}, Judged: true, Level: LevelRecord},
	}
	if diff := cmp.Diff(want, s.Queries); diff != "" {
		t.Error(diff)
	}
	if !s.Queries[0].Answerable() || s.Queries[0].NoAnswer() || !s.Queries[1].NoAnswer() {
		t.Error("what has an answer and what has none")
	}
	got := records(t, s)
	if len(got) != 2 || brief(&got[0]) != "a||||first|2024-03-15 00:00" && brief(&got[0]) != "a|||user|first|2024-03-15 00:00" || got[1].Text != "only a title" || got[1].Heading != "" || got[1].ID != "2" {
		t.Errorf("records %+v", got)
	}
	if got[0].Place != "corpus.jsonl:1" || got[0].Heading != "A" {
		t.Errorf("record %+v", got[0])
	}
}

func TestQrelsInEveryForm(t *testing.T) {
	want := map[string]map[string]int{"q1": {"a": 1, "b": 0}, "q 2": {"a": 3}}
	for name, text := range map[string]string{
		"tabs and a head": "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq 2\ta\t3\n",
		"no head":         "q1\ta\t1\nq1\tb\t0\nq 2\ta\t3\n",
		"windows":         "query-id\tcorpus-id\tscore\r\nq1\ta\t1\r\nq1\tb\t0\r\nq 2\ta\t3\r\n",
		"trec":            "q1\t0\ta\t1\nq1\t0\tb\t0\nq 2\t0\ta\t3\n",
		"twice":           "q1\ta\t1\nq1\ta\t0\nq1\tb\t0\nq 2\ta\t3\n",
	} {
		got := map[string]map[string]int{}
		if err := judgements(linesIn(strings.NewReader(text), "test.tsv"), got); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	got := map[string]map[string]int{}
	if err := judgements(linesIn(strings.NewReader("q1 0 a 1\n"), "test.tsv"), got); err != nil || got["q1"]["a"] != 1 {
		t.Errorf("spaces: %v, %v", got, err)
	}
}

func TestSplits(t *testing.T) {
	dir := folder(t, "corpus.jsonl", twoRecords, "queries.jsonl", fourQuestions, "qrels/dev.tsv", "q1\ta\t1\n", "qrels/train.tsv", "q3\ta\t1\n")
	ids := func(o Options) (out []string) {
		for _, q := range open1(t, dir, o).Queries {
			out = append(out, q.ID)
		}
		return out
	}
	if got := ids(Options{}); !slices.Equal(got, []string{"q1", "q2", "q3", "q4"}) {
		t.Errorf("no test split: %v", got)
	}
	if got := ids(Options{Split: "train"}); !slices.Equal(got, []string{"q2", "q3", "q4"}) {
		t.Errorf("train: %v", got)
	}
	if got := ids(Options{Split: "train", Judged: true}); !slices.Equal(got, []string{"q3", "q4"}) {
		t.Errorf("train, judged: %v", got)
	}
	if _, err := Open(t.Context(), dir, Options{Split: "test"}); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "dev, train") {
		t.Errorf("no such split: %v", err)
	}
}

// A line that can't be used is named by file, line and field.
func TestFaultsHaveAPlace(t *testing.T) {
	ok := func(name string) string {
		return map[string]string{"corpus.jsonl": twoRecords, "queries.jsonl": fourQuestions, "qrels/test.tsv": "q1\ta\t1\n"}[name]
	}
	for _, tt := range []struct{ file, text, want string }{
		{"corpus.jsonl", twoRecords + "\n{\n", "corpus.jsonl, line 4: not valid JSON"},
		{"corpus.jsonl", `{"text": "x"}`, "_id: corpus.jsonl, line 1: is missing"},
		{"corpus.jsonl", `{"_id": "a", "text": 3}`, "text: corpus.jsonl, line 1: a number where text belongs"},
		{"corpus.jsonl", `{"_id": ["a"], "text": "x"}`, "line 1: not valid JSON: a list"},
		{"corpus.jsonl", `{"_id": "a", "text": "x", "metadata": {"date": "yesterday"}}`, "metadata.date: corpus.jsonl, line 1: a date"},
		{"corpus.jsonl", "{\"_id\": \"a\", \"text\": \"\xff\"}", "corpus.jsonl, line 1: not valid UTF-8"},
		{"queries.jsonl", `{"_id": "q1", "text": " "}`, "text: queries.jsonl, line 1: is empty"},
		{"queries.jsonl", fourQuestions + `{"_id": "q9", "text": "x", "relevant": "a"}`, "relevant: queries.jsonl, line 5: neither a list"},
		{"queries.jsonl", fourQuestions + `{"_id": "q1", "text": "again"}`, `_id: two questions have the id "q1"`},
		{"queries.jsonl", `{"_id": "q1", "text": "x", "metadata": {"conv": "c"}}` + "\n" + `{"_id": "q2", "text": "x"}`, "metadata.conv: question \"q1\" names a conversation and \"q2\" does not"},
		{"queries.jsonl", "", "there are no questions"},
		{"corpus.jsonl", `[{"_id": "a", "text": "x"}]`, "line 1: an array where an object belongs"},
		{"qrels/test.tsv", "a\tq1\t1\nb\tq2\t1\n", "qrels: none of the questions that are judged is in queries.jsonl"},
		{"qrels/test.tsv", "q1\ta\t1\nq1\tb\tmany\n", "score: test.tsv, line 2: \"many\" is not a whole number"},
		{"qrels/test.tsv", "q1\ta\t1\nq1\tb\n", "test.tsv, line 2: 2 columns"},
		{"qrels/test.tsv", "q1\ta\t1\nq1\tb\t0.5\n", "score: test.tsv, line 2"},
		{"qrels/test.tsv", "\tb\t1\n", "test.tsv, line 1:"},
	} {
		var pairs []string
		for _, name := range []string{"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"} {
			text := ok(name)
			if name == tt.file {
				text = tt.text
			}
			pairs = append(pairs, name, text)
		}
		s, err := Open(t.Context(), folder(t, pairs...), Options{})
		if err == nil {
			for _, e := range s.Records(t.Context()) {
				err = e
			}
		}
		if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || ken.Hint(err) == "" {
			t.Errorf("%s: %v (try %q), want %q", tt.file, err, ken.Hint(err), tt.want)
		}
	}
}

// What the set doesn't say about its questions, and says about others, is told.
func TestNotesOnJudgements(t *testing.T) {
	const two = `{"_id": "q1", "text": "what?"}
{"_id": "q2", "text": "who?"}
`
	for _, tt := range []struct{ qrels, want string }{
		{"q1\ta\t1\nq2\ta\t1\n", ""},
		{"q1\ta\t1\nq2\ta\t1\nq7\ta\t1\n", "questions that are judged, and not in queries.jsonl: 1"},
		{"query-id\tcorpus-id\tscore\n", "the set says of no question what is relevant, so only latency is measured"},
		{"", "the set says of no question what is relevant, so only latency is measured"},
	} {
		s := open1(t, folder(t, "corpus.jsonl", twoRecords, "queries.jsonl", two, "qrels/test.tsv", tt.qrels), Options{})
		if got := strings.Join(s.Notes, "; "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.qrels, got, tt.want)
		}
	}
	_, err := Open(t.Context(), folder(t, "corpus.jsonl", twoRecords, "queries.jsonl", two, "qrels/test.qrels", "q1\ta\t1\n"), Options{})
	if !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) != "Rename test.qrels to test.tsv." {
		t.Errorf("another name: %v (%s)", err, ken.Hint(err))
	}
}

func TestRecordsStopAtTheFirstFault(t *testing.T) {
	s := open1(t, folder(t, "corpus.jsonl", twoRecords+"{\n"+twoRecords, "queries.jsonl", fourQuestions), Options{})
	n := 0
	for _, err := range s.Records(t.Context()) {
		if n++; err != nil && n != 3 {
			t.Errorf("fault at %d", n)
		}
	}
	if n != 3 {
		t.Errorf("%d yields, want two records and one fault", n)
	}
}

func TestMostlyUnjudgedIsNoted(t *testing.T) {
	s := open1(t, folder(t, "corpus.jsonl", twoRecords, "queries.jsonl", jsonLines(`{"_id":"1","text":"x"}`, `{"_id":"2","text":"x"}`, `{"_id":"3","text":"x"}`),
		"qrels/test.tsv", "1\ta\t1\n"), Options{})
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "--judged") {
		t.Errorf("notes %q", s.Notes)
	}
}
