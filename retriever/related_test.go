package retriever_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// pieces returns a shelf with a keyword search that finds own for the question, and related
// for the related words. It notes the texts and kinds that were asked for.
type pieces struct {
	shelf
	own, related store.Result
	texts        *[]string
	kinds        *[][]ken.Kind
}

func (p pieces) Keyword(_ context.Context, text string, f *ken.Filter, _ int) (store.Result, error) {
	*p.texts, *p.kinds = append(*p.texts, text), append(*p.kinds, f.Kinds)
	if len(*p.texts) == 1 {
		return p.own, nil
	}
	return p.related, nil
}

func searchPieces(t *testing.T, origin analysis.Origin, kinds ...ken.Kind) (res store.Result, texts []string, asked [][]ken.Kind) {
	t.Helper()
	s := records(4)
	s.forms = map[store.Ref]analysis.Form{}
	for ref := range store.Ref(3) {
		s.forms[ref] = analysis.Form{}.From(origin)
	}
	p := pieces{shelf: s, texts: &texts, kinds: &asked,
		own: store.Result{Terms: []string{"drop", "connect"}, Values: []float32{0.6, 0.4},
			Hits: []store.Hit{{Ref: 0, Score: 4, Share: 0.4, Parts: []float32{0, 4}}, {Ref: 1, Score: 3, Share: 0.6, Parts: []float32{3, 0}}}},
		related: store.Result{Terms: []string{"conn"}, Values: []float32{1},
			Hits: []store.Hit{{Ref: 1, Score: 9, Parts: []float32{9}}, {Ref: 2, Score: 8, Parts: []float32{8}}, {Ref: 3, Score: 8, Parts: []float32{8}}}}}
	res, err := retriever.Keyword(p).Search(t.Context(), &retriever.Query{Limit: 10, Filter: &ken.Filter{Kinds: kinds}, Signals: ken.Signals{Keywords: []string{"connection", "dropped"}}})
	if err != nil {
		t.Fatal(err)
	}
	return res, texts, asked
}

// Code says conn where people say connection.
func TestRelatedWordsFindPiecesOfFiles(t *testing.T) {
	res, texts, asked := searchPieces(t, analysis.OriginCode)
	if len(texts) != 2 || !slices.Contains(strings.Fields(texts[1]), "conn") || !slices.Equal(asked[1], []ken.Kind{ken.KindDocument}) {
		t.Fatalf("searched for %q of %v", texts, asked)
	}
	var got []store.Ref
	for _, h := range res.Hits {
		got = append(got, h.Ref)
	}
	// 1 has a word of its own and one that is related to the other; 3 is no piece of a file.
	if !slices.Equal(got, []store.Ref{1, 0, 2}) {
		t.Fatalf("found %v", got)
	}
	if h := res.Hits[0]; h.Share != 0.6 || h.Score < 5.7 || h.Score > 5.9 {
		t.Errorf("share %v, score %v: a related word counts 0.7 of the best of the word itself, and is no evidence", h.Share, h.Score)
	}
	if h := res.Hits[2]; h.Share != 0 {
		t.Errorf("share %v of a piece that has a related word only", h.Share)
	}
}

func TestRelatedWordsAreForPiecesOfFilesAlone(t *testing.T) {
	if _, texts, _ := searchPieces(t, analysis.OriginNone); len(texts) != 1 {
		t.Errorf("searched %d times without a piece of a file", len(texts))
	}
	if _, texts, _ := searchPieces(t, analysis.OriginCode, ken.KindFact); len(texts) != 1 {
		t.Errorf("searched %d times, though the filter wants facts alone", len(texts))
	}
}

// Words such as "somebody" are rare in code. To lack them is no sign that the code is about
// something else, and to have them is none that it answers.
func TestWordsThatPhraseAQuestionAreNoEvidence(t *testing.T) {
	s := records(2)
	s.forms = map[store.Ref]analysis.Form{1: analysis.Form{}.From(analysis.OriginCode)}
	for name, tt := range map[string]struct {
		parts []float32
		want  int
	}{
		"has what is asked about":       {[]float32{5, 0}, 1},
		"has the words around it alone": {[]float32{0, 5}, 0},
	} {
		share := 0.3
		if tt.parts[1] > 0 {
			share = 0.7
		}
		keyword := leg{retriever.SourceKeyword, func(context.Context, *retriever.Query) (store.Result, error) {
			return store.Result{Terms: []string{"rout", "somebodi"}, Values: []float32{0.3, 0.7},
				Hits: []store.Hit{{Ref: 1, Score: 5, Share: share, Parts: tt.parts}}}, nil
		}}
		vector := says(retriever.SourceVector, store.Hit{Ref: 1, Share: 0.25})
		if got := retrieve(t, s, retriever.Options{Sources: []retriever.Source{keyword, vector}, Floor: 0.05}); len(got.Candidates) != tt.want {
			t.Errorf("%s: %d candidates, want %d", name, len(got.Candidates), tt.want)
		}
	}
}
