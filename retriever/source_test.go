package retriever_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/embed/embedtest"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
	"github.com/kenlayer/ken/store/memory"
)

// library is a store with vectors that holds these claims.
func library(t testing.TB, claims ...ken.Claim) memory.Store {
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

// One list of records that no turn may see; each source alone must find only the
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
	for kind, legs := range map[ken.Kind]func(s memory.Store) []retriever.Source{
		ken.KindHot: func(s memory.Store) []retriever.Source {
			return []retriever.Source{retriever.Keyword(s), retriever.Vector(s, embedtest.Bag{}), retriever.Pinned(s)}
		},
		ken.KindEpisode:  func(s memory.Store) []retriever.Source { return []retriever.Source{retriever.Sessions(s)} },
		ken.KindPlaybook: func(s memory.Store) []retriever.Source { return []retriever.Source{retriever.Playbooks(s, nil)} },
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

// A source without a query finds nothing, and does not search.
func TestEmptyQuestionsAskNobody(t *testing.T) {
	s := library(t, claim(t, "payments retry"))
	for _, l := range []retriever.Source{retriever.Keyword(nil), retriever.Vector(nil, nil)} {
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
	r := retriever.New(s, retriever.Options{Sources: []retriever.Source{retriever.Keyword(s), retriever.Pinned(s)}})
	found := r.Retrieve(context.Background(), retriever.Turn{Signals: ken.Signals{Keywords: []string{"payments", "retry", "transfer"}}})
	for _, c := range found.Candidates {
		fmt.Println(found.Mode, c.Tier, c.Sources[retriever.SourceKeyword].Rank, c.Ref)
	}
	// Output: keyword Assumed 1 0
}

func BenchmarkRetrieve(b *testing.B) {
	p := records(200)
	var k, v []uint32
	for i := range uint32(50) {
		k, v = append(k, i*3%200), append(v, i*7%200)
	}
	r := retriever.New(p, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(k...)...), says(retriever.SourceVector, refs(v...)...)}})
	b.ReportAllocs()
	for b.Loop() {
		r.Retrieve(b.Context(), retriever.Turn{})
	}
}

// Elsewhere one source checked one condition of the filter and its hits bypassed
// scope, pins and deletion. Every source gets the complete filter, and can't change
// it for the others.
func TestFilterReachesEveryLeg(t *testing.T) {
	want := ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "a"}}, Unscoped: true, Statuses: []ken.Status{ken.StatusVerified},
		Kinds: []ken.Kind{ken.KindFact}, ClaimsOnly: true, MinTrust: ken.TrustOperator, Now: day}
	var legs []retriever.Source
	got := make(chan ken.Filter, 5)
	limits := map[string]int{retriever.SourceSessions: retriever.DefaultSessions, retriever.SourcePlaybooks: retriever.DefaultPlaybooks}
	for _, name := range []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourcePinned, retriever.SourceSessions, retriever.SourcePlaybooks} {
		legs = append(legs, leg{name, func(_ context.Context, q *retriever.Query) (store.Result, error) {
			got <- *q.Filter
			*q.Filter = ken.Filter{}
			equal(t, "limit of "+name, q.Limit, cmp.Or(limits[name], 50))
			equal(t, "session for "+name, q.Session, "s")
			return store.Result{Hits: refs(1)}, nil
		}})
	}
	res := retriever.New(records(2), retriever.Options{Sources: legs}).Retrieve(t.Context(), retriever.Turn{Filter: want, Session: "s"})
	for range legs {
		equal(t, "filter", <-got, want)
	}
	equal(t, "what the legs let through all the same", ids(res), []string(nil))
	equal(t, "cuts", cuts(res), map[string]ken.CutReason{"1": ken.CutStatus})
}

// A source that forgets a condition leaks nothing, whichever source and condition.
func TestForgetfulLegLeaksNothing(t *testing.T) {
	f := ken.Filter{Scopes: []ken.Scope{{Type: ken.ScopeRepo, ID: "mine"}}, Unscoped: true, MinTrust: ken.TrustAgent, Now: day}
	for why, change := range map[ken.CutReason]func(*ken.Facts){
		ken.CutScope:   func(f *ken.Facts) { f.Scope = ken.Scope{Type: ken.ScopeRepo, ID: "theirs"} },
		ken.CutStatus:  func(f *ken.Facts) { f.Status = ken.StatusSuperseded },
		ken.CutTrust:   func(f *ken.Facts) { f.Trust = ken.TrustExternal },
		ken.CutExpired: func(f *ken.Facts) { f.ExpiresAt = day },
	} {
		for _, name := range []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourcePinned, retriever.SourceSessions, retriever.SourcePlaybooks, "another"} {
			p := records(3)
			row := p.rows[1]
			change(&row.Facts)
			p.rows[1] = row
			forgetful := leg{name, func(context.Context, *retriever.Query) (store.Result, error) {
				hits := refs(1, 2)
				for i := range hits {
					hits[i].Parts = []float32{1}
				}
				return store.Result{Hits: hits, Values: []float32{1}, Terms: []string{"word"}}, nil
			}}
			got := retriever.New(p, retriever.Options{Sources: []retriever.Source{forgetful}, Floor: -1}).
				Retrieve(t.Context(), retriever.Turn{Filter: f})
			equal(t, name+" past "+string(why), ids(got), []string{"2"})
			equal(t, "cuts", cuts(got), map[string]ken.CutReason{"1": why})
		}
	}
}

// A candidate that a source rejected is reported once, and nowhere else.
func TestRefusedIsToldOnce(t *testing.T) {
	refuses := leg{retriever.SourceKeyword, func(context.Context, *retriever.Query) (store.Result, error) {
		return store.Result{Hits: refs(1), Cut: []store.Rejected{{Ref: 2, Reason: ken.CutStatus}, {Ref: 2, Reason: ken.CutStatus}, {Ref: 9, Reason: ken.CutStatus}}}, nil
	}}
	got := retrieve(t, records(3), retriever.Options{Sources: []retriever.Source{refuses, says(retriever.SourceVector, refs(2)...)}})
	equal(t, "candidates", ids(got), []string{"1"})
	equal(t, "cut", got.Cut, []ken.Cut{{ID: "2", Reason: ken.CutStatus}}) // 9 was deleted, so its content is unknown
}

// A record may be forgotten between the search and the look at its row.
func TestVanishedRecordsAreSkipped(t *testing.T) {
	p := records(6)
	delete(p.rows, 1)
	delete(p.rows, 4)
	got := retrieve(t, p, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(1, 2, 3, 5)...), says(retriever.SourcePinned, refs(4, 0)...)},
		TopK: 2, Pool: 3})
	equal(t, "they take no one's place", ids(got), []string{"0", "2", "3"})
	equal(t, "cuts", cuts(got), map[string]ken.CutReason{"5": ken.CutPool})
	equal(t, "retrieved", got.Retrieved, 4)
	equal(t, "memory", got.Memory, 1)
}

// A pinned record is memory, once, also when the words find it, in the pool or
// beyond it.
func TestPinnedIsMemoryOnce(t *testing.T) {
	for _, pool := range []int{1, 100} {
		got := retrieve(t, records(4), retriever.Options{Pool: pool, Sources: []retriever.Source{
			says(retriever.SourcePinned, refs(3, 2)...), says(retriever.SourceKeyword, refs(3, 1, 2)...)}})
		equal(t, "candidates", ids(got), []string{"3", "2", "1"})
		for _, c := range got.Candidates {
			_, pinned := c.Sources[retriever.SourcePinned]
			if c.Memory != pinned || c.Memory == (c.Row.ID == "1") {
				t.Errorf("%s: memory %v, legs %v", c.Row.ID, c.Memory, c.Sources)
			}
		}
		equal(t, "cuts", len(got.Cut), 0)
		equal(t, "retrieved", got.Retrieved, 3)
		equal(t, "memory", got.Memory, 2)
	}
}

func TestTierDecaysByTheFiltersClock(t *testing.T) {
	p := records(1)
	row := p.rows[0]
	row.Support.Tier = ken.Verified
	p.rows[0] = row
	for now, want := range map[time.Time]ken.Tier{{}: ken.Verified, day.AddDate(0, 0, 30): ken.Verified, day.AddDate(0, 0, 31): ken.Inferred} {
		got := retriever.New(p, retriever.Options{Sources: []retriever.Source{says(retriever.SourceKeyword, refs(0)...)}, DecayDays: 30}).
			Retrieve(t.Context(), retriever.Turn{Filter: ken.Filter{Now: now}})
		equal(t, "tier at "+now.String(), got.Candidates[0].Tier, want)
	}
}

var reasons = map[ken.CutReason]bool{ken.CutScope: true, ken.CutStatus: true, ken.CutTier: true, ken.CutTrust: true, ken.CutExpired: true,
	ken.CutFloor: true, ken.CutDuplicate: true, ken.CutBudget: true, ken.CutPool: true, ken.CutLate: true}

// Whatever sources return, each record comes out once, kept or cut with a known
// reason, and the same answers give the same result.
func TestAnythingGoesInAndOrderComesOut(t *testing.T) {
	odd := []float64{0, -1, 1, 0.18, 0.45, math.NaN(), math.Inf(1), math.Inf(-1), 1e300}
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		p := records(30)
		for ref := range store.Ref(30) {
			row := p.rows[ref]
			row.Facts.Status = ken.Statuses()[rng.IntN(6)]
			p.rows[ref] = row
			if rng.IntN(10) == 0 {
				delete(p.rows, ref)
			}
		}
		var legs []retriever.Source
		for _, name := range []string{retriever.SourceKeyword, retriever.SourceVector, retriever.SourcePinned, retriever.SourceSessions, retriever.SourcePlaybooks, retriever.SourceLate, "other"} {
			var res store.Result
			for range rng.IntN(40) {
				res.Hits = append(res.Hits, store.Hit{Ref: rng.Uint32N(35), Score: odd[rng.IntN(len(odd))], Share: odd[rng.IntN(len(odd))]})
				if name == retriever.SourcePlaybooks {
					res.Hits[len(res.Hits)-1].Parts = []float32{float32(odd[rng.IntN(len(odd))])}
					res.Terms, res.Values = []string{"word"}, []float32{1}
				}
				if rng.IntN(5) == 0 {
					res.Cut = append(res.Cut, store.Rejected{Ref: rng.Uint32N(35), Reason: ken.CutScope})
				}
			}
			legs = append(legs, leg{name, func(context.Context, *retriever.Query) (store.Result, error) { return res, nil }})
		}
		o := retriever.Options{Deadline: 30 * time.Second, Sources: legs, Pool: 1 + rng.IntN(30), TopK: 1 + rng.IntN(10), Order: []retriever.Order{retriever.OrderEvidence, retriever.OrderRRF}[seed%2]}
		got := retrieve(t, p, o)
		again := retrieve(t, p, o)
		if !reflect.DeepEqual(got.Candidates, again.Candidates) || !reflect.DeepEqual(got.Cut, again.Cut) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		seen := map[string]bool{}
		for i, c := range got.Candidates {
			if seen[c.Row.ID] || p.rows[c.Ref].ID != c.Row.ID || math.IsNaN(c.Fused) || math.IsInf(c.Fused, 0) {
				t.Fatalf("seed %d: candidate %+v", seed, c)
			}
			seen[c.Row.ID] = true
			if i > got.Memory+got.Sessions && c.Fused > got.Candidates[i-1].Fused {
				t.Fatalf("seed %d: %v after %v", seed, c.Fused, got.Candidates[i-1].Fused)
			}
			for name, score := range c.Sources {
				if score.Rank < 1 || math.IsNaN(score.Score) || math.IsInf(score.Score, 0) {
					t.Fatalf("seed %d: leg %s: %+v", seed, name, score)
				}
			}
		}
		for _, c := range got.Cut {
			if seen[c.ID] || !reasons[c.Reason] {
				t.Fatalf("seed %d: cut %+v", seed, c)
			}
			seen[c.ID] = true
		}
		if n := len(got.Candidates) - got.Memory - got.Sessions; n > o.TopK || got.Retrieved < len(got.Candidates) {
			t.Fatalf("seed %d: %d candidates of %d retrieved", seed, n, got.Retrieved)
		}
	}
}
