package retriever_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store/memory"
)

// library is a store with vectors that holds these claims.
func library(t testing.TB, claims ...ken.Claim) *memory.Store {
	t.Helper()
	s := memory.New(memory.Options{Embed: embedtest.Bag{}.Embed})
	for _, c := range claims {
		if _, err := s.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func claim(t testing.TB, text string, change ...func(*ken.Claim)) ken.Claim {
	t.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// One list of records that no turn may see; each leg alone must find only the
// one beside them.
func TestNoLegLeaks(t *testing.T) {
	const text = "payments retry a failed transfer three times"
	const question = "payments retry failed transfer"
	mine, theirs := ken.Scope{Type: ken.ScopeRepo, ID: "mine"}, ken.Scope{Type: ken.ScopeRepo, ID: "theirs"}
	secret := map[ken.CutReason]func(*ken.Claim){
		ken.CutScope:   func(c *ken.Claim) { c.Scope = theirs },
		ken.CutStatus:  func(c *ken.Claim) { c.Status = ken.StatusHypothesis },
		ken.CutTrust:   func(c *ken.Claim) { c.Evidence[0].Trust = ken.TrustExternal },
		ken.CutExpired: func(c *ken.Claim) { c.ExpiresAt = day },
	}
	for kind, legs := range map[ken.Kind]func(s *memory.Store) []retriever.Leg{
		ken.KindHot: func(s *memory.Store) []retriever.Leg {
			return []retriever.Leg{retriever.Keyword(s), retriever.Vector(s, embedtest.Bag{}), retriever.Pinned(s)}
		},
		ken.KindEpisode:  func(s *memory.Store) []retriever.Leg { return []retriever.Leg{retriever.Sessions(s)} },
		ken.KindPlaybook: func(s *memory.Store) []retriever.Leg { return []retriever.Leg{retriever.Playbooks(s, nil)} },
	} {
		of := func(c *ken.Claim) { c.Kind = kind }
		claims := []ken.Claim{claim(t, text, of, func(c *ken.Claim) { c.Scope, c.Heading = mine, "seen" })}
		for _, change := range secret {
			claims = append(claims, claim(t, text, of, change))
		}
		s := library(t, claims...)
		for _, l := range legs(s) {
			q := &retriever.Query{Limit: 50, Signals: ken.Signals{Keywords: []string{"payments", "retry", "transfer"}, Question: question},
				Filter: &ken.Filter{Scopes: []ken.Scope{mine}, Unscoped: true, MinTrust: ken.TrustAgent, Now: day}}
			res, err := l.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Hits) != 1 {
				t.Fatalf("%s found %d records, want the one that may be seen", l.Name(), len(res.Hits))
			}
			if c, err := s.Claim(t.Context(), res.Hits[0].Ref); err != nil || c.Heading != "seen" {
				t.Errorf("%s found %+v, %v", l.Name(), c, err)
			}
			for _, c := range res.Cut {
				if secret[c.Reason] == nil {
					t.Errorf("%s cut for %q", l.Name(), c.Reason)
				}
			}
			q.Filter.Kinds = []ken.Kind{ken.KindDecision}
			if res, err := l.Search(t.Context(), q); err != nil || len(res.Hits) != 0 {
				t.Errorf("%s found %d records of a kind that was not asked for, %v", l.Name(), len(res.Hits), err)
			}
		}
	}
}

func TestKeywordTextHoldsEverythingThatNamesThings(t *testing.T) {
	got := retriever.KeywordText(ken.Signals{Keywords: []string{"retry"}, Symbols: []string{"pay.Retry"}, Entities: []string{"Payments"},
		Failures: []string{"E1042"}, Question: "not this"})
	equal(t, "text", got, "retry\npay.Retry\nPayments\nE1042\n")
}

// A leg without anything to ask for finds nothing, and asks nobody.
func TestEmptyQuestionsAskNobody(t *testing.T) {
	s := library(t, claim(t, "payments retry"))
	for _, l := range []retriever.Leg{retriever.Keyword(nil), retriever.Vector(nil, nil)} {
		if res, err := l.Search(t.Context(), &retriever.Query{Filter: &ken.Filter{}}); err != nil || len(res.Hits) > 0 {
			t.Errorf("%s: %+v, %v", l.Name(), res, err)
		}
	}
	res, err := retriever.Vector(s, embedtest.Bag{}).Search(t.Context(), &retriever.Query{Filter: &ken.Filter{}, Limit: 5, Signals: ken.Signals{Question: "…?"}})
	if err != nil || len(res.Hits) > 0 {
		t.Errorf("a question without words: %+v, %v", res, err)
	}
}

type brokenEmbedder struct{ embed.Embedder }

func (brokenEmbedder) Embed(context.Context, []string) ([][]float32, error) { return nil, errBoom }

func TestVectorLegTellsWhyThereIsNoVector(t *testing.T) {
	_, err := retriever.Vector(library(t), brokenEmbedder{}).Search(t.Context(), &retriever.Query{Signals: ken.Signals{Question: "x"}})
	if !errors.Is(err, errBoom) {
		t.Errorf("error %v", err)
	}
}

func ExampleRetriever_Retrieve() {
	s := memory.New(memory.Options{})
	for _, text := range []string{"Payments retry a failed transfer three times.", "Lunch is at noon."} {
		c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
		if err != nil {
			panic(err)
		}
		if _, err := s.WriteClaim(context.Background(), c); err != nil {
			panic(err)
		}
	}
	r := retriever.New(s, retriever.Options{Legs: []retriever.Leg{retriever.Keyword(s), retriever.Pinned(s)}})
	found := r.Retrieve(context.Background(), retriever.Turn{Signals: ken.Signals{Keywords: []string{"payments", "retry", "transfer"}}})
	for _, c := range found.Candidates {
		fmt.Println(found.Mode, c.Tier, c.Legs[retriever.LegKeyword].Rank, c.Ref)
	}
	// Output: keyword Assumed 1 0
}

func BenchmarkRetrieve(b *testing.B) {
	p := records(200)
	var k, v []uint32
	for i := range uint32(50) {
		k, v = append(k, i*3%200), append(v, i*7%200)
	}
	r := retriever.New(p, retriever.Options{Legs: []retriever.Leg{says(retriever.LegKeyword, refs(k...)...), says(retriever.LegVector, refs(v...)...)}})
	b.ReportAllocs()
	for b.Loop() {
		r.Retrieve(b.Context(), retriever.Turn{})
	}
}
