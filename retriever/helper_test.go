package retriever_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// shelf returns projections over given records. Ref 7 has the id "7".
type shelf struct {
	store.Projections // none of the other methods is called
	rows              map[store.Ref]store.Row
	forms             map[store.Ref]analysis.Form
	stream            []store.Ref // one session, in order
}

func (s shelf) Form(ref store.Ref) analysis.Form { return s.forms[ref] }

func (s shelf) Around(ref store.Ref, n int) (before, after []store.Ref) {
	i := slices.Index(s.stream, ref)
	if i < 0 {
		return nil, nil
	}
	before = slices.Clone(s.stream[max(0, i-n):i])
	slices.Reverse(before)
	return before, s.stream[i+1 : min(len(s.stream), i+1+n)]
}

func (s shelf) Row(ref store.Ref) (store.Row, bool) {
	r, ok := s.rows[ref]
	return r, ok
}

// records returns n records that any default filter lets through.
func records(n int) shelf {
	s := shelf{rows: map[store.Ref]store.Row{}}
	for i := range n {
		s.rows[store.Ref(i)] = store.Row{ID: fmt.Sprint(i), CreatedAt: day,
			Facts:   ken.Facts{Status: ken.StatusObserved, Kind: ken.KindFact, Trust: ken.TrustAgent},
			Support: ken.Support{Tier: ken.Assumed, Trust: ken.TrustAgent, NewestAt: day}}
	}
	return s
}

// source is a source that a function answers for.
type leg struct {
	name   string
	search func(ctx context.Context, q *retriever.Query) (store.Result, error)
}

func (l leg) Name() string { return l.name }

func (l leg) Search(ctx context.Context, q *retriever.Query) (store.Result, error) {
	return l.search(ctx, q)
}

// says is a source that finds these records at once.
func says(name string, hits ...store.Hit) leg {
	return leg{name, func(context.Context, *retriever.Query) (store.Result, error) { return store.Result{Hits: hits}, nil }}
}

// refs are hits with enough evidence for any floor, best first.
func refs(list ...store.Ref) (hits []store.Hit) {
	for i, ref := range list {
		hits = append(hits, store.Hit{Ref: ref, Score: float64(100 - i), Share: 1})
	}
	return hits
}

func retrieve(t testing.TB, p store.Projections, o retriever.Options) retriever.Result {
	t.Helper()
	return retriever.New(p, o).Retrieve(t.Context(), retriever.Turn{})
}

func ids(r retriever.Result) (out []string) {
	for _, c := range r.Candidates {
		out = append(out, c.Row.ID)
	}
	return out
}

func cuts(r retriever.Result) map[string]ken.CutReason {
	out := map[string]ken.CutReason{}
	for _, c := range r.Cut {
		out[c.ID] = c.Reason
	}
	return out
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
