package dataset

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kenlayer/ken"
)

// told fails the test for an error without advice.
func told(t *testing.T, err error) {
	t.Helper()
	if err != nil && (!errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "") {
		t.Errorf("%v (try %q)", err, ken.Hint(err))
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(twoRecords)
	f.Add(`{"_id": null, "metadata": {"conv": true, "date": "2023/05/30 (Tue) 21:48"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for l, err := range linesIn(strings.NewReader(text), "f") {
			told(t, err)
			if err != nil {
				return
			}
			r, err := l.record()
			told(t, err)
			if err == nil && (r.ID == "" || !utf8.ValidString(r.Text)) {
				t.Errorf("%+v", r)
			}
		}
	})
}

func FuzzQuestion(f *testing.F) {
	f.Add(fourQuestions)
	f.Add(`{"_id": 1, "text": "x", "relevant": {"a": 2}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for l, err := range linesIn(strings.NewReader(text), "f") {
			told(t, err)
			if err != nil {
				return
			}
			q, err := l.question()
			told(t, err)
			if err == nil && (q.ID == "" || strings.TrimSpace(q.Text) == "" || len(q.Relevant) > 0 && !q.Judged) {
				t.Errorf("%+v", q)
			}
			for id, grade := range q.Relevant {
				if grade < 1 {
					t.Errorf("%s has grade %d", id, grade)
				}
			}
		}
	})
}

func FuzzQrels(f *testing.F) {
	f.Add("query-id\tcorpus-id\tscore\nq\td\t1\n")
	f.Add("q 0 d 1")
	f.Fuzz(func(t *testing.T, text string) {
		into := map[string]map[string]int{}
		told(t, judgements(linesIn(strings.NewReader(text), "f"), into))
		for q, grades := range into {
			if q == "" || len(grades) == 0 {
				t.Errorf("%q: %v", q, grades)
			}
		}
	})
}

func FuzzLoCoMo(f *testing.F) {
	f.Add(locomoSample)
	f.Add(`{"data": [{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range elementsIn[conversation](strings.NewReader(text), "f") {
			told(t, err)
			if err != nil {
				return
			}
			turns, err := turnsOf(&e)
			told(t, err)
			for _, r := range turns {
				if r.ID == "" || r.Conv == "" {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

func FuzzLongMemEval(f *testing.F) {
	f.Add(haystackSample)
	f.Add(`{"data": [{"id": "a", "conversation": [{"role": "user", "content": "x"}], "questions": [{"question": "y"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range elementsIn[longMemQuestion](strings.NewReader(text), "f") {
			told(t, err)
			if err != nil {
				return
			}
			turns, err := remembered(&e)
			told(t, err)
			if err != nil {
				continue
			}
			known := map[string]bool{}
			for _, r := range turns {
				if r.ID == "" || strings.TrimSpace(r.Text) == "" || known[r.ID] {
					t.Errorf("%+v", r)
				}
				known[r.ID] = true
			}
			if q := e.value.query("c", ""); len(q.Relevant) > 0 && !q.Judged {
				t.Errorf("%+v", q)
			}
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"1:56 pm on 8 May, 2023", "March-15-2024", "2023/05/30 (Tue) 21:48", "2023-05-30T21:48:00+23:59"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		when, err := ParseTime(s)
		if err == nil && !when.IsZero() && (when.Year() < 1 || when.Year() > 9999) {
			t.Errorf("%q is %v", s, when)
		}
	})
}

// FuzzClaims reads from a folder, because package jsonl has a fuzz target for the lines
// of an export.
func FuzzClaims(f *testing.F) {
	f.Add(`{"text": "x", "key": "k"}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := folder(t, "claims.jsonl", text, "queries.jsonl", `{"_id": "q", "text": "x", "relevant": ["k"]}`)
		s, err := Open(context.Background(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range s.Records(context.Background()) {
			told(t, err)
			if err == nil && (r.Claim == nil || r.ID == "") {
				t.Errorf("%+v", r)
			}
		}
	})
}
