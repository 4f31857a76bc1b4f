package dataset

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

const locomoSample = `[{"qa": [
 {"question": "Who?", "answer": 1, "evidence": ["D1:1; D2:1", "D"], "category": 2},
 {"question": "Why?", "evidence": [], "category": 5, "adversarial_answer": "x"},
 {"question": "Gone?", "evidence": ["D9:9", "D1:2"], "category": 1}],
 "conversation": {"speaker_a": "Ann", "session_2_date_time": "1:56 pm on 8 May, 2023", "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a cat"}],
  "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "Hi."}, {"speaker": "Bob", "dia_id": "D1:2", "text": "Hey."}], "session_10": []},
 "sample_id": "conv-1"}]`

func TestLoCoMo(t *testing.T) {
	dir := folder(t, "some.json", locomoSample)
	for _, path := range []string{dir, dir + "/some.json"} {
		s := open1(t, path, Options{})
		if s.Format != FormatLoCoMo || !s.Scoped || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "1 pieces") {
			t.Errorf("%s, scoped %v, notes %q", s.Format, s.Scoped, s.Notes)
		}
		want := []Query{
			{ID: "locomo_0_qa0", Text: "Who?", Conv: "conv-1", Category: "2", Relevant: map[string]int{"conv-1/D1:1": 1, "conv-1/D2:1": 1}, Judged: true, Level: LevelRecord},
			{ID: "locomo_0_qa1", Text: "Why?", Conv: "conv-1", Category: "5", Relevant: map[string]int{}, Judged: true, Level: LevelRecord},
			{ID: "locomo_0_qa2", Text: "Gone?", Conv: "conv-1", Category: "1", Relevant: map[string]int{"conv-1/D1:2": 1}, Judged: true, Level: LevelRecord},
		}
		if diff := cmp.Diff(want, s.Queries); diff != "" {
			t.Error(diff)
		}
		var got []string
		for _, r := range records(t, s) {
			got = append(got, brief(&r))
		}
		if diff := cmp.Diff([]string{"conv-1/D1:1|conv-1|session_1|Ann|Ann: Hi.", "conv-1/D1:2|conv-1|session_1|Bob|Bob: Hey.",
			"conv-1/D2:1|conv-1|session_2|Bob|Bob: Look! [image: a cat]|2023-05-08 13:56"}, got); diff != "" {
			t.Error(diff)
		}
	}
}

const haystackSample = `[
 {"question_id": "q1", "question_type": "temporal", "question": "When?", "question_date": "2023/06/01 (Thu) 10:00",
  "haystack_session_ids": ["s1", "s2"], "haystack_dates": ["2023/05/30 (Tue) 21:48", "2023/05/31 (Wed) 08:00"], "answer_session_ids": ["s2"],
  "haystack_sessions": [[{"role": "user", "content": "one"}, {"role": "assistant", "content": " "}], [{"role": "user", "content": "two", "has_answer": true}, {"role": "assistant", "content": "three"}]]},
 {"question_id": "q2", "question_type": "multi", "question": "What?", "haystack_session_ids": ["s1"], "answer_session_ids": ["s1"],
  "haystack_sessions": [[{"role": "user", "content": "one"}]]},
 {"question_id": "q3_abs", "question_type": "multi", "question": "Never?", "haystack_session_ids": ["s1"], "answer_session_ids": ["s1"],
  "haystack_sessions": [[{"role": "user", "content": "one", "has_answer": true}]]},
 {"question_id": "q4", "question_type": "multi", "question": "Open?", "haystack_sessions": [[{"role": "user", "content": "one"}]]}]`

func TestLongMemEval(t *testing.T) {
	dir := folder(t, "oracle.json", haystackSample)
	s := open1(t, dir, Options{})
	want := []Query{
		{ID: "q1", Text: "When?", Conv: "q1", Category: "temporal", Relevant: map[string]int{"s2/1/0": 1}, Judged: true, Level: LevelRecord},
		{ID: "q2", Text: "What?", Conv: "q2", Category: "multi", Relevant: map[string]int{"s1": 1}, Judged: true, Level: LevelSession},
		{ID: "q3_abs", Text: "Never?", Conv: "q3_abs", Category: "multi", Judged: true, Level: LevelRecord},
		{ID: "q4", Text: "Open?", Conv: "q4", Category: "multi", Level: LevelRecord},
	}
	if diff := cmp.Diff(want, s.Queries); diff != "" {
		t.Error(diff)
	}
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "1 questions come without") {
		t.Errorf("notes %q", s.Notes)
	}
	var got []string
	for _, r := range records(t, s)[:3] {
		got = append(got, brief(&r))
	}
	if diff := cmp.Diff([]string{"s1/0/0|q1|s1|user|one|2023-05-30 21:48", "s2/1/0|q1|s2|user|two|2023-05-31 08:00", "s2/1/1|q1|s2|assistant|three|2023-05-31 08:00"}, got); diff != "" {
		t.Error(diff)
	}
	if q := open1(t, dir, Options{Level: LevelSession}).Queries[0]; q.Level != LevelSession || !cmp.Equal(q.Relevant, map[string]int{"s2": 1}) {
		t.Errorf("by session: %+v", q)
	}
}

func TestClaimsWithQuestions(t *testing.T) {
	export := jsonLines(`{"id": "0192d3a0-0000-7000-8000-000000000001", "key": "k1", "text": "Billing is Ann's.", "session_id": "s1"}`, `{"key": "k2", "text": "Deploys are on Friday."}`)
	questions := jsonLines(`{"_id": "g1", "text": "whose is billing?", "relevant": ["k1"], "metadata": {"category": "paraphrase"}}`, `{"_id": "g2", "text": "who cooks?", "relevant": []}`, `{"_id": "g3", "text": "graded", "relevant": {"k1": 2, "k2": 0}}`)
	dir := folder(t, "claims.jsonl", export, "queries.jsonl", questions)
	for _, open := range []func() *Set{
		func() *Set { return open1(t, dir, Options{}) },
		func() *Set { return open1(t, dir+"/claims.jsonl", Options{Questions: dir + "/queries.jsonl"}) },
	} {
		s := open()
		if s.Format != FormatClaims || s.Scoped || len(s.Queries) != 3 || s.Queries[0].Relevant["k1"] != 1 || !s.Queries[1].NoAnswer() ||
			!cmp.Equal(s.Queries[2].Relevant, map[string]int{"k1": 2}) {
			t.Errorf("set %+v", s)
		}
		got := records(t, s)
		if len(got) != 2 || got[0].Claim == nil || got[0].Claim.Key != "k1" || got[0].Session != "s1" || got[1].ID != "k2" {
			t.Errorf("records %+v", got)
		}
	}
	if _, err := Open(t.Context(), dir+"/claims.jsonl", Options{}); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(ken.Hint(err), "questions") {
		t.Errorf("claims without questions: %v", err)
	}
}

func TestFilesThatAreNoSet(t *testing.T) {
	for _, tt := range []struct{ name, file, text, want string }{
		{"another JSON file", "a.json", `[{"x": 1}]`, "no data set"},
		{"cut off", "a.json", locomoSample[:len(locomoSample)-3], "a.json"},
		{"cut off after an element", "a.json", strings.TrimSuffix(locomoSample, "]"), "a.json, byte"},
		{"no turns", "a.json", `[{"qa": [{"question": "x", "evidence": []}], "conversation": {"session_1": 3}}]`, "[0].conversation.session_1"},
		{"no turn id", "a.json", `[{"qa": [{"question": "x", "evidence": []}], "conversation": {"session_1": [{"text": "x"}]}}]`, "[0].conversation.session_1[0].dia_id"},
		{"bad date", "a.json", `[{"qa": [{"question": "x", "evidence": []}], "conversation": {"session_1_date_time": "soon", "session_1": []}}]`, "[0].conversation.session_1_date_time"},
		{"empty question", "a.json", `[{"qa": [{"question": "", "evidence": []}], "conversation": {}}]`, "[0].qa[0].question"},
		{"no sessions", "a.json", `[{"question_id": "q", "question_type": "x", "question": "x"}]`, "[0].haystack_sessions"},
		{"no id", "a.json", `[{"question_type": "x", "question": "x", "haystack_sessions": [[]]}]`, "[0].question_id"},
		{"type", "a.json", `[{"question_id": "q", "question_type": 4, "haystack_sessions": [[]]}]`, "[0].question_type"},
		{"claims", "c.jsonl", `{"text": ""}`, "text: c.jsonl, line 1"},
	} {
		pairs := []string{tt.file, tt.text}
		if strings.HasSuffix(tt.file, "l") {
			pairs = append(pairs, "queries.jsonl", `{"_id": "q", "text": "x", "relevant": []}`)
		}
		s, err := Open(t.Context(), folder(t, pairs...), Options{})
		if err == nil {
			for _, e := range s.Records(t.Context()) {
				err = e
			}
		}
		if !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), tt.want) || ken.Hint(err) == "" {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Open(t.Context(), "/nowhere/at/all", Options{}); !errors.Is(err, ken.ErrNotFound) {
		t.Errorf("no such path: %v", err)
	}
	if _, err := Open(t.Context(), t.TempDir(), Options{Level: "word"}); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("no such level: %v", err)
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"1:56 pm on 8 May, 2023":    "2023-05-08T13:56:00Z",
		"12:09 AM on 13 June, 2023": "2023-06-13T00:09:00Z",
		"March-15-2024":             "2024-03-15T00:00:00Z",
		"2023/05/30 (Tue) 21:48":    "2023-05-30T21:48:00Z",
		"2023-05-30":                "2023-05-30T00:00:00Z",
		"2023-05-30T21:48:00+02:00": "2023-05-30T19:48:00Z",
		" 2023-05-30 21:48:01 ":     "2023-05-30T21:48:01Z",
		"May 8, 2023":               "2023-05-08T00:00:00Z",
	} {
		got, err := ParseTime(text)
		if err != nil || got.Format("2006-01-02T15:04:05Z07:00") != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	if got, err := ParseTime(""); err != nil || !got.IsZero() {
		t.Errorf("no time: %v, %v", got, err)
	}
	for _, text := range []string{"yesterday", "2023-13-01", "0000-01-01", "8 May"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
