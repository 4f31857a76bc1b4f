package table_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/embed/table"
)

func TestVocabularyCutsTexts(t *testing.T) {
	v, err := table.NewVocabulary(strings.Split("a,b,g,key,master,keys,new,york,new york,é", ","))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"":                   {},
		"key":                {"key"},
		"Keymaster":          {"key", "master"}, // the longest piece first
		"keysmith":           {"keys"},          // and what no piece begins with is left out
		"bag":                {"b", "a", "g"},
		"new-york":           {"new", "york", "new york"},
		"new key york":       {"new", "key", "york"},
		"new newest york":    {"new", "new", "york"}, // a cut word is nobody's neighbour
		"quiz":               {},
		"new york, New York": {"new", "york", "new york", "new", "york", "new york"},
	} {
		got := []string{}
		for _, id := range v.Append(nil, text) {
			got = append(got, v.Token(int(id)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if id, ok := v.ID("york"); !ok || v.Token(id) != "york" {
		t.Errorf("york is token %d, %v", id, ok)
	}
	if _, ok := v.ID("yor"); ok {
		t.Error("yor is no token")
	}
}

func TestVocabularyRefuses(t *testing.T) {
	for name, tokens := range map[string][]string{
		"no tokens":       nil,
		"an empty one":    {"a", ""},
		"a repeated one":  {"a", "b", "a"},
		"a long one":      {strings.Repeat("a", 256)},
		"no pair of ours": {"a", "a b"},
		"no UTF-8":        {"a", "\xff"},
		"half characters": {"\xc3", "\xa9"},
	} {
		if _, err := table.NewVocabulary(tokens); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
