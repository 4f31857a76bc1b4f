package keyword

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken/analysis"
)

// A text that can't be analyzed is found by no word, and costs no other document of its
// batch, be it analyzed on this goroutine or on others; it can be replaced later.
func TestApplySurvivesAText(t *testing.T) {
	tokens = func(buf []analysis.Token, s string) []analysis.Token {
		if strings.Contains(s, "exploder") {
			panic("what a text")
		}
		return analysis.Tokens(buf, s)
	}
	defer func() { tokens = analysis.Tokens }()
	for _, n := range []int{3, 400} {
		x := openTest(t, t.TempDir(), Options{})
		docs := make([]Doc, n)
		for i := range docs {
			docs[i] = Doc{Ref: uint32(i), Text: fmt.Sprint("zebra number", i)}
		}
		docs[1].Text = "zebra exploder"
		apply(t, x, docs, nil, 1)
		if res := search(t, x, Query{Text: "zebra", Limit: n}); len(res.Hits) != n-1 || slices.Contains(refs(res.Hits), 1) {
			t.Errorf("%d of %d are found", len(res.Hits), n)
		}
		apply(t, x, []Doc{{Ref: 1, Text: "zebra again"}}, nil, 2)
		if res := search(t, x, Query{Text: "again", Limit: 3}); !slices.Equal(refs(res.Hits), []uint32{1}) {
			t.Errorf("replaced: %v", refs(res.Hits))
		}
	}
}
