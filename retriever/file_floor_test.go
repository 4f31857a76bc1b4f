package retriever_test

import (
	"context"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// A question of many words needs a smaller part of them in one piece than one of few.
func TestFloorOfPiecesCountsWords(t *testing.T) {
	s := records(2)
	s.forms = map[store.Ref]analysis.Form{1: analysis.Form{Words: 50}.From(analysis.OriginCode)}
	for terms, want := range map[int]int{2: 0, 3: 0, 16: 1} {
		res := store.Result{Hits: []store.Hit{{Ref: 1, Score: 5, Share: 0.3}}, Terms: make([]string, terms)}
		got := retriever.New(s, retriever.Options{Sources: []retriever.Source{leg{retriever.SourceKeyword, func(context.Context, *retriever.Query) (store.Result, error) { return res, nil }}}}).
			Retrieve(t.Context(), retriever.Turn{Signals: ken.Signals{Question: "how does the breaker recover?"}})
		if len(got.Candidates) != want {
			t.Errorf("%d terms: %d candidates, want %d", terms, len(got.Candidates), want)
		}
	}
}
