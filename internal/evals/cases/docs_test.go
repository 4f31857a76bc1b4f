package cases_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evals/cases"
)

// The documents' example is a valid file, and its failing variant prints what the
// document shows.
func TestDocumentedExample(t *testing.T) {
	b, err := os.ReadFile("../../../docs/memory-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(b), "```yaml\n")
	text, _, closed := strings.Cut(after, "```")
	if !ok || !closed {
		t.Fatal("docs/memory-tests.md has no example")
	}
	for _, r := range run(t, text, cases.Options{}) {
		if !r.OK() {
			t.Errorf("%s:\n%s", r.Case.Name, r.Explain(""))
		}
	}
	red := strings.Replace(strings.Replace(text, "    must_not_recall: {key: old}\n", "", 1), "{key: retries, within: 1}", "{key: old}", 1)
	rs := run(t, red, cases.Options{})
	var out strings.Builder
	if err := cases.WriteText(&out, rs, false); err != nil {
		t.Fatal(err)
	}
	for shown := range strings.Lines(string(b)) {
		if strings.HasPrefix(shown, "FAIL  ") || strings.HasPrefix(shown, "        have  ") || strings.HasPrefix(shown, "        Try:  ") {
			if want := strings.Replace(strings.TrimSpace(shown), "red.yaml", "cases.yaml", 1); !strings.Contains(out.String(), want) {
				t.Errorf("the document shows %q, which is not in\n%s", want, out.String())
			}
		}
	}
}
