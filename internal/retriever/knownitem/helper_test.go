package knownitem_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/evaldata"
)

// each yields claims.
func each(claims []ken.Claim) iter.Seq2[ken.Claim, error] {
	return func(yield func(ken.Claim, error) bool) {
		for _, c := range claims {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// fact is a claim as a store would return it.
func fact(id, heading, text string) ken.Claim {
	return ken.Claim{ID: id, Kind: ken.KindFact, Heading: heading, Text: text, Status: ken.StatusObserved, Confidence: 1,
		Evidence: []ken.Evidence{ken.FromUserStatement("s", "m")}}
}

// beir reads the corpus of an evaluation data set as facts.
func beir(t testing.TB, name string) []ken.Claim {
	t.Helper()
	f, err := os.Open(filepath.Join(evaldata.Dir(t, name), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var claims []ken.Claim
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		var d struct{ ID, Title, Text string }
		var raw map[string]any
		if err := json.Unmarshal(in.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
		d.ID, _ = raw["_id"].(string)
		d.Title, _ = raw["title"].(string)
		d.Text, _ = raw["text"].(string)
		claims = append(claims, fact(d.ID, d.Title, d.Text))
	}
	if err := in.Err(); err != nil || len(claims) == 0 {
		t.Fatal(len(claims), err)
	}
	return claims
}

// chunks indexes a folder.
func chunks(t testing.TB, dir string) []ken.Claim {
	t.Helper()
	var s sink
	if _, err := repository.Index(t.Context(), dir, &s, repository.Options{}); err != nil {
		t.Fatal(err)
	}
	return s.claims
}

type sink struct{ claims []ken.Claim }

func (*sink) DocumentHashes(context.Context) (map[string]repository.Known, error) { return nil, nil }
func (s *sink) PutDocuments(_ context.Context, docs []repository.Document) error {
	for _, d := range docs {
		s.claims = append(s.claims, d.Chunks...)
	}
	return nil
}
func (*sink) TouchDocuments(context.Context, map[string]repository.Known) error { return nil }
func (*sink) RemoveDocuments(context.Context, []string) error                   { return nil }
