package dataset

import (
	"slices"
	"strings"
	"testing"
)

func TestSmallTalk(t *testing.T) {
	talk := SmallTalk()
	if len(talk) < 55 || len(talk) > 70 {
		t.Errorf("%d phrases", len(talk))
	}
	seen := map[string]bool{}
	for _, q := range talk {
		if !q.NoAnswer() || !q.Added || q.Category != CategorySmallTalk || seen[q.Text] || seen[q.ID] || strings.HasPrefix(q.Text, "#") {
			t.Errorf("phrase %+v", q)
		}
		seen[q.Text], seen[q.ID] = true, true
	}
}

func TestAddedQuestionsAreDealtOut(t *testing.T) {
	dir := folder(t, "extra.txt", "who won in 1954?\n\n"+`{"_id": "x", "text": "and 1958?", "relevant": ["a"], "metadata": {"conv": "c2", "type": "sport"}}`+"\nand 1962?\n")
	more, err := NoAnswer(t.Context(), dir+"/extra.txt")
	if err != nil {
		t.Fatal(err)
	}
	scoped := &Set{Scoped: true, Queries: []Query{{ID: "1", Conv: "c1"}, {ID: "2", Conv: "c2"}, {ID: "3", Conv: "c1"}}}
	if err := scoped.Add(more...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range scoped.Queries[3:] {
		if !q.NoAnswer() || !q.Added {
			t.Errorf("%+v", q)
		}
		got = append(got, q.ID+" "+q.Conv+" "+q.Category)
	}
	if !slices.Equal(got, []string{"no-answer-1 c1 no answer", "x c2 sport", "no-answer-3 c1 no answer"}) {
		t.Errorf("%q", got)
	}
	if err := scoped.Add(more[0]); err == nil || !strings.Contains(err.Error(), "no-answer-1") {
		t.Errorf("the same id again: %v", err)
	}
	if err := scoped.Add(Query{ID: "y", Conv: "c9"}); err == nil || !strings.Contains(err.Error(), "c9") {
		t.Errorf("another conversation: %v", err)
	}
	plain := &Set{Queries: []Query{{ID: "1"}}}
	if err := plain.Add(more...); err != nil || plain.Queries[2].Conv != "" {
		t.Errorf("a set without conversations: %v, %+v", err, plain.Queries)
	}
	if _, err := NoAnswer(t.Context(), folder(t, "e", "\n")+"/e"); err == nil {
		t.Error("a file without questions is read")
	}
}
