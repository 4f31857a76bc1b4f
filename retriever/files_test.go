package retriever_test

import (
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// Of two pieces of files with the same words, the long function comes before the short one, and
// code before a document. A record that is no piece of a file keeps its place among them.
func TestPiecesOfFilesAreOrderedAmongThemselves(t *testing.T) {
	s := records(5)
	s.forms = map[store.Ref]analysis.Form{
		1: analysis.Form{Words: 20}.From(analysis.OriginCode),
		2: analysis.Form{Words: 300}.From(analysis.OriginCode),
		3: analysis.Form{Words: 300}.From(analysis.OriginDocument),
	} // 4 is a fact
	hits := []store.Hit{{Ref: 3, Score: 9.9, Share: 1}, {Ref: 1, Score: 9, Share: 1}, {Ref: 4, Score: 8.5, Share: 1}, {Ref: 2, Score: 8, Share: 1}}
	got := retriever.New(s, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, hits...)}}).
		Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Question: "how does the breaker recover?"}})
	if want := []string{"2", "4", "1", "3"}; !slices.Equal(ids(got), want) {
		t.Errorf("%v, want %v", ids(got), want)
	}
	for _, c := range got.Candidates {
		if _, ok := c.Signals["learned"]; ok != (c.Row.ID != "4") {
			t.Errorf("%s: %v", c.Row.ID, c.Signals)
		}
	}
}
