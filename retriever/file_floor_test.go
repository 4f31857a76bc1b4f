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

// A question with a name that no piece has needs more evidence. A piece with all words of the name is enough.
func TestFloorOfPiecesKnowsNames(t *testing.T) {
	terms := []string{"call", "retrywithjitter", "retri", "jitter"}
	for name, tt := range map[string]struct {
		asked ken.Signals
		parts []float32
		want  int
	}{
		"the name":            {ken.Signals{Question: "who calls retryWithJitter?", Symbols: []string{"retryWithJitter"}}, []float32{1, 1, 1, 1}, 1},
		"its words":           {ken.Signals{Question: "who calls retryWithJitter?", Symbols: []string{"retryWithJitter"}}, []float32{0, 0, 1, 1}, 1},
		"one of its words":    {ken.Signals{Question: "who calls retryWithJitter?", Symbols: []string{"retryWithJitter"}}, []float32{1, 0, 1, 0}, 0},
		"qualified":           {ken.Signals{Question: "who calls net.retryWithJitter?", Symbols: []string{"net.retryWithJitter"}}, []float32{1, 0, 1, 0}, 0},
		"no name":             {ken.Signals{Question: "who calls the retry with jitter?"}, []float32{1, 0, 1, 0}, 1},
		"a name of one word":  {ken.Signals{Question: "who calls Retry?", Symbols: []string{"Retry"}}, []float32{1, 0, 0, 0}, 1},
		"in another message":  {ken.Signals{Question: "who calls it?", Symbols: []string{"retryWithJitter"}}, []float32{1, 0, 1, 0}, 1},
		"not in the terms":    {ken.Signals{Question: "who calls openShelf?", Symbols: []string{"openShelf"}}, []float32{1, 0, 1, 0}, 1},
		"hits without values": {ken.Signals{Question: "who calls retryWithJitter?", Symbols: []string{"retryWithJitter"}}, nil, 1},
	} {
		s := records(2)
		s.forms = map[store.Ref]analysis.Form{1: analysis.Form{Words: 50}.From(analysis.OriginCode)}
		res := store.Result{Hits: []store.Hit{{Ref: 1, Score: 5, Share: 0.6, Parts: tt.parts}}, Terms: terms}
		got := retriever.New(s, retriever.Options{Sources: []retriever.Source{leg{retriever.SourceKeyword, func(context.Context, *retriever.Query) (store.Result, error) { return res, nil }}}}).
			Retrieve(t.Context(), retriever.Turn{Signals: tt.asked})
		if len(got.Candidates) != tt.want {
			t.Errorf("%s: %d candidates, want %d", name, len(got.Candidates), tt.want)
		}
	}
}
