package cases_test

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evals/cases"
)

// scores matches scores, which are removed before comparing with a golden file, so that
// changes of the ranker don't fail the test.
var scores = regexp.MustCompile(`\b\d\.\d{3}\b`)

// The differences are read by people in a hurry: they are kept as they look.
func TestReports(t *testing.T) {
	f, err := cases.Load("testdata/red.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rs []cases.Result
	if err := cases.Run(t.Context(), f.Cases, cases.Options{Config: words(), Now: still}, func(r cases.Result) { rs = append(rs, r) }); err != nil {
		t.Fatal(err)
	}
	var text, color, junit strings.Builder
	for _, err := range []error{cases.WriteText(&text, rs, false), cases.WriteText(&color, rs, true), cases.WriteJUnit(&junit, rs)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "red.txt", scores.ReplaceAllString(text.String(), "0.###"))
	golden(t, "red.junit.xml", scores.ReplaceAllString(junit.String(), "0.###"))
	if strings.Contains(text.String(), "\x1b") || !strings.Contains(color.String(), "\x1b[31mFAIL\x1b[0m") || !strings.Contains(color.String(), "\x1b[32mok\x1b[0m") {
		t.Error("colour is not where it was asked for")
	}
	if err := xml.Unmarshal([]byte(junit.String()), new(any)); err != nil {
		t.Errorf("not XML: %v", err)
	}
	raw, err := json.MarshalIndent(rs, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "red.json", scores.ReplaceAllString(string(raw)+"\n", "0.###"))
}

// What a claim or a file says must not reach the terminal as commands.
func TestReportsAreHarmless(t *testing.T) {
	rs := run(t, "given: [\"bell\\u001b[31m rings at noon\"]\ncases: [{name: \"a\\u001b[2Jb\", ask: When does the bell ring?, must_not_inject: rings}]", cases.Options{})
	var text, junit strings.Builder
	if err := cases.WriteText(&text, rs, false); err != nil {
		t.Fatal(err)
	}
	if err := cases.WriteJUnit(&junit, rs); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String()+junit.String(), "\x1b") || !strings.Contains(text.String(), "FAIL  a[2Jb") {
		t.Errorf("%q", text.String())
	}
}
